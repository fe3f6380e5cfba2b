#include "daemon/capture/capture_traces.hpp"

#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/core.h>

namespace lagtrap::daemon {
namespace {

// Watched programs have tables except for a moment after their start. The recording does not wait
// for that.
constexpr std::chrono::milliseconds tables_timeout(500);

CallRequest call_request(const settings::Event& event, std::uint32_t pid) {
    CallRequest request;
    request.wishes.pid = pid;
    request.wishes.function = event.begin.name;
    request.wishes.binary = event.begin.binary;
    request.wishes.depth = event.calls->depth;
    request.wishes.match = event.calls->match;
    request.budget = static_cast<double>(event.calls->share_ppm) / 1e6;
    request.min_duration = event.threshold;
    request.with_probes = true;  // as durations of runs are measured
    return request;
}

ObjectRequest object_request(const settings::Event& event, std::uint32_t pid) {
    ObjectRequest request;
    request.wishes.pid = pid;
    request.wishes.rules = event.objects;
    request.timeout = tables_timeout;
    return request;
}

}  // namespace

bool CaptureTraces::are_wanted(const settings::Event& event) {
    return event.calls || event.functions || !event.objects.empty();
}

void CaptureTraces::begin(const settings::Event& event, std::uint32_t number, std::uint32_t pid,
                          const std::filesystem::path& capture) {
    traces_.clear();
    const auto begin_one = [&](const char* what, const trace::LinesFile& kind, const auto& start) {
        auto lines = pid == 0 ? make_error(ErrorKind::NotFound, "no process has its program")
                              : CaptureLines::create(capture, kind);
        const Status begun = lines ? start(*lines) : Status(lines.error());
        if (!begun)
            return log_.warn(fmt::format("{} of event {} are not recorded: {}", what, event.name,
                                         begun.error().message));
        traces_.push_back(std::move(*lines));
    };
    if (event.calls)
        begin_one("calls", trace::calls_lines, [&](const auto& lines) {
            return surroundings_.begin_calls(call_request(event, pid), lines);
        });
    if (event.functions)
        begin_one("functions", trace::functions_lines, [&](const auto& lines) {
            return surroundings_.begin_functions(number, pid, lines);
        });
    if (!event.objects.empty())
        begin_one("objects", trace::objects_lines, [&](const auto& lines) {
            return surroundings_.begin_objects(object_request(event, pid), lines);
        });
}

void CaptureTraces::end(const std::filesystem::path& capture, const std::string& event,
                        std::function<void()> written) {
    auto traces = std::exchange(traces_, {});
    for (const auto& lines : traces) lines->note_over();
    if (!traces.empty()) ending_.insert(capture);
    await(std::move(traces), capture, event, std::move(written));
}

void CaptureTraces::note_over() {
    for (const auto& lines : traces_) lines->note_over();
}

void CaptureTraces::await(Traces traces, const std::filesystem::path& capture,
                          const std::string& event, std::function<void()> written) {
    if (traces.empty()) {
        ending_.erase(capture);
        return written();
    }
    const auto last = std::move(traces.back());
    traces.pop_back();
    last->finish([this, last = last.get(), traces = std::move(traces), capture, event,
                  written = std::move(written)] {
        const std::string refusal = last->refusal();
        boost::asio::post(context_, [this, what = last->what(), refusal, traces, capture, event,
                                     written] {
            if (!refusal.empty())
                log_.warn(fmt::format("{} of event {} are not recorded: {}", what, event, refusal));
            await(traces, capture, event, written);
        });
    });
}

}  // namespace lagtrap::daemon
