// How good the stacks of a recording are: what share of them is whole, and what stopped the others.
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

// Whose stack it is: of a sample, taken on a CPU, or of a switch, taken where a thread stopped to wait.
enum class StackUse { OnCpu, OffCpu };

// "complete", "no-table", ...: what ended a walk, as the system file says it. `end` is an enum lagtrap_stack_end.
[[nodiscard]] const char* stack_end_name(std::uint8_t end);

// Counts each use of a stack, not each stack. Not for several threads at once.
class StackQualityCounter {
  public:
    StackQualityCounter(const StackTable& stacks, const ModuleTable& modules) : stacks_(stacks), modules_(modules) {}

    // One sample or switch of process `pid`; 0: it has no such stack.
    void count(StackUse use, std::uint32_t pid, std::uint64_t kernel_stack_id, std::uint64_t user_stack_id);
    // Adds what was counted to `quality`; `delayed` are the processes that began delays.
    void finish(StackQuality& quality, const std::set<std::uint32_t>& delayed) const;

  private:
    // A stack that is in no log has this reason, beside those of the walk.
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
