#include "trace/merge/run_details.hpp"

#include <cstring>
#include <utility>

#include "core/text.hpp"

namespace lagtrap::trace {

// Keeps the first record of a run, since everything after it is recorded. Bounded, because open
// runs are limited by slots, and few end before they are examined.
void RunDetails::take(const lagtrap_run_so_far& record) {
    constexpr std::size_t most = 16'384;
    const Key key{record.event, record.begin_tid, record.begin_hit_ns};
    if (so_far_.size() >= most && !so_far_.contains(key)) return;
    const auto [known, added] = so_far_.try_emplace(key, record);
    if (!added && record.until_ns < known->second.until_ns) known->second = record;
}

void RunDetails::take(const lagtrap_trace_text& record) {
    if (record.bytes <= 1 || trace_texts_.size() >= texts_limit_) return;
    trace_texts_.try_emplace({record.event, record.begin_tid, record.begin_hit_ns}, record.text,
                             ::strnlen(record.text, sizeof(record.text)));
}

void RunDetails::tell(const lagtrap_run& run, Delay& delay) const {
    if (const auto known = so_far_.find({run.event, run.begin_tid, run.begin_hit_ns});
        known != so_far_.end())
        delay.so_far = run_so_far(known->second, run.begin_ns);
    if (const auto text = trace_texts_.find({run.event, run.begin_tid, run.begin_hit_ns});
        text != trace_texts_.end()) {
        if (auto context = trace_context_of(text->second))
            delay.trace = std::move(*context);
        else
            delay.no_trace = printable(text->second);
    }
}

}  // namespace lagtrap::trace
