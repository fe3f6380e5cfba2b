// What became of merges.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "trace/logs/awaited_file.hpp"

namespace lagtrap::daemon {

struct MergeCounts {
    std::uint64_t done = 0;
    std::uint64_t failed = 0;         // attempts; the capture waits for the next one
    std::uint64_t over_limit = 0;     // part of `failed`: took too long
    std::uint64_t without_names = 0;  // part of `done`: a merge with names had taken too long
    std::uint64_t waiting = 0;        // now
    std::uint64_t set_aside = 0;      // now; not retried, because no merge of them ends
    std::uint64_t removed = 0;        // waiting captures beyond the spool's limits
};

struct LastBundle {
    std::string path;
    std::string digest;
    std::string session;
    std::string event;
};

// The file that the last merge over its time limit was waiting for.
struct HeldUp {
    std::string session;
    trace::AwaitedFile file;
};

class MergeOutcomes {
  public:
    void merged(LastBundle bundle, bool with_names) {
        ++counts_.done;
        if (!with_names) ++counts_.without_names;
        failed_in_row_ = 0;
        last_bundle_ = std::move(bundle);
    }
    // The capture waits for the next attempt. Returns the pause before it: 1, 4, 16 ... 1,024 times
    // the first one.
    [[nodiscard]] std::chrono::milliseconds failed(std::chrono::milliseconds first_pause,
                                                   std::chrono::milliseconds max_pause) {
        ++counts_.failed;
        ++counts_.waiting;
        const auto pause = pause_after_failure(first_pause, max_pause);
        ++failed_in_row_;
        return pause;
    }
    // nullopt: it waited for no file that is known.
    void took_too_long(std::optional<HeldUp> held_up) {
        ++counts_.failed;
        ++counts_.over_limit;
        if (held_up) held_up_ = std::move(held_up);
    }
    void set_aside() { ++counts_.set_aside; }
    void waits() { ++counts_.waiting; }
    void removed() { ++counts_.removed; }
    // Captures that wait or are set aside will be counted again.
    void count_again() { counts_.waiting = counts_.set_aside = 0; }

    [[nodiscard]] const MergeCounts& counts() const { return counts_; }
    [[nodiscard]] const std::optional<LastBundle>& last_bundle() const { return last_bundle_; }
    [[nodiscard]] const std::optional<HeldUp>& held_up() const { return held_up_; }
    // Before the next attempt, if a merge fails now.
    [[nodiscard]] std::chrono::milliseconds pause_after_failure(
        std::chrono::milliseconds first_pause, std::chrono::milliseconds max_pause) const {
        const std::uint64_t failures = std::min<std::uint64_t>(failed_in_row_, 5);
        return std::min(first_pause * (1 << (2 * failures)), max_pause);
    }

  private:
    MergeCounts counts_;
    std::uint64_t failed_in_row_ = 0;
    std::optional<LastBundle> last_bundle_;
    std::optional<HeldUp> held_up_;
};

}  // namespace lagtrap::daemon
