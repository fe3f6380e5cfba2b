// Recognises busy waiting in x86-64 code. Internal to binaries/ and the symbolizer.
#pragma once

#include <cstddef>
#include <string_view>

namespace lagtrap::binaries {

inline constexpr std::size_t max_wait_loop_bytes = 64;

enum class WaitLoop {
    None,
    // tries to take a lock word (xchg, lock bts, lock cmpxchg with a constant as the expected
    // value), which it also does, once, if the lock is free
    TakesLock,
    // has a pause instruction, or just compares what it loads from addresses that stay the same
    Waits,
};

// Whether the innermost loop around the instruction at `place` (an index into `code`) only waits
// until another thread changes memory. Such a loop calls nothing and stores nothing but locals.
// None for loops of more than max_wait_loop_bytes.
[[nodiscard]] WaitLoop wait_loop_at(std::string_view code, std::size_t place);

}  // namespace lagtrap::binaries
