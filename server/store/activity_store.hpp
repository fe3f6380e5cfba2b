// The runs and delays of each event over time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/activity.hpp"
#include "server/store/sight.hpp"

namespace lagtrap::server {

class Connection;
class SqlSession;
struct NumberedFilter;

// Shows only what is visible. The rules of Store apply.
class ActivityStore {
  public:
    ActivityStore(SqlSession& session, Visibility visibility)
        : session_(&session), visibility_(std::move(visibility)) {}

    // Visits the events with runs or delays in the filter's time, by name; stops with the error
    // that `take` returns. Reads one row for each event, unit, build, kind of start and mark, and
    // the newest activity_delays_limit delays of each event. With a host, user or process in the
    // filter it reads all runs of the time instead.
    [[nodiscard]] Status visit(const ActivityQuestion& question,
                               const std::function<Status(EventActivity&&)>& take) const;

  private:
    // The filter's events, or all events whose name contains `search`; by name.
    [[nodiscard]] Result<std::vector<std::string>> event_names(const Filter& filter,
                                                               const std::string& search) const;
    [[nodiscard]] Status add_run_activity(Connection& connection, const NumberedFilter& numbered,
                                          const ActivityQuestion& question,
                                          EventActivity& activity) const;
    // Where units and hours of an activity begin; UINT64_MAX: there are none.
    struct UnitBegins {
        std::uint64_t units_ns = 0, hours_ns = 0;
    };
    [[nodiscard]] Status add_run_units(Connection& connection, const NumberedFilter& numbered,
                                       ActivityUnit unit, const UnitBegins& begins,
                                       EventActivity& activity) const;
    [[nodiscard]] Status add_first_runs(Connection& connection, const NumberedFilter& numbered,
                                        std::uint64_t from_ns, EventActivity& activity) const;
    [[nodiscard]] Status add_bundle_activity(Connection& connection, const NumberedFilter& numbered,
                                             const ActivityQuestion& question,
                                             EventActivity& activity) const;
    [[nodiscard]] static Status count_hosts_of_event(Connection& connection,
                                                     const NumberedFilter& numbered,
                                                     std::uint64_t from_ns,
                                                     EventActivity& activity);

    SqlSession* session_;
    Visibility visibility_;
};

}  // namespace lagtrap::server
