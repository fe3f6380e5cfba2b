#include "daemon/events/goroutine_looks.hpp"

#include <algorithm>

#include "core/clock.hpp"
#include "daemon/processes/inspector_pool.hpp"

namespace lagtrap::daemon {
namespace {

GoroutineLooks* looks_of_process = nullptr;

}  // namespace

void look_at_goroutines_by(GoroutineLooks* looks) { looks_of_process = looks; }

GoroutineLooks* goroutine_looks() { return looks_of_process; }

FrameState known_state(const GoroutineFrame& frame, std::uint64_t begin_ns,
                       GoroutineLooks::Asked asked, GoroutineLooks::Age age) {
    if (frame.number == 0) return FrameState::Alive;
    if (looks_of_process)
        return looks_of_process->state_of(frame, begin_ns, asked, age, monotonic_ns());
    DirectInspector here;
    return asked == GoroutineLooks::Asked::Call ? state_of_frame(frame, here)
                                                : state_of_goroutine(frame, here);
}

GoroutineLooks::GoroutineLooks(ProcessInspector& inspector) : inspector_(inspector) {
    thread_ = std::thread([this] { work(); });
}

GoroutineLooks::~GoroutineLooks() {
    {
        const std::scoped_lock lock(mutex_);
        ending_ = true;
    }
    more_.notify_one();
    thread_.join();
}

FrameState GoroutineLooks::state_of(const GoroutineFrame& frame, std::uint64_t begin_ns,
                                    Asked asked, Age age, std::uint64_t now_ns) {
    const std::scoped_lock lock(mutex_);
    const Question question{frame.pid, frame.goroutine, begin_ns, frame.stack_place};
    if (known_.size() >= limit && !known_.contains(question)) forget_old(now_ns);
    if (known_.size() >= limit && !known_.contains(question)) return FrameState::Unknown;
    Known& known = known_[question];
    known.frame = frame;
    known.asked_ns = now_ns;
    const FrameState state = asked == Asked::Call ? known.call : known.goroutine;
    const bool is_fresh = known.answered_ns != 0 && now_ns < known.answered_ns + fresh_ns;
    if (state == FrameState::Gone || is_fresh) return state;
    if (!known.is_asked) {
        known.is_asked = true;
        questions_.push_back(question);
        more_.notify_one();
    }
    return age == Age::Any ? state : FrameState::Unknown;
}

void GoroutineLooks::forget_old(std::uint64_t now_ns) {
    std::erase_if(known_, [now_ns](const auto& entry) {
        return !entry.second.is_asked && now_ns > entry.second.asked_ns + kept_ns;
    });
}

void GoroutineLooks::tell(const void* who, std::function<void()> reported) {
    const std::scoped_lock lock(reporting_mutex_);
    reported_[who] = std::move(reported);
}

void GoroutineLooks::stop_reporting(const void* who) {
    const std::scoped_lock lock(reporting_mutex_);
    reported_.erase(who);
}

void GoroutineLooks::work() {
    const InspectionsCancelled given_up(ending_);
    std::unique_lock lock(mutex_);
    for (;;) {
        more_.wait(lock, [this] { return ending_ || !questions_.empty(); });
        if (ending_) return;
        const std::vector<Question> questions = std::exchange(questions_, {});
        for (const Question& question : questions) {
            const GoroutineFrame frame = known_[question].frame;
            lock.unlock();
            const FrameState goroutine = state_of_goroutine(frame, inspector_);
            const FrameState call =
                goroutine == FrameState::Alive ? state_of_frame(frame, inspector_) : goroutine;
            lock.lock();
            if (ending_) return;
            Known& known = known_[question];
            known.goroutine = goroutine;
            known.call = call;
            known.answered_ns = monotonic_ns();
            known.is_asked = false;
        }
        lock.unlock();
        {
            const std::scoped_lock telling(reporting_mutex_);
            for (const auto& [who, reported] : reported_) reported();
        }
        lock.lock();
    }
}

}  // namespace lagtrap::daemon
