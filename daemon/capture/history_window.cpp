#include "daemon/capture/history_window.hpp"

#include <algorithm>
#include <numeric>

namespace lagtrap::daemon {

HistoryWindow::HistoryWindow(std::chrono::nanoseconds length)
    : length_ns_(static_cast<std::uint64_t>(length.count())) {}

void HistoryWindow::take(const lagtrap_record* record) {
    if (segments_.empty()) segments_.push_back({record->at_ns, {}});
    while (segments_.size() > 1 && size_bytes() + record->size_bytes > limit_bytes) {
        segments_.pop_front();
        ++cut_;
    }
    // If one segment fills the whole limit, later records are lost until the next segment.
    if (size_bytes() + record->size_bytes > limit_bytes) return;
    segments_.back().records.append(record, record->size_bytes, {});
}

bool HistoryWindow::turn(std::uint64_t now_ns) {
    while (segments_.size() > 1 && segments_[1].began_ns + length_ns_ < now_ns)
        segments_.pop_front();
    if (!segments_.empty() && now_ns < segments_.back().began_ns + length_ns_ / segments_of_length)
        return false;
    segments_.push_back({now_ns, {}});
    return true;
}

std::uint64_t HistoryWindow::length_ns(std::uint64_t now_ns) const {
    if (segments_.empty()) return 0;
    return std::min(length_ns_, now_ns - std::min(now_ns, segments_.front().began_ns));
}

std::size_t HistoryWindow::size_bytes() const {
    return std::accumulate(
        segments_.begin(), segments_.end(), std::size_t{0},
        [](std::size_t sum, const Segment& segment) { return sum + segment.records.size_bytes(); });
}

}  // namespace lagtrap::daemon
