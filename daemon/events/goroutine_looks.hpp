// Checks goroutines for callers that must not wait: the answer comes later, or never.
#pragma once

#include <atomic>
#include <compare>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/events/goroutine_frame.hpp"

namespace lagtrap::daemon {

// Reads through `inspector`, which must outlive it, on its own thread. All functions are
// thread-safe and do not block.
class GoroutineLooks {
  public:
    // How long an answer is fresh enough to act on. Gone is final.
    static constexpr std::uint64_t fresh_ns = 100'000'000;
    static constexpr std::uint64_t kept_ns = 60'000'000'000;  // after the last question
    // number of answers; beyond it, states stay Unknown
    static constexpr std::size_t limit = 4096;

    explicit GoroutineLooks(ProcessInspector& inspector);
    // Aborts a running check.
    ~GoroutineLooks();
    GoroutineLooks(const GoroutineLooks&) = delete;
    GoroutineLooks& operator=(const GoroutineLooks&) = delete;

    enum class Age { Fresh, Any };
    enum class Asked { Goroutine, Call };
    // State of the run that began at `begin_ns` with this frame. Unknown until there is an answer.
    // Requests a check if there is no fresh answer.
    [[nodiscard]] FrameState state_of(const GoroutineFrame& frame, std::uint64_t begin_ns,
                                      Asked asked, Age age, std::uint64_t now_ns);

    // Calls `told` on this object's thread when answers have arrived, until stop_reporting(). After
    // that returns, it does not run any more. `told` must not call tell() or stop_reporting().
    // `who` identifies the event monitor.
    void tell(const void* who, std::function<void()> reported);
    void stop_reporting(const void* who);

  private:
    struct Question {
        std::uint32_t pid = 0;
        std::uint64_t goroutine = 0, begin_ns = 0, stack_place = 0;
        auto operator<=>(const Question&) const = default;
    };
    struct Known {
        GoroutineFrame frame;
        FrameState goroutine = FrameState::Unknown, call = FrameState::Unknown;
        std::uint64_t answered_ns = 0;  // 0 if there is no answer yet
        std::uint64_t asked_ns = 0;
        bool is_asked = false;  // and not answered yet
    };
    void work();
    void forget_old(std::uint64_t now_ns);

    ProcessInspector& inspector_;
    std::atomic<bool> ending_{false};
    std::mutex mutex_;  // protects the following members
    std::condition_variable more_;
    std::map<Question, Known> known_;
    std::vector<Question> questions_;
    std::mutex reporting_mutex_;
    std::map<const void*, std::function<void()>> reported_;
    std::thread thread_;
};

// Sets the object that checks goroutines for this process. nullptr (the default) lets the caller
// check directly, which only tests may do. It must outlive its use. Call it before threads start.
void look_at_goroutines_by(GoroutineLooks* looks);
[[nodiscard]] GoroutineLooks* goroutine_looks();

// GoroutineLooks::state_of() for the current time, by the object set for this process.
[[nodiscard]] FrameState known_state(const GoroutineFrame& frame, std::uint64_t begin_ns,
                                     GoroutineLooks::Asked asked, GoroutineLooks::Age age);

}  // namespace lagtrap::daemon
