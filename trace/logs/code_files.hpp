// Copies of what processes tell of the code they made: `code/PID-AT.map` and `code/PID-AT.dump` in a capture's folder,
// the process's own perf map and jitdump byte by byte. PID is the process as the logs name it, AT (CLOCK_MONOTONIC, ns)
// when the copy was made: it tells of the times before.
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

[[nodiscard]] std::string to_text(const CodeFileName& name);
// Nothing for files of other names.
[[nodiscard]] std::optional<CodeFileName> parse_code_file_name(std::string_view text);

}  // namespace lagtrap::trace
