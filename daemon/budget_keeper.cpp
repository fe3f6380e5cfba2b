#include "daemon/budget_keeper.hpp"

#include <chrono>
#include <utility>

#include "core/heap.hpp"

namespace lagtrap::daemon {
namespace {

RecordingCosts costs_of(const CaptureController& controller) {
    return {{controller.begun(), controller.state() == CaptureState::Recording},
            controller.history_cost_ns()};
}

}  // namespace

BudgetKeeper::BudgetKeeper(boost::asio::io_context& context, CaptureController& controller,
                           Unwinder& unwinder, const Log& log)
    : controller_(controller),
      unwinder_(unwinder),
      overhead_(log),
      memory_(MemoryGroup::of_this_process(), log),
      overhead_timer_(context),
      memory_timer_(context) {
    look_at_memory();
}

void BudgetKeeper::use(const settings::Budget& budget, EventMonitor& monitor) {
    overhead_.use(budget, monitor, costs_of(controller_));
    await_overhead();
}

void BudgetKeeper::stop() {
    overhead_timer_.cancel();
    overhead_.stop();
    memory_timer_.cancel();
}

void BudgetKeeper::await_overhead() {
    overhead_timer_.expires_after(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(overhead_.interval()));
    overhead_timer_.async_wait([this](const auto& failure) {
        if (failure) return;
        look_at_overhead();
        await_overhead();
    });
}

void BudgetKeeper::look_at_overhead() {
    if (const auto keep = overhead_.look(costs_of(controller_))) controller_.keep_history(*keep);
}

void BudgetKeeper::look_at_memory() {
    const MemoryHolds before = std::exchange(held_, memory_.look(unwinder_.status().spaces.bytes));
    if (held_.tables != before.tables) unwinder_.hold_memory(held_.tables);
    if (held_.merges != before.merges) controller_.hold_merges(held_.merges);
    if (held_.tables && !before.tables) return_free_memory();
    const auto interval = memory_.interval();
    if (!interval) return;
    memory_timer_.expires_after(*interval);
    memory_timer_.async_wait([this](const auto& failure) {
        if (!failure) look_at_memory();
    });
}

std::vector<std::string> BudgetKeeper::disabled_now() const {
    std::vector<std::string> sentences = overhead_.disabled_now();
    for (std::string& sentence : memory_.disabled_now()) sentences.push_back(std::move(sentence));
    return sentences;
}

}  // namespace lagtrap::daemon
