// Decides which bundle or batch to try next, and when. Uses no clock, network or files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spool/retention.hpp"
#include "uploader/retry_policy.hpp"

namespace lagtrap::uploader {

class Schedule {
  public:
    struct Choice {
        std::optional<std::string> name;  // to try now
        // otherwise, when the next one is due; nullopt if there is none
        std::optional<TimePoint> wake;
    };

    // `names` are in sending order; names no longer listed are forgotten. Bundles and batches that
    // are due alternate, so that neither kind waits for all of the other. Within a kind, the one
    // with the fewest failures comes first, so that an entry that always breaks the connection does
    // not block the rest.
    [[nodiscard]] Choice choose(const std::vector<std::string>& names, TimePoint now);

    // A failure that concerns all entries delays all of them; `random` is in [0, 1). Returns how
    // long the entries it concerns will wait.
    std::chrono::milliseconds note_failure(const std::string& name, long status,
                                           std::optional<std::chrono::seconds> retry_after,
                                           TimePoint now, double random);
    // Clears the failures of this entry and of the server.
    void note_success(const std::string& name);

  private:
    [[nodiscard]] static spool::EntryKind kind_of(const std::string& name);
    [[nodiscard]] std::uint32_t failures_of(const std::string& name) const;

    struct State {
        AttemptHistory history;
        double random = 0;
        [[nodiscard]] TimePoint due(TimePoint now) const {
            return next_attempt(now, history, random);
        }
        void note(TimePoint now, std::optional<std::chrono::seconds> retry_after, double share);
    };
    State server_;
    std::map<std::string, State> entries_;
    spool::EntryKind last_kind_ = spool::EntryKind::Batch;
};

}  // namespace lagtrap::uploader
