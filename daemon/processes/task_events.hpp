// exec, mmap of code, fork, exit and renames during a capture, as the kernel's perf events tell them: the one
// complete source that needs no kprobe. The kernel reads the build ids of what is mapped, so a process
// that is gone before anybody could look still has its modules (attr.build_id, Linux 5.12).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "bpf/records.h"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::daemon {

// Not for several threads at once.
class TaskEvents {
  public:
    // Opens one event and ring per CPU, running at once. `ring_pages` is a power of two.
    [[nodiscard]] static Result<TaskEvents> open(std::uint32_t ring_pages = 128);

    // Hands out what the rings hold, CPU by CPU, as lagtrap_mapping (with its path behind it),
    // lagtrap_task_change and lagtrap_name. The record is valid during the call.
    using OnRecord = std::function<void(const lagtrap_record*)>;
    void drain(const OnRecord& on_record);

    // Opens anew what stopped with a CPU that was switched off, as all but the first are while the machine sleeps, and what
    // is missing of CPUs that came; these it returns. What their rings still hold must be drained before.
    [[nodiscard]] std::vector<int> renew();

    // What the kernel dropped because a ring was full, and one for each ring that was opened anew: nobody knows how many.
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

  private:
    struct Ring;
    [[nodiscard]] static Result<std::shared_ptr<Ring>> open_ring(int cpu, std::uint32_t ring_pages);
    void drain_ring(Ring& ring, const OnRecord& on_record);
    void take(const char* record, std::size_t bytes, std::uint16_t cpu, const OnRecord& on_record);

    std::uint32_t ring_pages_ = 0;
    std::vector<std::shared_ptr<Ring>> rings_;
    std::vector<char> wrapped_;
    std::uint64_t lost_ = 0;
};

}  // namespace lagtrap::daemon
