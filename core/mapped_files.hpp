// What a process has mapped, as /proc/PID/maps tells it (proc(5)).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap {

// Ends the path of a file that was deleted since.
inline constexpr std::string_view deleted_mark = " (deleted)";

struct MapsLine {
    std::uint64_t start = 0, end = 0;  // addresses; `end` is the first one behind it
    bool executable = false;
    std::uint64_t file_offset = 0;
    std::uint64_t device = 0;  // major number in the upper 32 bits, minor in the lower
    std::uint64_t inode = 0;
    std::string_view path;  // of the line; may be empty, "[heap]", or end in deleted_mark
};

// A line, without its end; nullopt: it is none of such a file.
[[nodiscard]] std::optional<MapsLine> parse_maps_line(std::string_view line);

// Paths as the process of folder `process` (/proc/PID) sees them, its program first, each once; the libraries that it
// loaded while it ran are among them. ErrorKind::NotFound: no process, or one of the kernel's. Denied: another user's.
[[nodiscard]] Result<std::vector<std::string>> mapped_files(const std::filesystem::path& process);

}  // namespace lagtrap
