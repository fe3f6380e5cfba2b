// Lists events, and the runs that machines lost.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/filter.hpp"
#include "server/store/sight.hpp"

namespace lagtrap::server {

class Connection;
class SqlSession;
struct NumberedFilter;

struct EventRow {
    std::string event;
    std::uint64_t last_realtime_ns = 0;  // begin of its last run or delay
    std::uint64_t runs = 0;              // weighted, without hidden ones
    std::uint64_t delays = 0;            // of these; without runs, delays in bundles
    std::uint64_t hosts = 0;
    std::uint64_t bundles = 0;
};

struct EventPage {
    std::vector<EventRow> events;
    std::optional<PageKey> next;
};

// Runs that a machine reported only as a number, because it had no room for them or its daemon was
// killed.
struct HostLosses {
    std::string host;
    std::uint64_t runs = 0;
    std::uint64_t last_realtime_ns = 0;  // when the last batch with lost runs arrived
};

struct Losses {
    std::uint64_t runs = 0;         // of all hosts
    std::vector<HostLosses> hosts;  // most runs first, at most 20
};

// Shows only what is visible. The rules of Store apply.
class EventStore {
  public:
    EventStore(SqlSession& session, Visibility visibility)
        : session_(&session), visibility_(std::move(visibility)) {}

    // Events whose name contains `search` (ignoring ASCII case), most recently seen first; at most
    // page_limit.
    [[nodiscard]] Result<EventPage> list(const Filter& filter, const std::string& search,
                                         std::uint32_t limit, std::optional<PageKey> after) const;
    // All events that have runs or delays, in order.
    [[nodiscard]] Result<std::vector<std::string>> names() const;
    // From batches that arrived in the filter's time, from its host. The events of lost runs are
    // unknown.
    [[nodiscard]] Result<Losses> losses(const Filter& filter) const;

  private:
    [[nodiscard]] Status count_bundle_events(Connection& connection, const NumberedFilter& filter,
                                             std::map<std::uint32_t, EventRow>& events) const;
    [[nodiscard]] Status count_hosts(Connection& connection, const NumberedFilter& filter,
                                     std::map<std::uint32_t, EventRow>& events) const;
    [[nodiscard]] Status count_run_events(Connection& connection, const NumberedFilter& filter,
                                          std::map<std::uint32_t, EventRow>& events) const;

    SqlSession* session_;
    Visibility visibility_;
};

}  // namespace lagtrap::server
