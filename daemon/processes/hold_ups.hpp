// Who held up a look into a process (process_inspector.hpp): for a while it is not looked there again, longer each time, so
// that a file system that never answers costs a few processes of ours and not one for each file on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace lagtrap::daemon {

struct HoldUp {
    std::uint32_t pid = 0;
    std::optional<std::uint32_t> user;
    std::optional<std::uint64_t> device;  // a file on it was being opened
};

// Only decides: no clock. Not for several threads at once.
class HoldUps {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds first_pause{10};
    static constexpr std::chrono::seconds longest_pause{600};
    // Root's programs are the machine's: of them the device or the process is avoided, never the user.
    static constexpr std::uint32_t patience_with_user = 3;
    static constexpr std::size_t limit = 256;  // of each kind; the oldest are forgotten

    void note(const HoldUp& hold_up, Clock::time_point now);
    [[nodiscard]] bool avoids_process(std::uint32_t pid, Clock::time_point now) const;
    [[nodiscard]] std::vector<std::uint32_t> avoided_users(Clock::time_point now) const;
    [[nodiscard]] std::vector<std::uint64_t> avoided_devices(Clock::time_point now) const;
    // How often each user's processes did, root's too.
    [[nodiscard]] const std::map<std::uint32_t, std::uint64_t>& by_user() const { return by_user_; }

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

    Pauses<std::uint32_t> processes_, users_;
    Pauses<std::uint64_t> devices_;
    std::map<std::uint32_t, std::uint64_t> by_user_;
};

}  // namespace lagtrap::daemon
