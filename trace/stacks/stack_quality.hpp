// Measures the quality of a recording's stacks: how many are complete, and what stopped the others.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "trace/stacks/stack_table.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace {

// Where a stack comes from: a sample on a CPU, or a switch at which a thread stopped to wait.
enum class StackUse { OnCpu, OffCpu };

// "complete", "no-table", ...: why a walk ended, as in the system file. `end` is an enum
// lagtrap_stack_end.
[[nodiscard]] const char* stack_end_name(std::uint8_t end);

// Counts each use of a stack, not each stack. Not thread-safe.
class StackQualityCounter {
  public:
    StackQualityCounter(const StackTable& stacks, const ModuleTable& modules)
        : stacks_(stacks), modules_(modules) {}

    // Counts one sample or switch of process `pid`; a stack id of 0 means there is no such stack.
    void count(StackUse use, std::uint32_t pid, std::uint64_t kernel_stack_id,
               std::uint64_t user_stack_id);
    // Adds the counts to `quality`; `delayed` are the processes with delays.
    void finish(StackQuality& quality, const std::set<std::uint32_t>& delayed) const;

  private:
    // Additional reason, for a stack that no log contains.
    static constexpr std::uint8_t lost = 0xff;
    void count_frames(const CallStack& stack);
    void count_walk(StackUse use, std::uint32_t pid, const CallStack* user);

    const StackTable& stacks_;
    const ModuleTable& modules_;
    StackQuality quality_;
    std::unordered_map<std::uint32_t, StackWalks> by_process_;
    std::map<std::pair<ModuleId, std::uint8_t>, StackStop> stops_;  // by module and reason
};

}  // namespace lagtrap::trace
