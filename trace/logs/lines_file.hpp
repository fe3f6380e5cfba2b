// Files of a capture that hold lines which a trace tells while the recording lasts: written by the daemon, read by the merge.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "core/result.hpp"

namespace lagtrap::trace {

struct LinesFile {
    const char* what;  // it tells of, in messages
    const char* name;
    std::uint64_t limit_bytes;
    std::uint64_t last_line_bytes;  // may come beyond the limit
};

inline constexpr LinesFile calls_lines{"calls", "calls.jsonl", 64ULL << 20, 64ULL << 10};
inline constexpr LinesFile objects_lines{"objects", "objects.jsonl", 64ULL << 20, 4ULL << 20};
inline constexpr LinesFile functions_lines{"functions", "functions.jsonl", 64ULL << 20, 4ULL << 20};

// `take` gets each whole line, until it gives false; a last line without its end was cut short, and is none. Errors: the file
// cannot be read, or is larger than it may be; NotFound: there is none.
[[nodiscard]] Status read_lines(const std::filesystem::path& capture, const LinesFile& kind,
                                const std::function<bool(const std::string& line)>& take);

}  // namespace lagtrap::trace
