// Runs BPF programs over all threads or open files of the machine.
#pragma once

#include <cstdint>

struct bpf_program;

namespace lagtrap::daemon {

// Runs a loaded program of a section "iter/..." once: over everything or, if `pid` is not 0, over
// that process only. Does nothing if the kernel refuses.
void run_iterator(const bpf_program* program, std::uint32_t pid);

}  // namespace lagtrap::daemon
