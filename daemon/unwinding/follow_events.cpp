#include "daemon/unwinding/follow_events.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace lagtrap::daemon {

RecordBuffer EventOrder::take_before(std::uint64_t complete_until_ns) {
    const RecordBuffer read = std::exchange(unordered_, RecordBuffer());
    std::vector<const lagtrap_record*> records;
    read.for_each([&](const lagtrap_record* record) {
        if (record->at_ns < complete_until_ns)
            records.push_back(record);
        else
            add(record);
    });
    std::stable_sort(records.begin(), records.end(),
                     [](const auto* a, const auto* b) { return a->at_ns < b->at_ns; });
    RecordBuffer ordered;
    for (const lagtrap_record* record : records) ordered.append(record, record->size_bytes, {});
    return ordered;
}

void CaptureEvents::add(const lagtrap_record* record) {
    if (kept_.size_bytes() < limit_bytes)
        kept_.append(record, record->size_bytes, {});
    else
        ++not_kept_;
}

RecordBuffer CaptureEvents::take() { return std::exchange(kept_, RecordBuffer()); }

void FollowPauses::note(bool has_events) {
    capture_ = has_events ? min_capture : std::min(capture_ * 2, max_capture);
    mapping_ = has_events ? min_mapping : std::min(mapping_ * 2, max_mapping);
}

std::chrono::milliseconds FollowPauses::next(bool capturing, bool making, bool wants_files) const {
    if (capturing) return capture_;
    if (making) return making_tables;
    return wants_files ? mapping_ : idle;
}

}  // namespace lagtrap::daemon
