// Remembers the processes, parties and devices that made inspections (process_inspector.hpp) exceed
// their deadline. They are avoided for a while, longer each time, so that a file system that never
// answers costs a few helpers, not one for each file on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/party.hpp"

namespace lagtrap::daemon {

struct HoldUp {
    std::uint32_t pid = 0;
    std::optional<Party> party;
    std::optional<std::uint64_t> device;  // a file on it was being opened
};

// Makes decisions only, without a clock. Not thread-safe.
class HoldUps {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds first_pause{10};
    static constexpr std::chrono::seconds max_pause{600};
    // Root's programs belong to the machine: the device or the process is avoided, but never the
    // party.
    static constexpr std::uint32_t party_timeout = 3;
    static constexpr std::size_t limit = 256;  // for each kind; the oldest are dropped

    void note(const HoldUp& hold_up, Clock::time_point now);
    [[nodiscard]] bool avoids_process(std::uint32_t pid, Clock::time_point now) const;
    [[nodiscard]] std::vector<Party> avoided_parties(Clock::time_point now) const;
    [[nodiscard]] std::vector<std::uint64_t> avoided_devices(Clock::time_point now) const;
    // How often processes of each party exceeded the deadline, including root's.
    [[nodiscard]] const std::map<Party, std::uint64_t>& by_party() const { return by_party_; }

  private:
    struct Pause {
        Clock::time_point until;
        Clock::duration length{};
        std::uint32_t times = 0;
    };
    template <typename Key>
    using Pauses = std::map<Key, Pause>;
    template <typename Key>
    static void prolong(Pauses<Key>& pauses, Key key, std::uint32_t timeout, Clock::time_point now);
    template <typename Key>
    static std::vector<Key> avoided(const Pauses<Key>& pauses, Clock::time_point now);

    Pauses<std::uint32_t> processes_;
    Pauses<Party> parties_;
    Pauses<std::uint64_t> devices_;
    std::map<Party, std::uint64_t> by_party_;
};

}  // namespace lagtrap::daemon
