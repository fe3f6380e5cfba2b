// The daemon's own priority for the CPU.
#pragma once

namespace lagtrap::daemon {

// The calling thread starts captures, and must get a CPU at once on a busy machine. Without the
// right to do so nothing changes.
void raise_priority();

// Uses normal priority while it lives, such as while BPF programs are loaded: the verifier takes a
// second of CPU time, and others must not wait for it.
class NormalPriority {
  public:
    NormalPriority();
    ~NormalPriority();
    NormalPriority(const NormalPriority&) = delete;
    NormalPriority& operator=(const NormalPriority&) = delete;
};

}  // namespace lagtrap::daemon
