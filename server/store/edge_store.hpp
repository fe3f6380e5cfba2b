// Which requests held up which others, from the delays in bundles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/delay_store.hpp"
#include "server/store/filter.hpp"
#include "server/store/sight.hpp"

namespace lagtrap::server {

class Connection;
class SqlSession;

// What distinguishes requests besides event and route.
struct EdgeSplit {
    enum class By : std::uint8_t { Nothing, Unit, Host, Attribute };
    By by = By::Nothing;
    std::string attribute;  // its name
};

// Requests are alike if they have the same event, route, and part of the split.
struct RequestKind {
    std::string event;  // empty if they were in no run
    std::string route;  // empty if unknown
    std::string part;   // unit, host or value of the attribute; empty if unknown, or not split
    auto operator<=>(const RequestKind&) const = default;
};

// One delay that another request caused.
struct StoredEdge {
    std::string bundle;        // digest
    std::uint32_t number = 0;  // of the delay in its bundle
    std::string host;
    std::uint64_t begin_realtime_ns = 0;  // of the delay
    RequestKind delayed;
    std::string delayed_unit;
    DelayEdge edge;
};

struct EdgeDay {
    std::uint64_t from_ns = 0;  // UTC
    std::uint64_t delays = 0;
    std::uint64_t lost_ns = 0;
};

// All delays of one kind of request by another kind.
struct EdgeGroup {
    RequestKind culprit, delayed;
    std::uint64_t delays = 0;
    std::uint64_t lost_ns = 0;
    std::uint64_t longest_ns = 0;      // lost in one delay
    std::string how;                   // of the longest
    std::vector<EdgeDay> days;         // those with delays, in order
    std::vector<StoredEdge> examples;  // most time lost first
};

struct EdgeSummary {
    std::vector<EdgeGroup> groups;  // most time lost first
    std::uint64_t groups_left_out = 0;
    // the newest; if fewer than `edges`, the groups cover only these
    std::uint64_t edges_read = 0;
    std::uint64_t edges = 0;
    // Names that the requests of the edges read have; sorted, at most attribute_names_limit.
    std::vector<std::string> attributes;
};
inline constexpr std::size_t attribute_names_limit = 20;

struct EdgeQuestion {
    Filter filter;        // for the delayed requests
    std::string culprit;  // only edges from requests of that event; empty: all
    EdgeSplit split;
    std::uint32_t max_groups = 0;
};

// Shows only edges of which both requests are visible. The rules of Store apply.
class EdgeStore {
  public:
    EdgeStore(SqlSession& session, Visibility visibility)
        : session_(&session), visibility_(std::move(visibility)) {}

    [[nodiscard]] Result<EdgeSummary> summarise(const EdgeQuestion& question) const;
    // Whether there is any.
    [[nodiscard]] Result<bool> has_edges() const;

  private:
    SqlSession* session_;
    Visibility visibility_;
};

}  // namespace lagtrap::server
