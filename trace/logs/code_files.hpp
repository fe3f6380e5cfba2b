// Names of the copies of perf maps and jitdumps, in which processes describe their JIT code:
// `code/PID-AT.map` and `code/PID-AT.dump` in a capture's folder. They are byte-for-byte copies.
// PID is the process as in the logs; AT is the time of the copy (CLOCK_MONOTONIC, ns), so the copy
// describes code from before that time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace lagtrap::trace {

inline constexpr std::string_view code_directory_name = "code";
inline constexpr std::uint64_t code_file_limit_bytes = 64ULL << 20;

enum class CodeFileKind { PerfMap, Jitdump };

struct CodeFileName {
    std::uint32_t pid = 0;
    std::uint64_t at_ns = 0;
    CodeFileKind kind = CodeFileKind::PerfMap;
};

// File name within code_directory_name.
[[nodiscard]] std::string to_text(const CodeFileName& name);
// nullopt if it is not such a name.
[[nodiscard]] std::optional<CodeFileName> parse_code_file_name(std::string_view text);

}  // namespace lagtrap::trace
