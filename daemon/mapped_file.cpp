#include "daemon/mapped_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "core/foreign_file.hpp"
#include "trace/modules.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::string_view deleted_mark = " (deleted)";
constexpr std::size_t most_build_id_bytes = 20;

// `inode` 0: whichever lies there.
UniqueFd open_regular(const std::filesystem::path& path, std::uint64_t inode) {
    auto fd = open_regular_file(path);
    struct stat facts {};
    const bool right = fd && ::fstat(fd->get(), &facts) == 0 && (inode == 0 || facts.st_ino == inode);
    return right ? std::move(fd).value() : UniqueFd();
}

}  // namespace

UniqueFd open_mapped_file(const std::filesystem::path& process, const lagtrap_mapping& mapping,
                          const std::string& path) {
    if (!path.starts_with('/')) return UniqueFd();
    const auto range = fmt::format("{:x}-{:x}", mapping.start, mapping.start + mapping.length);
    if (UniqueFd fd = open_regular(process / "map_files" / range, 0); fd.valid()) return fd;
    std::filesystem::path in_root(path.ends_with(deleted_mark) ? path.substr(0, path.size() - deleted_mark.size())
                                                               : path);
    if (UniqueFd fd = open_regular(process / "root" / in_root.relative_path(), mapping.inode); fd.valid()) return fd;
    return open_regular(in_root, mapping.inode);
}

void set_build_id(lagtrap_mapping& mapping, std::string_view hexadecimal) {
    mapping.build_id_bytes = 0;
    if (hexadecimal.find_first_not_of("0123456789abcdef") != std::string_view::npos) return;
    const std::size_t bytes = std::min(hexadecimal.size() / 2, most_build_id_bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        std::from_chars(hexadecimal.data() + 2 * i, hexadecimal.data() + 2 * i + 2, mapping.build_id[i], 16);
    mapping.build_id_bytes = static_cast<std::uint8_t>(bytes);
}

std::string build_id_of(const lagtrap_mapping& mapping) {
    const std::size_t bytes = std::min<std::size_t>(mapping.build_id_bytes, most_build_id_bytes);
    return trace::to_hexadecimal(std::string(reinterpret_cast<const char*>(mapping.build_id), bytes));
}

}  // namespace lagtrap::daemon
