#include "daemon/functions/function_window.hpp"

#include <utility>

namespace lagtrap::daemon {

void FunctionSums::add(const std::vector<calls::FunctionTotals>& totals) {
    for (const calls::FunctionTotals& one : totals) {
        calls::FunctionTotals& sum = sums_[one.function];
        sum.function = one.function;
        sum.calls += one.calls;
        sum.left += one.left;
        sum.own_ns += one.own_ns;
        sum.unbegun += one.unbegun;
        if (one.longest_ns < sum.longest_ns) continue;
        sum.longest_ns = one.longest_ns;
        sum.path = one.path;
    }
}

std::vector<calls::FunctionTotals> FunctionSums::all() const {
    std::vector<calls::FunctionTotals> totals;
    for (const auto& [function, one] : sums_) {
        totals.push_back(one);
        // If an end had no begin, the times of no period are reliable.
        if (one.unbegun != 0)
            totals.back() = {function, one.calls, one.left, 0, 0, {}, one.unbegun};
    }
    return totals;
}

void FunctionWindow::add(std::vector<calls::TracedCall> calls) {
    for (calls::TracedCall& call : calls) calls_.push_back(std::move(call));
    while (calls_.size() > limits_.calls) {
        calls_.pop_front();
        ++dropped_;
    }
}

void FunctionWindow::end_period(std::uint64_t now_ns, std::vector<calls::FunctionTotals> totals) {
    totals_ += totals.size();
    periods_.push_back({period_ns_, now_ns, std::exchange(dropped_, 0), std::move(totals)});
    period_ns_ = now_ns;
    drop_periods(now_ns);
}

// Discards a period once the later ones cover the whole length, or there is no more room. The last
// one always stays.
void FunctionWindow::drop_periods(std::uint64_t now_ns) {
    while (periods_.size() > 1 &&
           (periods_[1].begin_ns + length_ns_ <= now_ns || totals_ > limits_.totals)) {
        totals_ -= periods_.front().totals.size();
        periods_.pop_front();
    }
    from_ns_ = periods_.front().begin_ns;
    while (!calls_.empty() && calls_.front().end_ns < from_ns_) calls_.pop_front();
}

std::vector<calls::TracedCall> FunctionWindow::calls() const {
    std::vector<calls::TracedCall> since;
    for (const calls::TracedCall& call : calls_)
        if (call.end_ns >= from_ns_) since.push_back(call);
    return since;
}

std::uint64_t FunctionWindow::dropped() const {
    std::uint64_t dropped = dropped_;
    for (const Period& period : periods_) dropped += period.dropped;
    return dropped;
}

FunctionSums FunctionWindow::sums() const {
    FunctionSums sums;
    for (const Period& period : periods_) sums.add(period.totals);
    return sums;
}

}  // namespace lagtrap::daemon
