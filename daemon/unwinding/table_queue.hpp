// Decides whose table is made next. Users take turns, so that a user with many or slow files does
// not delay others. Each user's watched programs come first.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "daemon/unwinding/code_module.hpp"

namespace lagtrap::daemon {

// Makes decisions only, without a clock. Not thread-safe.
class TableQueue {
  public:
    using Clock = std::chrono::steady_clock;
    // Recent time above this counts as much. One thread is reserved for users below it.
    static constexpr std::chrono::milliseconds much_time{1'000};
    static constexpr std::chrono::seconds half_life{10};  // for the time that a user has used

    // `threads` is the number of tables made in parallel.
    explicit TableQueue(std::size_t threads) : threads_(threads) {}

    void add(TableJob job);
    // A job of the user who has used least time, among users with no job in progress; users with
    // watched programs waiting come first. Call done() when it is finished. nullopt if no job may
    // start now.
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
