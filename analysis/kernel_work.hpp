// What the kernel does on behalf of a thread, where that is a task of its own: writing a core dump, freeing memory.
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
    MachineReclaim,    // memory of a machine that has too little
    Compaction,        // moving pages, for those of a larger size
    MemoryStatistics,  // /proc/PID/smaps and what is like it
    Fork,              // copies the memory map
    ProcessEnd,        // gives back the memory map
};

// By a table of the kernel's function names (6.1 to 6.18).
[[nodiscard]] KernelWork kernel_work_of(const Recording& recording, StackId stack);

// "writing its core dump": after "was", or after a comma. None has none.
[[nodiscard]] std::string_view words_of(KernelWork work);

// Adds up times by their work.
class KernelWorkTimes {
  public:
    void add(KernelWork work, std::uint64_t time_ns) { times_[work] += time_ns; }
    // That with the most time, where it took a third of `whole_ns` or more; else None. `second`: its time.
    [[nodiscard]] std::pair<KernelWork, std::uint64_t> longest(std::uint64_t whole_ns) const;

  private:
    std::map<KernelWork, std::uint64_t> times_;
};

}  // namespace lagtrap::analysis
