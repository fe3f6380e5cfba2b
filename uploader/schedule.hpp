// Which bundle or batch to try next, and when. No clock of its own, no network, no files.
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
        std::optional<std::string> name;  // to be tried now
        std::optional<TimePoint> wake;    // otherwise: when one will be due; nothing if there is none
    };

    // `names` in the order in which they are to be sent; names that are no longer there are forgotten. Bundles and
    // batches that are due take turns, so that neither waits for all of the others; of each kind the one that failed
    // least comes first, so that one at which a connection always breaks does not keep the others back.
    [[nodiscard]] Choice choose(const std::vector<std::string>& names, TimePoint now);

    // A failure that concerns all entries holds all of them back; `random` lies in [0, 1). Returns how long nothing
    // will be tried that the failure concerns.
    std::chrono::milliseconds note_failure(const std::string& name, long status,
                                           std::optional<std::chrono::seconds> retry_after, TimePoint now,
                                           double random);
    void note_success(const std::string& name);

  private:
    [[nodiscard]] static spool::EntryKind kind_of(const std::string& name);
    [[nodiscard]] std::uint32_t failures_of(const std::string& name) const;

    struct State {
        AttemptHistory history;
        double random = 0;
        [[nodiscard]] TimePoint due(TimePoint now) const { return next_attempt(now, history, random); }
        void note(TimePoint now, std::optional<std::chrono::seconds> retry_after, double share);
    };
    State server_;
    std::map<std::string, State> entries_;
    spool::EntryKind last_kind_ = spool::EntryKind::Batch;
};

}  // namespace lagtrap::uploader
