// Words for the place in a program where a thread waited or worked. For analysis/ only.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/delay_cause.hpp"

namespace lagtrap::analysis {

// "52 %", or "<1 %" for a little.
[[nodiscard]] std::string percent(std::uint64_t part, std::uint64_t whole);

// "deflate (libz)", "unnamed code of redis-server", "LLVM's JIT compiler (libLLVM-14)".
[[nodiscard]] std::string place_words(const CallFocus& focus);

// " in f", with what it called or what called it; empty if the place is unknown.
[[nodiscard]] std::string place_of_wait(const ThreadDoing& doing);

// " in f (52 % in g)", " in the kernel, called by mlock in f".
[[nodiscard]] std::string place_of_work(const ThreadDoing& doing);

// ", in the signal handler on_alarm"; empty if there was none.
[[nodiscard]] std::string handler_clause(const ThreadDoing& doing);

}  // namespace lagtrap::analysis
