#include "daemon/budget/budget_texts.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "core/duration.hpp"
#include "core/party.hpp"
#include "daemon/budget/difference.hpp"
#include "daemon/budget/millionths.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

std::string part_of_time(std::uint64_t watched_ppm) {
    return percent_of_ppm(watched_ppm) + " of the time";
}

std::string how_detached(const BudgetStep& step) {
    return step.counted ? "counted, not timed" : "disabled";
}

std::string limited_name(const HitParty& who) {
    return who.pid == 0 ? party_text(who.party)
                        : fmt::format("process {} of {}", who.pid, party_text(who.party));
}

BudgetMessage message_about_whole(const BudgetStep& step, std::chrono::nanoseconds again_in) {
    using Action = BudgetStep::Action;
    const bool history = step.action == Action::DropHistory || step.action == Action::KeepHistory;
    const bool again = step.action == Action::KeepHistory || step.action == Action::CountTimes;
    const std::string what = history ? "the time before a breach is" : "the time of runs is";
    const std::string how = history ? "kept" : "broken down";
    if (again) return {false, what + " " + how + " again"};
    return {true, fmt::format("{} not {}: {}; retry in {}", what, how, step.reason,
                              format_duration(again_in))};
}

}  // namespace

bool is_whole(BudgetStep::Action action) {
    using Action = BudgetStep::Action;
    return action == Action::DropHistory || action == Action::KeepHistory ||
           action == Action::DropTimes || action == Action::CountTimes;
}

std::uint32_t weight_of_part(std::uint64_t watched_ppm) {
    return static_cast<std::uint32_t>(1'000'000 / watched_ppm);
}

std::string disabled_problem(const BudgetStep& step, std::uint64_t watched_ppm) {
    using Action = BudgetStep::Action;
    if (step.action == Action::WatchPart)
        return "watched " + part_of_time(watched_ppm) + ", currently off: " + step.reason;
    return (step.action == Action::Detach ? how_detached(step) : "disabled") + ": " + step.reason;
}

std::optional<BudgetMessage> message_about(const BudgetStep& step, const std::string& event,
                                           std::uint64_t watched_ppm,
                                           std::chrono::nanoseconds again_in) {
    using Action = BudgetStep::Action;
    const std::string again = format_duration(again_in);
    switch (step.action) {
        case Action::DropHistory:
        case Action::KeepHistory:
        case Action::DropTimes:
        case Action::CountTimes: return message_about_whole(step, again_in);
        case Action::Detach:
            return BudgetMessage{true, fmt::format("event {} is {}: {}; retry in {}", event,
                                                   how_detached(step), step.reason, again)};
        case Action::StopCount:
            return BudgetMessage{
                true, fmt::format("event {} is no longer counted: {}", event, step.reason)};
        case Action::WatchPart:
            if (!step.news) return std::nullopt;
            return BudgetMessage{
                true, fmt::format("event {} is watched {}{}: {}", event, part_of_time(watched_ppm),
                                  step.counted ? " and counted in between" : "", step.reason)};
        case Action::WatchWhole:
            return BudgetMessage{false,
                                 fmt::format("event {} is watched all the time again", event)};
        case Action::DropStacks:
            return BudgetMessage{true, fmt::format("event {} has no stacks at its markers: {}; "
                                                   "retry in {}",
                                                   event, step.reason, again)};
        case Action::TakeStacks:
            return BudgetMessage{false, "event " + event + " has stacks at its markers again"};
        case Action::DropStages:
            return BudgetMessage{true, fmt::format("event {} has no stages: {}; retry in {}", event,
                                                   step.reason, again)};
        case Action::WatchStages:
            return BudgetMessage{false, "event " + event + " has its stages again"};
        case Action::Limit:
            return BudgetMessage{
                true, fmt::format("event {} is not watched for {}: {}; other users are", event,
                                  limited_name(step.party), step.reason)};
        case Action::Release:
            return BudgetMessage{false, fmt::format("event {} is watched for {} again", event,
                                                    limited_name(step.party))};
        case Action::Attach: break;
    }
    return std::nullopt;
}

std::chrono::nanoseconds until_back(std::uint64_t again_ns, std::uint64_t now_ns) {
    if (again_ns == 0) return 0ns;
    return std::max<std::chrono::nanoseconds>(1ms,
                                              std::chrono::nanoseconds(since(again_ns, now_ns)));
}

std::vector<std::string> disabled_sentences(bool history_is_off, bool times_are_off,
                                            const std::vector<EventStatus>& events) {
    std::vector<std::string> sentences;
    if (history_is_off) sentences.emplace_back("the time before a breach is not kept");
    if (times_are_off) sentences.emplace_back("the time of runs is not broken down");
    for (const EventStatus& event : events) {
        if (event.disabled)
            sentences.push_back("event " + event.name + " is not watched: " + event.problem);
        if (event.stages_disabled) sentences.push_back("event " + event.name + " has no stages");
        if (event.stacks_disabled)
            sentences.push_back("event " + event.name + " has no stacks at its markers");
    }
    return sentences;
}

}  // namespace lagtrap::daemon
