// Recognizes kernel work on behalf of a thread, such as writing a core dump or freeing memory.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

enum class KernelWork : std::uint8_t {
    None,
    CoreDump,
    GroupReclaim,      // memory of a control group at its limit
    MachineReclaim,    // memory of a machine that is low on it
    Compaction,        // moving pages to make room for larger ones
    MemoryStatistics,  // /proc/PID/smaps and the like
    Fork,              // copies the memory map
    ProcessEnd,        // releases the memory map
    NumaBalancing,     // moves pages to the memory of the CPU that uses them
    // Only while it computes, because a thread that waits there does not do it yet.
    CopyOnWrite,
    LargePages,  // clears transparent huge pages
    Populating,
    Protecting,  // mprotect
    Unmapping,   // munmap, madvise
    FreeingFile,
    ReadingFolder,
    SpinningForLock,
    OtherCpus,  // until they have done what a CPU asked of them, such as flushed their TLBs
    OverlayCopy,
    GroupStatistics,  // memory.stat and the like
    ListingSockets,
    FindingPort,
    FindingBlocks,
    ForgettingNames,  // of files, in the kernel's cache
    EmptyingCaches,
    Mounts,
    LoadingModule,
    CheckingProgram,  // of BPF
};

// From a table of kernel function names (6.1 to 6.18).
[[nodiscard]] KernelWork kernel_work_of(const Recording& recording, StackId stack);

// True if whoever asked the kernel for it has to be known as well.
[[nodiscard]] bool is_of_program(KernelWork work);

// "writing its core dump", to follow "was" or a comma. Empty for None.
[[nodiscard]] std::string_view to_text(KernelWork work);

// Sums up time per kind of work.
class KernelWorkTimes {
  public:
    void add(KernelWork work, std::uint64_t time_ns) { times_[work] += time_ns; }
    // The work with most time, and that time, if it took at least a third of `whole_ns`; otherwise
    // None.
    [[nodiscard]] std::pair<KernelWork, std::uint64_t> longest(std::uint64_t whole_ns) const;

  private:
    std::map<KernelWork, std::uint64_t> times_;
};

}  // namespace lagtrap::analysis
