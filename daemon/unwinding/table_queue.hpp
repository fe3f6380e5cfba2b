// Whose table is made next: users take turns, so that one with many files, or with files that take long, does not keep those of
// others waiting. Programs that are watched come first, of each user.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "daemon/unwinding/code_module.hpp"

namespace lagtrap::daemon {

// Only decides: no clock. Not for several threads at once.
class TableQueue {
  public:
    using Clock = std::chrono::steady_clock;
    // More than this in the last seconds is much: one thread is kept free of users who had it.
    static constexpr std::chrono::milliseconds much_time{1'000};
    static constexpr std::chrono::seconds half_life{10};  // of what a user had

    // `threads` make tables at once.
    explicit TableQueue(std::size_t threads) : threads_(threads) {}

    void add(TableJob job);
    // The job of the user who had least, of whom none is being made; done() is told when it is. nullopt: there is none that
    // may be made now.
    [[nodiscard]] std::optional<TableJob> next(Clock::time_point now);
    void done(std::uint32_t user, Clock::duration took, Clock::time_point now);

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool had_much(std::uint32_t user, Clock::time_point now) const;

  private:
    struct Turn {
        std::deque<TableJob> watched, others;
        bool at_work = false;
        Clock::duration had{};
        Clock::time_point counted_at;
        [[nodiscard]] bool empty() const { return watched.empty() && others.empty(); }
    };
    [[nodiscard]] static Clock::duration had_by(const Turn& turn, Clock::time_point now);
    void forget_idle(Clock::time_point now);

    const std::size_t threads_;
    std::size_t size_ = 0;
    std::map<std::uint32_t, Turn> turns_;  // by user
};

}  // namespace lagtrap::daemon
