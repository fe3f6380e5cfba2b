#include "settings/tracefs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <sstream>

#include "core/files.hpp"

namespace lagtrap::settings {
namespace {

constexpr std::uint64_t format_limit_bytes = 256 * 1024;
constexpr int offset_limit_bytes = 4096;

Result<UniqueFd> mount_detached() {
    const UniqueFd context(::fsopen("tracefs", FSOPEN_CLOEXEC));
    if (!context.valid()) return system_error("fsopen tracefs");
    if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        return system_error("create tracefs");
    UniqueFd root(::fsmount(context.get(), FSMOUNT_CLOEXEC,
                            MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
    if (!root.valid()) return system_error("fsmount tracefs");
    return root;
}

// The number after `label` in a line of a format file ("offset:16;"); -1 if there is none.
int number_after(std::string_view line, std::string_view label) {
    const auto at = line.find(label);
    if (at == std::string_view::npos) return -1;
    int number = -1;
    std::from_chars(line.data() + at + label.size(), line.data() + line.size(), number);
    return number;
}

// Parses "	field:unsigned int fd;	offset:16;	size:8;	signed:0;"; nullopt for other lines.
// Arrays
// ("char rwbs[10]") and strings ("__data_loc char[] cmd") do not count as numbers.
std::optional<TracepointField> field_of(std::string_view line) {
    constexpr std::string_view label = "field:";
    const auto begin = line.find(label);
    const auto end = line.find(';');
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin)
        return std::nullopt;
    const std::string_view declaration =
        line.substr(begin + label.size(), end - begin - label.size());
    TracepointField field;
    field.name = declaration.substr(declaration.find_last_of(" *") + 1);
    const int offset = number_after(line, "offset:");
    const int bytes = number_after(line, "size:");
    const bool plain = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
    field.number = plain && offset >= 0 && offset <= offset_limit_bytes &&
                   declaration.find('[') == std::string::npos;
    if (!field.number) return field;
    field.offset = static_cast<std::uint16_t>(offset);
    field.bytes = static_cast<std::uint16_t>(bytes);
    return field;
}

struct CloseFolder {
    void operator()(DIR* folder) const { ::closedir(folder); }
};

bool common_to_all(const TracepointField& field) { return field.name.starts_with("common_"); }

std::vector<TracepointField> all_fields(const std::string& format) {
    std::vector<TracepointField> fields;
    std::istringstream lines(format);
    for (std::string line; std::getline(lines, line);)
        if (auto field = field_of(line)) fields.push_back(std::move(*field));
    return fields;
}

}  // namespace

Result<TraceFs> TraceFs::open() {
    for (const char* mounted : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
        if (auto found = below(mounted)) return found;
    }
    TRY_ASSIGN(UniqueFd root, mount_detached());
    return TraceFs(std::move(root));
}

Result<TraceFs> TraceFs::below(const std::filesystem::path& folder) {
    UniqueFd root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root.valid() || ::faccessat(root.get(), "events", R_OK, 0) != 0)
        return system_error(folder.string());
    return TraceFs(std::move(root));
}

Result<std::string> TraceFs::read(const std::string& path) const {
    const UniqueFd fd(::openat(root_.get(), path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd.valid()) return system_error(path);
    return read_all(fd.get(), format_limit_bytes);
}

Result<std::uint64_t> TraceFs::tracepoint_id(const std::string& category,
                                             const std::string& name) const {
    auto text = read("events/" + category + "/" + name + "/id");
    if (!text && text.error().kind == ErrorKind::NotFound)
        return make_error(ErrorKind::NotFound,
                          "the kernel has no tracepoint " + category + ":" + name);
    if (!text) return text.error();
    std::uint64_t id = 0;
    const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), id);
    if (failure != std::errc{})
        return make_error(ErrorKind::Invalid, "tracefs has no id for " + category + ":" + name);
    return id;
}

Result<std::vector<TracepointField>> TraceFs::fields(const std::string& category,
                                                     const std::string& name) const {
    TRY_ASSIGN(const std::string format, read("events/" + category + "/" + name + "/format"));
    std::vector<TracepointField> own = all_fields(format);
    own.erase(std::remove_if(own.begin(), own.end(), common_to_all), own.end());
    return own;
}

Result<TracepointField> TraceFs::field(const std::string& category, const std::string& name,
                                       const std::string& field) const {
    TRY_ASSIGN(const std::string format, read("events/" + category + "/" + name + "/format"));
    std::string known;
    for (TracepointField& candidate : all_fields(format)) {
        if (!common_to_all(candidate)) known += (known.empty() ? "" : ", ") + candidate.name;
        if (candidate.name != field) continue;
        if (candidate.number) return std::move(candidate);
        return make_error(ErrorKind::Unsupported,
                          "field " + field + " of " + category + ":" + name + " is not a number");
    }
    return make_error(ErrorKind::NotFound,
                      category + ":" + name + " has no field " + field + "; it has " + known);
}

std::vector<std::string> TraceFs::folders_in(const std::string& path) const {
    const int fd = ::openat(root_.get(), path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, CloseFolder> folder(fd < 0 ? nullptr : ::fdopendir(fd));
    std::vector<std::string> names;
    if (!folder) return names;
    while (const dirent* entry = ::readdir(folder.get())) {
        const std::string name = entry->d_name;
        struct stat facts {};
        if (name == "." || name == ".." ||
            ::fstatat(fd, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISDIR(facts.st_mode)) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<std::string> TraceFs::categories() const { return folders_in("events"); }

std::vector<std::string> TraceFs::names(const std::string& category) const {
    return folders_in("events/" + category);
}

}  // namespace lagtrap::settings
