#include "daemon/unwinding/task_event_log.hpp"

#include <chrono>
#include <utility>

#include "core/clock.hpp"

namespace lagtrap::daemon {

namespace {
constexpr std::chrono::seconds description_timeout{1};
}

void TaskEventLog::drain() {
    events_.drain([this](const lagtrap_record* record) {
        order_.add(record);
        if (capturing_) captured_.add(record);
    });
}

TaskEventLog::Ordered TaskEventLog::take_ordered() {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t complete_until_ns = monotonic_ns();
    drain();
    const bool some_lost = std::exchange(lost_before_, events_.lost()) != events_.lost();
    return {order_.take_before(complete_until_ns), some_lost};
}

std::vector<int> TaskEventLog::renew() {
    const std::scoped_lock lock(mutex_);
    drain();
    return events_.renew();
}

void TaskEventLog::begin_capture() {
    const std::scoped_lock lock(mutex_);
    (void)captured_.take();
    capture_began_ns_ = capture_to_describe_ns_ = monotonic_ns();
    described_ = false;
    capturing_ = true;
}

std::uint64_t TaskEventLog::take_capture_to_describe() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(capture_to_describe_ns_, 0);
}

void TaskEventLog::add_description(std::uint64_t at_ns, const RecordBuffer& mappings) {
    const std::scoped_lock lock(mutex_);
    if (!capturing_ || at_ns < capture_began_ns_) return;
    captured_.add(mappings);
    described_ = true;
    has_described_.notify_all();
}

RecordBuffer TaskEventLog::take_captured() {
    const std::scoped_lock lock(mutex_);
    return captured_.take();
}

bool TaskEventLog::end_capture() {
    std::unique_lock lock(mutex_);
    const bool described =
        has_described_.wait_for(lock, description_timeout, [this] { return described_; });
    drain();
    capturing_ = false;
    capture_began_ns_ = 0;
    return described;
}

void TaskEventLog::forget_capture() {
    const std::scoped_lock lock(mutex_);
    capturing_ = false;
    capture_began_ns_ = capture_to_describe_ns_ = 0;
    (void)captured_.take();
}

std::uint64_t TaskEventLog::lost() const {
    const std::scoped_lock lock(mutex_);
    return events_.lost() + captured_.not_kept();
}

}  // namespace lagtrap::daemon
