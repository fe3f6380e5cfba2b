// Whether goroutines still are where they were, asked for by who may not wait: the answer comes later, or never.
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

// Looks by `inspector`, which outlives it, on a thread of its own; the other functions are for any thread, and wait for
// nothing.
class GoroutineLooks {
  public:
    // An answer is believed for so long by who acts on it at once; that a frame is gone is true for ever.
    static constexpr std::uint64_t fresh_ns = 100'000'000;
    static constexpr std::uint64_t kept_ns = 60'000'000'000;  // since somebody asked
    static constexpr std::size_t limit = 4096;                // of answers; what is more stays unknown

    explicit GoroutineLooks(ProcessInspector& inspector);
    // Ends a look that is being made.
    ~GoroutineLooks();
    GoroutineLooks(const GoroutineLooks&) = delete;
    GoroutineLooks& operator=(const GoroutineLooks&) = delete;

    enum class Age { Fresh, Any };
    enum class Asked { Goroutine, Call };
    // Of the run that began at `begin_ns` and has this frame. Unknown until there is an answer; asks for one where there is
    // none that is fresh.
    [[nodiscard]] FrameState state_of(const GoroutineFrame& frame, std::uint64_t begin_ns, Asked asked, Age age,
                                      std::uint64_t now_ns);

    // `told` is called, on the looks' thread, when answers have come, until stop_telling(), after which it does not run. It
    // must not call this. `who` tells listeners apart.
    void tell(const void* who, std::function<void()> told);
    void stop_telling(const void* who);

  private:
    struct Question {
        std::uint32_t pid = 0;
        std::uint64_t goroutine = 0, begin_ns = 0, stack_place = 0;
        auto operator<=>(const Question&) const = default;
    };
    struct Known {
        GoroutineFrame frame;
        FrameState goroutine = FrameState::Unknown, call = FrameState::Unknown;
        std::uint64_t answered_ns = 0;  // 0: not yet
        std::uint64_t asked_ns = 0;
        bool is_asked = false;  // and not yet answered
    };
    void work();
    void forget_old(std::uint64_t now_ns);

    ProcessInspector& inspector_;
    std::atomic<bool> ending_{false};
    std::mutex mutex_;  // over what follows
    std::condition_variable more_;
    std::map<Question, Known> known_;
    std::vector<Question> questions_;
    std::mutex telling_mutex_;
    std::map<const void*, std::function<void()>> told_;
    std::thread thread_;
};

// Who looks at goroutines for this process; nullptr: the one who asks does, which only a test may. It outlives its use; to be
// set before there are threads.
void look_at_goroutines_by(GoroutineLooks* looks);
[[nodiscard]] GoroutineLooks* goroutine_looks();

// As GoroutineLooks::state_of() now, by whoever looks for this process.
[[nodiscard]] FrameState known_state(const GoroutineFrame& frame, std::uint64_t begin_ns, GoroutineLooks::Asked asked,
                                     GoroutineLooks::Age age);

}  // namespace lagtrap::daemon
