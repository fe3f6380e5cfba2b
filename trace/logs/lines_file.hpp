// Files of a capture with one JSON object per line. The daemon writes them during the recording,
// the merge reads them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "core/result.hpp"

namespace lagtrap::trace {

struct LinesFile {
    const char* what;  // subject, for messages
    const char* name;
    std::uint64_t limit_bytes;
    std::uint64_t last_line_bytes;  // may exceed the limit by this much
};

inline constexpr LinesFile calls_lines{"calls", "calls.jsonl", 64ULL << 20, 64ULL << 10};
inline constexpr LinesFile objects_lines{"objects", "objects.jsonl", 64ULL << 20, 4ULL << 20};
inline constexpr LinesFile functions_lines{"functions", "functions.jsonl", 64ULL << 20, 4ULL << 20};

// Calls `take` with each complete line until it returns false. An incomplete last line was cut
// short and is skipped. ErrorKind::NotFound if there is no such file; other errors if it cannot be
// read or is too large.
[[nodiscard]] Status read_lines(const std::filesystem::path& capture, const LinesFile& kind,
                                const std::function<bool(const std::string& line)>& take);

}  // namespace lagtrap::trace
