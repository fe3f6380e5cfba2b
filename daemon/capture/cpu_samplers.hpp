// Run a BPF program of the recorder at regular intervals of CPU time on each CPU.
#pragma once

#include <chrono>
#include <vector>

#include "core/result.hpp"
#include "daemon/kernel/libbpf_support.hpp"

struct bpf_program;

namespace lagtrap::daemon {

// Not thread-safe.
class CpuSamplers {
  public:
    explicit CpuSamplers(std::chrono::nanoseconds interval) : interval_(interval) {}

    // Adds a disabled sampler that runs `program`, which must outlive it. The errno is ENODEV if
    // the CPU is offline.
    [[nodiscard]] Status add(int cpu, bpf_program* program);
    // Replaces the samplers of these CPUs by disabled ones. The result is false for CPUs that
    // cannot be sampled, which then have none.
    [[nodiscard]] std::vector<bool> renew(const std::vector<int>& cpus, bpf_program* program);
    void enable(bool on) const;
    // Of all samplers, also of those that are added later.
    void set_interval(std::chrono::nanoseconds interval);
    [[nodiscard]] std::chrono::nanoseconds interval() const { return interval_; }
    // Removes all samplers.
    void clear() { samplers_.clear(); }

  private:
    struct Sampler {
        int cpu = 0;
        int fd = -1;  // owned by the link
        Link link;
    };

    std::chrono::nanoseconds interval_;
    std::vector<Sampler> samplers_;
};

}  // namespace lagtrap::daemon
