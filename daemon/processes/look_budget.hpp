// How much time may go into looking at what processes have mapped, by party (core/party.hpp): who maps a great many pieces of
// code, in however many processes, is looked at less often, and others as before.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "core/party.hpp"

namespace lagtrap::daemon {

// A leaky bucket for each user and one for all: a look fills them by its time, they drain at their share of the time that
// passes, and while one is full nobody it is about is looked at. From any thread.
class LookBudget {
  public:
    using Clock = std::chrono::steady_clock;
    // One part in so many of a CPU; and what may be used at once.
    static constexpr int part_of_user = 50, part_of_all = 10;
    static constexpr std::chrono::milliseconds burst_of_user{250}, burst_of_all{1'000};

    // Whether a process of the user may be looked at; counted where not.
    [[nodiscard]] bool may_look(Party user, Clock::time_point now);
    // A process of the user is not looked at, as that took long the last time.
    void note_put_off(Party user);
    void charge(Party user, Clock::duration cost, Clock::time_point now);

    struct Limited {
        Party user = 0;
        std::uint64_t looks = 0;
        std::uint64_t put_off = 0;  // times that no look was allowed
    };
    // The users for whom looks were put off.
    [[nodiscard]] std::vector<Limited> limited() const;

  private:
    struct Bucket {
        Clock::duration content{0};
        Clock::time_point drained{};
        void drain(int part, Clock::time_point now);
    };
    struct User {
        Bucket bucket;
        std::uint64_t looks = 0, put_off = 0;
    };
    void make_room(Clock::time_point now);

    mutable std::mutex mutex_;
    Bucket all_;
    std::map<Party, User> users_;
};

}  // namespace lagtrap::daemon
