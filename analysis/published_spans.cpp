#include "analysis/published_spans.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace lagtrap::analysis {

namespace {

// Only a thread itself changes what it works for, so that held since it last ran.
std::uint64_t since_it_ran(const Recording& recording, std::uint32_t tid, std::uint64_t at_ns) {
    const Thread* const thread = recording.find_thread(tid);
    if (thread == nullptr) return at_ns;
    const auto& changes = thread->changes;
    auto change = std::partition_point(changes.begin(), changes.end(),
                                       [&](const StateChange& one) { return one.at_ns < at_ns; });
    std::uint64_t since_ns = at_ns;
    while (change != changes.begin()) {
        --change;
        if (change->state != ThreadState::Blocked && change->state != ThreadState::Runnable) break;
        since_ns = change->at_ns;
    }
    return since_ns;
}

// The spans of a thread, each once with the time in which it was seen.
std::vector<SpanPart> parts_of(const Recording& recording, std::uint32_t tid,
                               const std::vector<PublishedSpan>& spans) {
    std::vector<SpanPart> parts;
    for (auto one = spans.begin(); one != spans.end(); ++one) {
        const auto next = std::next(one);
        const std::uint64_t end_ns = next == spans.end() ? recording.end_ns : next->at_ns;
        const bool goes_on = !parts.empty() && parts.back().seen.end_ns == one->at_ns &&
                             one->trace_id != 0 && parts.back().span->span_id == one->span_id &&
                             parts.back().span->trace_id == one->trace_id;
        if (goes_on) {
            parts.back().span = &*one;
            parts.back().seen.end_ns = end_ns;
        } else if (one->trace_id != 0) {
            const std::uint64_t earliest_ns = parts.empty() ? 0 : parts.back().seen.end_ns;
            const std::uint64_t begin_ns =
                std::max(earliest_ns, since_it_ran(recording, tid, one->at_ns));
            parts.push_back({&*one, {std::min(begin_ns, one->at_ns), end_ns}, 0});
        }
    }
    return parts;
}

}  // namespace

std::optional<SpanPart> span_of(const Recording& recording, std::uint32_t tid,
                                std::span<const Window> times) {
    const auto spans = recording.spans.find(tid);
    if (spans == recording.spans.end()) return std::nullopt;
    std::uint64_t whole_ns = 0;
    for (const Window& time : times) whole_ns += time.end_ns - time.begin_ns;
    for (SpanPart part : parts_of(recording, tid, spans->second)) {
        for (const Window& time : times) {
            const std::uint64_t from_ns = std::max(time.begin_ns, part.seen.begin_ns);
            const std::uint64_t to_ns = std::min(time.end_ns, part.seen.end_ns);
            if (from_ns < to_ns) part.time_ns += to_ns - from_ns;
        }
        if (part.time_ns != 0 && part.time_ns * 2 >= whole_ns) return part;
    }
    return std::nullopt;
}

}  // namespace lagtrap::analysis
