#include "settings/package_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "core/files.hpp"
#include "sandbox/dpkg_files.hpp"

namespace lagtrap::settings {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t list_limit_bytes = 16ULL << 20;

// For a multi-arch package, the list's name contains the architecture.
std::vector<fs::path> lists_of(std::string_view package, const fs::path& folder) {
    std::error_code failed;
    const fs::path plain = folder / (std::string(package) + std::string(dpkg_list_suffix));
    if (fs::exists(plain, failed)) return {plain};
    std::vector<fs::path> lists;
    const std::string beginning = std::string(package) + ":";
    for (fs::directory_iterator file(folder, failed); !failed && file != fs::directory_iterator();
         file.increment(failed)) {
        const std::string name = file->path().filename().string();
        if (name.starts_with(beginning) && name.ends_with(dpkg_list_suffix))
            lists.push_back(file->path());
    }
    return lists;
}

bool may_be_code(std::string_view path) {
    constexpr std::array<std::string_view, 4> others{"/etc/", "/usr/include/", "/usr/share/",
                                                     "/var/"};
    return path.starts_with('/') &&
           std::none_of(others.begin(), others.end(),
                        [&](std::string_view other) { return path.starts_with(other); });
}

void take_list(std::string_view list, PackageFiles& files) {
    while (!list.empty()) {
        const std::string_view path = list.substr(0, list.find('\n'));
        list.remove_prefix(std::min(path.size() + 1, list.size()));
        if (!may_be_code(path)) continue;
        files.emplace(path);
        if (path.starts_with("/bin/") || path.starts_with("/sbin/") || path.starts_with("/lib"))
            files.insert("/usr" + std::string(path));
    }
}

struct Known {
    fs::file_time_type lists_changed;
    std::shared_ptr<const PackageFiles> files;
};

}  // namespace

std::shared_ptr<const PackageFiles> files_of_package(std::string_view package,
                                                     const fs::path& lists_folder) {
    static std::mutex mutex;
    static std::map<fs::path, Known> all_known;
    if (!is_package_name(package)) return std::make_shared<const PackageFiles>();
    std::error_code failed;
    // dpkg replaces a list by renaming a new one, which changes the folder's time.
    const auto changed = fs::last_write_time(lists_folder, failed);
    const std::lock_guard lock(mutex);
    const fs::path name = lists_folder / package;
    const auto known = all_known.find(name);
    if (known != all_known.end() && known->second.lists_changed == changed)
        return known->second.files;
    auto files = std::make_shared<PackageFiles>();
    for (const fs::path& path : lists_of(package, lists_folder))
        if (const auto list = read_file(path, list_limit_bytes)) take_list(*list, *files);
    all_known.insert_or_assign(name, Known{changed, files});
    return files;
}

bool is_package_name(std::string_view text) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789+.-";
    constexpr std::size_t max_bytes = 200;
    const std::string_view name = text.substr(0, text.find(':'));
    const std::string_view architecture = text.substr(std::min(name.size() + 1, text.size()));
    return text.size() <= max_bytes && name.size() >= 2 &&
           name.find_first_not_of(letters) == std::string_view::npos && name[0] != '.' &&
           name[0] != '-' && architecture.find_first_not_of(letters) == std::string_view::npos;
}

}  // namespace lagtrap::settings
