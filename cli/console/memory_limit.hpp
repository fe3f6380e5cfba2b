// A recording of others must not take the memory of the machine that it is read on.
#pragma once

#include <cstdint>

namespace lagtrap::cli {

// What a command may hold on a machine with `machine_bytes` of memory: half of it, and 8 GiB at the most.
[[nodiscard]] std::uint64_t memory_limit_bytes(std::uint64_t machine_bytes);

// Limits the memory of this process so, unless a lower limit is set already; what goes beyond ends in std::bad_alloc.
// Does nothing in programs with sanitizers, which need address space for themselves. Call it before reading.
void limit_memory();

}  // namespace lagtrap::cli
