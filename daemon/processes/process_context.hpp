// What a process publishes about the contexts of its threads: OpenTelemetry's process context,
// https://github.com/open-telemetry/opentelemetry-specification/blob/main/oteps/profiles/4719-process-ctx.md
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::daemon {

struct ProcessContext {
    std::vector<std::string> keys;  // names of attributes, by number
};

inline constexpr std::size_t context_keys_limit = 256;
inline constexpr std::size_t context_key_limit_bytes = 128;  // longer ones are cut

// True for the path of a mapping that holds a process context.
[[nodiscard]] bool is_context_mapping(std::string_view path);

// Reads the context that is mapped at `address`. `read` reads the process's memory. NotFound: none,
// or none about threads; Unsupported: of another version; Invalid: malformed; Busy: it is changing.
using ReadMemory =
    std::function<Result<std::string>(std::uint64_t address, std::uint64_t size_bytes)>;
[[nodiscard]] Result<ProcessContext> read_process_context(std::uint64_t address,
                                                          const ReadMemory& read);

}  // namespace lagtrap::daemon
