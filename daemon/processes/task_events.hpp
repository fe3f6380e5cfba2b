// exec, mmap of code, fork, exit and renames, from the kernel's perf events: the only complete
// source that needs no kprobe. The kernel reads the build ids of mapped files, so even processes
// that exit before anybody can inspect them have known modules (attr.build_id, Linux 5.12).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/processes/task_records.hpp"

namespace lagtrap::daemon {

// Not thread-safe.
class TaskEvents {
  public:
    // Opens one enabled event and ring per CPU. `ring_pages` must be a power of two.
    [[nodiscard]] static Result<TaskEvents> open(std::uint32_t ring_pages = 128);

    // Returns the content of the rings, CPU by CPU, as lagtrap_mapping (followed by its path),
    // lagtrap_task_change and lagtrap_name.
    using OnRecord = OnTaskRecord;
    void drain(const OnRecord& on_record);

    // Opens events again that stopped because their CPU went offline, as all but the first do
    // during suspend, and opens those of new CPUs. Returns these CPUs. Drain the rings first,
    // because their content is lost.
    [[nodiscard]] std::vector<int> renew();

    // Number of records that the kernel dropped because a ring was full, plus one for each reopened
    // ring, whose losses are unknown.
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

    // Descriptor that poll(2) reports as readable once after a ring is half full, and after a
    // process has started a program or renamed a thread. The program is not mapped yet at that
    // time. Valid as long as this object.
    [[nodiscard]] int wakeup_fd() const { return wakeups_.get(); }

  private:
    struct Ring;
    class StartWakeup;
    [[nodiscard]] Result<std::shared_ptr<Ring>> open_ring(int cpu) const;
    void drain_ring(Ring& ring, const OnRecord& on_record);

    std::uint32_t ring_pages_ = 0;
    UniqueFd wakeups_;  // epoll instance with the ring and the StartWakeup of each CPU
    std::vector<std::shared_ptr<Ring>> rings_;
    PerfRing reader_;
    std::uint64_t lost_ = 0;
};

}  // namespace lagtrap::daemon
