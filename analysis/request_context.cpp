#include "analysis/request_context.hpp"

#include <algorithm>
#include <utility>

#include "analysis/published_spans.hpp"

namespace lagtrap::analysis {

namespace {

const trace::Delay* delay_of(const Recording& recording, const Run& run) {
    const auto& delays = recording.system.delays;
    const auto found = std::find_if(delays.begin(), delays.end(), [&](const trace::Delay& delay) {
        return delay.run_id == run.id && delay.begin_ns == run.begin_ns && delay.event == run.event;
    });
    return found != delays.end() ? &*found : nullptr;
}

RequestContext context_of(const Recording& recording, const Run& run) {
    RequestContext request;
    request.event = run.event;
    request.run_id = run.id;
    request.key = run.key;
    request.begin_ns = run.begin_ns;
    request.end_ns = run.end_ns;
    request.open = run.open;
    if (const trace::Delay* delay = delay_of(recording, run); delay != nullptr)
        request.trace_id = delay->trace.trace_id;
    return request;
}

// Where the thread had the run for certain.
std::vector<Window> windows_of(const Run& run, std::uint32_t tid) {
    std::vector<Window> windows;
    std::uint64_t from_ns = run.begin_ns;
    std::uint32_t from_tid = run.begin_tid;
    const auto hit = [&](std::uint64_t at_ns, std::uint32_t at_tid) {
        if (from_tid == tid && at_tid == tid && at_ns > from_ns)
            windows.push_back({from_ns, at_ns});
        from_ns = std::max(from_ns, at_ns);
        from_tid = at_tid;
    };
    for (const RecordedStage& stage : run.stages) hit(stage.begin_ns, stage.tid);
    hit(run.end_ns, run.open ? from_tid : run.end_tid);
    return windows;
}

std::uint64_t overlap_ns(const Window& a, const Window& b) {
    const std::uint64_t from_ns = std::max(a.begin_ns, b.begin_ns);
    const std::uint64_t to_ns = std::min(a.end_ns, b.end_ns);
    return from_ns < to_ns ? to_ns - from_ns : 0;
}

// `times` are in order.
std::uint64_t time_in(const Run& run, std::uint32_t tid, std::span<const Window> times) {
    std::uint64_t time_ns = 0;
    for (const Window& had : windows_of(run, tid)) {
        auto time = std::partition_point(times.begin(), times.end(), [&](const Window& one) {
            return one.end_ns <= had.begin_ns;
        });
        for (; time != times.end() && time->begin_ns < had.end_ns; ++time)
            time_ns += overlap_ns(had, *time);
    }
    return time_ns;
}

}  // namespace

bool is_run_of(const trace::Delay& delay, const RequestContext& request) {
    return !request.event.empty() && request.event == delay.event &&
           request.run_id == delay.run_id && request.begin_ns == delay.begin_ns;
}

bool is_same_request(const RequestContext& a, const RequestContext& b) {
    const bool is_same_run =
        !a.event.empty() && a.event == b.event && a.run_id == b.run_id && a.begin_ns == b.begin_ns;
    return is_same_run || (!a.trace_id.empty() && a.trace_id == b.trace_id);
}

namespace {

// Adds what the program published to the request, unless that names another trace.
void add_span(const Recording& recording, const PublishedSpan& span, RequestContext& request) {
    const std::string& trace_id = recording.name(span.trace_id);
    if (!request.trace_id.empty() && request.trace_id != trace_id) return;
    request.trace_id = trace_id;
    request.span_id = recording.name(span.span_id);
    for (const SpanAttribute& attribute : span.attributes) {
        const std::string& name = recording.name(attribute.name);
        const std::string& value = recording.name(attribute.value);
        if (name == "http.route")
            request.route = value;
        else
            request.attributes.push_back({name, value});
    }
}

struct RunPart {
    const Run* run = nullptr;
    std::uint64_t time_ns = 0;
};

// The innermost run, which is the last one to begin.
std::optional<RunPart> run_of(const Recording& recording, std::uint32_t tid,
                              std::span<const Window> times) {
    const auto runs = recording.run_index.find(tid);
    if (runs == recording.run_index.end()) return std::nullopt;
    std::uint64_t whole_ns = 0;
    for (const Window& time : times) whole_ns += time.end_ns - time.begin_ns;
    auto next =
        std::partition_point(runs->second.begin(), runs->second.end(), [&](const IndexedRun& one) {
            return recording.runs[one.run].begin_ns < times.back().end_ns;
        });
    while (next != runs->second.begin() && (--next)->latest_end_ns > times.front().begin_ns) {
        const Run& run = recording.runs[next->run];
        const std::uint64_t time_ns = time_in(run, tid, times);
        if (time_ns != 0 && time_ns * 2 >= whole_ns) return RunPart{&run, time_ns};
    }
    return std::nullopt;
}

RequestPart request_of_span(const Recording& recording, const SpanPart& part) {
    RequestContext request;
    request.kind = RequestKind::Span;
    request.begin_ns = part.seen.begin_ns;
    request.end_ns = part.seen.end_ns;
    add_span(recording, *part.span, request);
    return {std::move(request), part.time_ns};
}

}  // namespace

std::optional<RequestPart> request_of(const Recording& recording, std::uint32_t tid,
                                      std::span<const Window> times) {
    if (times.empty()) return std::nullopt;
    const auto span = span_of(recording, tid, times);
    const auto run = run_of(recording, tid, times);
    if (!run) return span ? std::optional(request_of_span(recording, *span)) : std::nullopt;
    RequestPart part{context_of(recording, *run->run), run->time_ns};
    if (span) add_span(recording, *span->span, part.request);
    return part;
}

RequestContext request_of_delay(const Recording& recording, const trace::Delay& delay) {
    RequestContext request;
    request.event = delay.event;
    request.run_id = delay.run_id;
    request.key = delay.key;
    request.begin_ns = delay.begin_ns;
    request.end_ns = end_of(delay);
    request.open = delay.open;
    request.trace_id = delay.trace.trace_id;
    const Window recorded{std::max(request.begin_ns, recording.begin_ns),
                          std::min(request.end_ns, recording.end_ns)};
    if (delay.in_go || recorded.begin_ns >= recorded.end_ns) return request;
    if (const auto span = span_of(recording, delay.begin_tid, {&recorded, 1}))
        add_span(recording, *span->span, request);
    return request;
}

RunIndex index_of_runs(std::span<const Run> runs) {
    RunIndex index;
    const auto add = [&](std::uint32_t tid, std::size_t number) {
        std::vector<IndexedRun>& of_thread = index[tid];
        const auto run = static_cast<std::uint32_t>(number);
        if (!of_thread.empty() && of_thread.back().run == run) return;
        const std::uint64_t before_ns = of_thread.empty() ? 0 : of_thread.back().latest_end_ns;
        of_thread.push_back({run, std::max(before_ns, runs[number].end_ns)});
    };
    for (std::size_t number = 0; number < runs.size(); ++number) {
        const Run& run = runs[number];
        if (run.in_go || run.abandoned) continue;
        add(run.begin_tid, number);
        for (const RecordedStage& stage : run.stages) add(stage.tid, number);
    }
    return index;
}

}  // namespace lagtrap::analysis
