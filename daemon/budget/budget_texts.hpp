// What people read about the budget's steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/budget/overhead_budget.hpp"
#include "daemon/events/event_monitor.hpp"

namespace lagtrap::daemon {

// True if the step concerns all events.
[[nodiscard]] bool is_whole(BudgetStep::Action action);

// How many runs each run represents while the event is watched for this part of the time.
[[nodiscard]] std::uint32_t weight_of_part(std::uint64_t watched_ppm);

// Why the event is not watched now, for its status: after Detach, StopCount and WatchPart.
[[nodiscard]] std::string disabled_problem(const BudgetStep& step, std::uint64_t watched_ppm);

struct BudgetMessage {
    bool is_warning = false;
    std::string text;
};
// About a step that was carried out; nullopt if it is no news. `again_in` is the time until the
// disabled part is enabled again.
[[nodiscard]] std::optional<BudgetMessage> message_about(const BudgetStep& step,
                                                         const std::string& event,
                                                         std::uint64_t watched_ppm,
                                                         std::chrono::nanoseconds again_in);

// Time until a disabled part is enabled again; 0 if it is enabled (`again_ns` is 0). At least one
// millisecond, because it is back when a check has enabled it, not when its pause ends.
[[nodiscard]] std::chrono::nanoseconds until_back(std::uint64_t again_ns, std::uint64_t now_ns);

// One sentence for each part that is disabled now.
[[nodiscard]] std::vector<std::string> disabled_sentences(bool history_is_off, bool times_are_off,
                                                          const std::vector<EventStatus>& events);

}  // namespace lagtrap::daemon
