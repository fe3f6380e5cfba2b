// Runs BPF programs over all threads, or open files, of the machine.
#pragma once

#include <cstdint>

struct bpf_program;

namespace lagtrap::daemon {

// Runs the loaded program of a section "iter/..." once over everything, or over what belongs to the process `pid` where that is
// not 0. Nothing happens where the kernel refuses.
void run_iterator(const bpf_program* program, std::uint32_t pid);

}  // namespace lagtrap::daemon
