#include "daemon/tracefs.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <charconv>
#include <sstream>
#include <string_view>

#include "core/files.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t format_limit_bytes = 256 * 1024;

Result<UniqueFd> mount_detached() {
    const UniqueFd context(::fsopen("tracefs", FSOPEN_CLOEXEC));
    if (!context.valid()) return system_error("fsopen tracefs");
    if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        return system_error("create a tracefs");
    UniqueFd root(::fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
    if (!root.valid()) return system_error("fsmount tracefs");
    return root;
}

// The number after `label` in a line of a format file ("offset:16;"), or -1.
int number_after(std::string_view line, std::string_view label) {
    const auto at = line.find(label);
    if (at == std::string_view::npos) return -1;
    int number = -1;
    std::from_chars(line.data() + at + label.size(), line.data() + line.size(), number);
    return number;
}

// The name in "field:unsigned int fd;", empty for other lines; arrays keep their brackets.
std::string_view field_name(std::string_view line) {
    const auto begin = line.find("field:");
    const auto end = line.find(';');
    if (begin == std::string_view::npos || end == std::string_view::npos) return {};
    const std::string_view declaration = line.substr(begin + 6, end - begin - 6);
    return declaration.substr(declaration.find_last_of(" *") + 1);
}

}  // namespace

Result<TraceFs> TraceFs::open() {
    for (const char* mounted : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
        UniqueFd root(::open(mounted, O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (root.valid() && ::faccessat(root.get(), "events", R_OK, 0) == 0) return TraceFs(std::move(root));
    }
    TRY_ASSIGN(UniqueFd root, mount_detached());
    return TraceFs(std::move(root));
}

Result<std::string> TraceFs::read(const std::string& path) const {
    const UniqueFd fd(::openat(root_.get(), path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd.valid()) return system_error(path);
    return read_all(fd.get(), format_limit_bytes);
}

Result<std::uint64_t> TraceFs::tracepoint_id(const std::string& category, const std::string& name) const {
    auto text = read("events/" + category + "/" + name + "/id");
    if (!text && text.error().kind == ErrorKind::NotFound)
        return make_error(ErrorKind::NotFound, "the kernel has no tracepoint " + category + ":" + name);
    if (!text) return text.error();
    std::uint64_t id = 0;
    const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), id);
    if (failure != std::errc{})
        return make_error(ErrorKind::Invalid, "tracefs gives no number for " + category + ":" + name);
    return id;
}

Result<TracepointField> TraceFs::field(const std::string& category, const std::string& name,
                                       const std::string& field) const {
    TRY_ASSIGN(const std::string text, read("events/" + category + "/" + name + "/format"));
    std::istringstream lines(text);
    std::string known;
    for (std::string line; std::getline(lines, line);) {
        const std::string_view candidate = field_name(line);
        if (candidate.empty()) continue;
        if (!candidate.starts_with("common_")) known += (known.empty() ? "" : ", ") + std::string(candidate);
        if (candidate != field) continue;
        const int offset = number_after(line, "offset:");
        const int bytes = number_after(line, "size:");
        if (offset < 0 || offset > 4096 || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
            return make_error(ErrorKind::Unsupported,
                              "field " + field + " of " + category + ":" + name + " is no integer");
        return TracepointField{static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(bytes)};
    }
    return make_error(ErrorKind::NotFound, category + ":" + name + " has no field " + field + "; it has " + known);
}

}  // namespace lagtrap::daemon
