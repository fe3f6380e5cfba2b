// Keeps a foreign recording from using up the memory of the machine that reads it.
#pragma once

#include <cstdint>

namespace lagtrap::cli {

// Memory a command may use on a machine with `machine_bytes`: half of it, but at most 8 GiB.
[[nodiscard]] std::uint64_t memory_limit_bytes(std::uint64_t machine_bytes);

// Applies that limit to this process unless a lower one is set. Beyond it, allocations throw
// std::bad_alloc. Does nothing in programs with sanitizers, which need address space of their own.
// Call it before reading.
void limit_memory();

}  // namespace lagtrap::cli
