// Limits the time for reading mappings, by party (core/party.hpp). A user who maps very many pieces
// of code, in any number of processes, is inspected less often; others are not affected.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "core/party.hpp"

namespace lagtrap::daemon {

// A leaky bucket for each user and one for all. An inspection fills them by its duration; they
// drain at their share of elapsed time. While one is full, processes it applies to are not
// inspected. Thread-safe.
class LookBudget {
  public:
    using Clock = std::chrono::steady_clock;
    // The share of a CPU is 1/N. The bursts may be used at once.
    static constexpr int part_of_user = 50, part_of_all = 10;
    static constexpr std::chrono::milliseconds burst_of_user{250}, burst_of_all{1'000};

    // True if a process of the user may be inspected; refusals are counted.
    [[nodiscard]] bool may_look(Party user, Clock::time_point now);
    // Counts that a process of the user is not inspected because it took long the last time.
    void note_put_off(Party user);
    void charge(Party user, Clock::duration cost, Clock::time_point now);

    struct Limited {
        Party user = 0;
        std::uint64_t looks = 0;
        std::uint64_t put_off = 0;  // refused inspections
    };
    // Users with refused inspections.
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
