// The part of the collector that runs traces of calls, functions and objects during a recording.
#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/core.h>

#include "daemon/capture/collector.hpp"

namespace lagtrap::daemon {
namespace {

// Watched programs have tables except for a moment after their start. The recording does not wait
// for that.
constexpr std::chrono::milliseconds tables_timeout(500);

}  // namespace

// A manual trigger names no process, so one that runs the event's program is traced.
void Collector::begin_traces(const Breach* breach) {
    traces_.clear();
    const settings::Event& event = settings_.events[session_.trigger.event];
    if (!event.calls && !event.functions && event.objects.empty()) return;
    const std::uint32_t pid =
        breach ? breach->run.begin_pid : listener_->status().at(session_.trigger.event).copies.pid;
    if (event.calls) begin_calls(event, pid);
    if (event.functions) begin_functions(event, pid);
    if (!event.objects.empty()) begin_objects(event, pid);
}

void Collector::begin_calls(const settings::Event& event, std::uint32_t pid) {
    CallRequest request;
    request.wishes.pid = pid;
    request.wishes.function = event.begin.name;
    request.wishes.binary = event.begin.binary;
    request.wishes.depth = event.calls->depth;
    request.wishes.match = event.calls->match;
    request.budget = static_cast<double>(event.calls->share_ppm) / 1e6;
    request.least = event.threshold;
    request.with_probes = true;  // as durations of runs are measured
    if (pid == 0)
        return options_.warn(
            fmt::format("calls of event {} are not recorded: no process has its function", event.name));
    begin_trace("calls", event, trace::calls_lines,
                [&](const auto& lines) { return surroundings_.begin_calls(std::move(request), lines); });
}

void Collector::begin_functions(const settings::Event& event, std::uint32_t pid) {
    if (pid == 0)
        return options_.warn(
            fmt::format("functions of event {} are not traced: no process has its program", event.name));
    begin_trace("functions", event, trace::functions_lines,
                [&](const auto& lines) { return surroundings_.begin_functions(session_.trigger.event, pid, lines); });
}

void Collector::begin_objects(const settings::Event& event, std::uint32_t pid) {
    if (pid == 0)
        return options_.warn(
            fmt::format("objects of event {} are not followed: no process has its program", event.name));
    ObjectRequest request;
    request.wishes.pid = pid;
    request.wishes.rules = event.objects;
    request.timeout = tables_timeout;
    begin_trace("objects", event, trace::objects_lines,
                [&](const auto& lines) { return surroundings_.begin_objects(std::move(request), lines); });
}

void Collector::begin_trace(const char* what, const settings::Event& event, const trace::LinesFile& kind,
                            const std::function<Status(const std::shared_ptr<CaptureLines>& lines)>& begin) {
    auto lines = CaptureLines::create(capture_directory_, kind);
    const Status begun = lines ? begin(*lines) : Status(lines.error());
    if (begun)
        traces_.push_back(std::move(*lines));
    else
        options_.warn(fmt::format("the {} of event {} are not recorded: {}", what, event.name, begun.error().message));
}

// Queues the capture once its traces have ended and written everything.
void Collector::merge_recorded() {
    MergeQueue::Work wanted{capture_directory_, session_.id, current_event_, true, std::exchange(roots_, nullptr)};
    auto traces = std::exchange(traces_, {});
    if (traces.empty()) return merges_.add(std::move(wanted));
    for (const auto& lines : traces) lines->note_over();
    waiting_for_traces_.insert(wanted.capture);
    await_traces(std::move(traces), wanted);
}

void Collector::await_traces(std::vector<std::shared_ptr<CaptureLines>> traces, const MergeQueue::Work& wanted) {
    if (traces.empty()) {
        waiting_for_traces_.erase(wanted.capture);
        return merges_.add(wanted);
    }
    const auto last = std::move(traces.back());
    traces.pop_back();
    last->finish([this, last = last.get(), traces = std::move(traces), wanted] {
        const std::string refusal = last->refusal();
        boost::asio::post(context_, [this, what = last->what(), refusal, traces, wanted] {
            if (!refusal.empty())
                options_.warn(fmt::format("the {} of event {} are not recorded: {}", what, wanted.event, refusal));
            await_traces(traces, wanted);
        });
    });
}

bool Collector::in_use(const std::filesystem::path& capture) const {
    return (state_ == CollectorState::Recording && capture == capture_directory_) ||
           waiting_for_traces_.contains(capture);
}

}  // namespace lagtrap::daemon
