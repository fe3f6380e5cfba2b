// Who held up a look into a process (process_inspector.hpp): for a while it is not looked there again, longer each time, so
// that a file system that never answers costs a few processes of ours and not one for each file on it.
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

// Only decides: no clock. Not for several threads at once.
class HoldUps {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds first_pause{10};
    static constexpr std::chrono::seconds longest_pause{600};
    // Root's programs are the machine's: of them the device or the process is avoided, never the party.
    static constexpr std::uint32_t patience_with_party = 3;
    static constexpr std::size_t limit = 256;  // of each kind; the oldest are forgotten

    void note(const HoldUp& hold_up, Clock::time_point now);
    [[nodiscard]] bool avoids_process(std::uint32_t pid, Clock::time_point now) const;
    [[nodiscard]] std::vector<Party> avoided_parties(Clock::time_point now) const;
    [[nodiscard]] std::vector<std::uint64_t> avoided_devices(Clock::time_point now) const;
    // How often each party's processes did, root's too.
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
    static void prolong(Pauses<Key>& pauses, Key key, std::uint32_t patience, Clock::time_point now);
    template <typename Key>
    static std::vector<Key> avoided(const Pauses<Key>& pauses, Clock::time_point now);

    Pauses<std::uint32_t> processes_;
    Pauses<Party> parties_;
    Pauses<std::uint64_t> devices_;
    std::map<Party, std::uint64_t> by_party_;
};

}  // namespace lagtrap::daemon
