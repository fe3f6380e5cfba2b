// The files that a process has mapped, from /proc/PID/maps (proc(5)).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap {

// Suffix of the path of a deleted file.
inline constexpr std::string_view deleted_mark = " (deleted)";

struct MapsLine {
    std::uint64_t start = 0, end = 0;  // `end` is exclusive
    bool executable = false;
    std::uint64_t file_offset = 0;
    std::uint64_t device = 0;  // major number in the upper 32 bits, minor in the lower
    std::uint64_t inode = 0;
    // a part of the parsed line; may be empty, "[heap]", or end in deleted_mark
    std::string_view path;
};

// Parses one line, without its line end. nullopt if it is malformed.
[[nodiscard]] std::optional<MapsLine> parse_maps_line(std::string_view line);

// Paths of the mapped files, as the process of folder `process` (/proc/PID) sees them: its program
// first, each once, including libraries loaded at run time. ErrorKind::NotFound if it does not
// exist or is a kernel thread, ErrorKind::Denied if it belongs to another user.
[[nodiscard]] Result<std::vector<std::string>> mapped_files(const std::filesystem::path& process);

}  // namespace lagtrap
