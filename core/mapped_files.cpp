#include "core/mapped_files.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/files.hpp"

namespace lagtrap {
namespace {

constexpr std::uint64_t maps_limit_bytes = 32ULL << 20;

}  // namespace

Result<std::vector<std::string>> mapped_files(const std::filesystem::path& process) {
    const std::string pid = process.filename().string();
    std::error_code failure;
    const std::string program = std::filesystem::read_symlink(process / "exe", failure).string();
    if (failure == std::errc::no_such_file_or_directory) {
        return make_error(ErrorKind::NotFound, "there is no process " + pid + ", or it is one of the kernel's");
    }
    if (failure) return system_error("looking at process " + pid, failure.value());
    TRY_ASSIGN(const std::string maps, read_file(process / "maps", maps_limit_bytes));
    std::vector<std::string> files{program};
    std::set<std::string> seen{program};
    for (std::size_t begin = 0; begin < maps.size();) {
        const std::size_t end = std::min(maps.find('\n', begin), maps.size());
        const std::string_view line = std::string_view(maps).substr(begin, end - begin);
        begin = end + 1;
        const std::size_t rights = line.find(' ');
        const std::size_t path = line.find('/');
        if (rights == std::string_view::npos || path == std::string_view::npos) continue;
        if (line.size() < rights + 4 || line[rights + 3] != 'x') continue;
        if (seen.emplace(line.substr(path)).second) files.emplace_back(line.substr(path));
    }
    return files;
}

}  // namespace lagtrap
