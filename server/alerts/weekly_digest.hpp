// The weekly digest: what got worse in a week, which causes are new or resolved, and which cost
// most.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/alerts/conditions.hpp"
#include "server/alerts/rule.hpp"
#include "server/reports/event_trend.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// From a Monday to the next, at midnight UTC.
struct Week {
    std::uint64_t from_ns = 0, to_ns = 0;

    // "week 2026-11-23": one digest for each.
    [[nodiscard]] std::string subject() const;
};

// The last week that is over.
[[nodiscard]] Week last_week(std::uint64_t now_ns);

struct WeekReport {
    std::vector<reports::EventTrend> trends;  // of the week, judged together
    std::vector<CauseRecord> causes;          // all that are known
    std::vector<CauseCost> costs;             // of the week, highest first
};

// The digest as one finding. It lists at most four entries of each kind, and counts all.
[[nodiscard]] Finding digest_of(const Week& week, const WeekReport& report);

// The digest of the last week; none if the rule is newer than the end of that week.
[[nodiscard]] Result<std::vector<Finding>> look_at_week(Store& store, const Rule& rule,
                                                        std::uint64_t since_ns,
                                                        std::uint64_t now_ns);

}  // namespace lagtrap::server
