// Serialises where programs keep in memory what is read of them (reader_messages.hpp). Internal to
// binaries/.
#pragma once

#include <string>
#include <string_view>

#include "binaries/elf/python_layout.hpp"
#include "binaries/elf/thread_variable.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

// All decode_ functions: ErrorKind::System if the answer is malformed.
[[nodiscard]] std::string encode_thread_variable(const ThreadVariable& variable);
[[nodiscard]] Result<ThreadVariable> decode_thread_variable(std::string_view body);
[[nodiscard]] std::string encode_python_layout(const lagtrap_python& layout);
[[nodiscard]] Result<lagtrap_python> decode_python_layout(std::string_view body);

}  // namespace lagtrap::binaries
