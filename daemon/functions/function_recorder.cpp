#include "daemon/functions/function_recorder.hpp"

#include <thread>
#include <utility>

#include <boost/json.hpp>

#include "core/clock.hpp"
#include "daemon/control/control_server.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

// A standing trace wakes up no more often; meanwhile, calls stay in the ring.
constexpr auto standing_pause = 50ms;
constexpr std::uint64_t period_ns = 1'000'000'000;

}  // namespace

FunctionRecorder::FunctionRecorder(FunctionRequest request, std::chrono::nanoseconds window,
                                   std::function<void(const std::string& reason)> on_refused)
    : request_(std::move(request)), window_length_(window), on_refused_(std::move(on_refused)) {}

void FunctionRecorder::run(ProcessInspector& inspector, const std::function<CallCosts()>& costs,
                           const std::atomic<bool>& stop) {
    auto functions = FunctionWatch::begin(request_, inspector, costs, stop);
    if (!functions) return refuse(functions.error().message);
    FunctionWatch& watched = **functions;
    window_.emplace(window_length_, watched.began_ns());
    if (auto lines = taken_lines()) begin_recording(watched, std::move(lines));
    note(watched);
    const std::string reason = watch(watched, stop);
    take(watched.take(0ms));
    if (auto late = taken_lines(); late && !recorded_) begin_recording(watched, std::move(late));
    end_period(watched, monotonic_ns());
    const std::uint64_t detach_ns = watched.detach();
    end_recording(watched, reason, detach_ns);
    {
        const std::lock_guard lock(mutex_);
        ended_.store(true);
    }
    // A request that came after the last check.
    if (auto late = taken_lines())
        late->end(boost::json::serialize(refusal("its process has exited")));
}

void FunctionRecorder::refuse(const std::string& reason) {
    {
        const std::lock_guard lock(mutex_);
        ended_.store(true);
    }
    if (auto lines = taken_lines()) lines->end(boost::json::serialize(refusal(reason)));
    if (!over_.load()) on_refused_(reason);
}

// Returns the reason for the end.
std::string FunctionRecorder::watch(FunctionWatch& functions, const std::atomic<bool>& stop) {
    for (;;) {
        const bool idle = window_length_.count() != 0 && !recorded_;
        if (idle) std::this_thread::sleep_for(standing_pause);
        take(functions.look(idle ? 0ms : FunctionWatch::call_wait));
        if (auto lines = taken_lines(); lines && !recorded_)
            begin_recording(functions, std::move(lines));
        const std::uint64_t now_ns = monotonic_ns();
        if (now_ns - window_->period_ns() >= period_ns) end_period(functions, now_ns);
        note(functions);
        if (stop.load()) return "lagtrapd is stopping";
        if (over_.load()) return "stopped";
        if (functions.process().has_ended()) return "the process exited";
        if (!recorded_ || !recorded_->answer->is_unwanted()) continue;
        if (window_length_.count() == 0) return "stopped";
        end_period(functions, now_ns);
        end_recording(functions, "stopped", 0);
    }
}

void FunctionRecorder::take(FunctionWatch::Seen seen) {
    if (recorded_) recorded_->lines.send(seen);
    detached_.insert(detached_.end(), seen.detached.begin(), seen.detached.end());
    if (window_length_.count() != 0) window_->add(std::move(seen.calls));
}

void FunctionRecorder::end_period(FunctionWatch& functions, std::uint64_t now_ns) {
    std::vector<calls::FunctionTotals> totals = functions.take_totals();
    if (recorded_) recorded_->sums.add(totals);
    window_->end_period(now_ns, std::move(totals));
}

std::shared_ptr<AnswerLines> FunctionRecorder::taken_lines() {
    const std::lock_guard lock(mutex_);
    return std::exchange(wanted_, nullptr);
}

// Ends a period, so that totals and calls begin at the same time.
void FunctionRecorder::begin_recording(FunctionWatch& functions,
                                       std::shared_ptr<AnswerLines> lines) {
    end_period(functions, monotonic_ns());
    AnswerLines& answer = *lines;
    const bool standing = window_length_.count() != 0;
    recorded_.emplace(Recorded{std::move(lines), FunctionLines(answer), window_->sums(),
                               functions.so_far(), window_->from_ns(), window_->dropped()});
    calls::FunctionsStarted started = functions.started();
    started.window_ns = static_cast<std::uint64_t>(window_length_.count());
    started.from_ns = recorded_->from_ns;
    recorded_->lines.begin(started);
    recorded_->lines.send(detached_);
    if (standing) recorded_->lines.send(window_->calls());
}

void FunctionRecorder::end_recording(FunctionWatch& functions, const std::string& reason,
                                     std::uint64_t detach_ns) {
    if (!recorded_) return;
    calls::FunctionsEnded ended = functions.so_far();
    ended.reason = reason;
    ended.length_ns = monotonic_ns() - recorded_->from_ns;
    ended.not_sent += recorded_->dropped - recorded_->before.not_sent;
    ended.too_deep -= recorded_->before.too_deep;
    ended.detach_ns = detach_ns;
    ended.totals = recorded_->sums.all();
    recorded_->lines.end(std::move(ended));
    recorded_.reset();
}

bool FunctionRecorder::record(const std::shared_ptr<AnswerLines>& lines) {
    const std::lock_guard lock(mutex_);
    if (ended_.load() || over_.load() || wanted_ || status_.recording) return false;
    wanted_ = lines;
    status_.recording = true;
    return true;
}

FunctionRecorderStatus FunctionRecorder::status() const {
    const std::lock_guard lock(mutex_);
    return status_;
}

void FunctionRecorder::note(const FunctionWatch& functions) {
    const std::lock_guard lock(mutex_);
    status_.process = functions.started().process;
    status_.watched = functions.started().functions.size();
    status_.detached = detached_.size();
    status_.kept_calls = window_->kept();
    status_.budget = functions.budget();
    status_.min_ns = functions.min_ns();
    status_.recording = recorded_.has_value() || wanted_ != nullptr;
}

}  // namespace lagtrap::daemon
