// Lists and sums up delays in bundles, and reads their profiles.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/filter.hpp"
#include "server/store/run_store.hpp"
#include "server/store/sight.hpp"
#include "server/store/summary_store.hpp"

namespace lagtrap::server {

class Connection;
class SqlSession;

// What a program published about a request, such as its tenant.
struct EdgeAttribute {
    std::string name, value;
    bool operator==(const EdgeAttribute&) const = default;
};
// Per request of an edge; OpenTelemetry's thread contexts have fewer.
inline constexpr std::size_t edge_attributes_limit = 8;

// Another request that held a delayed one up.
struct DelayEdge {
    std::string event;          // of that request; empty if it was in no run
    std::string route;          // of that request; empty if unknown
    std::string delayed_route;  // of the delayed request; empty if unknown
    std::string unit, process, thread;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint64_t key = 0;
    std::string trace_id;  // as BundleDelay has it
    std::string how;       // what it had, as analysis::HeldBy is written
    std::string place;     // the function it was in; empty if unknown
    std::uint64_t lost_ns = 0;
    // At most edge_attributes_limit each.
    std::vector<EdgeAttribute> attributes;          // of that request
    std::vector<EdgeAttribute> delayed_attributes;  // of the delayed request
};

// A delay of a bundle or a normal run in it, and where its time went.
struct BundleDelay {
    std::uint32_t number = 0;  // of the delay in its bundle, from 1; 0 for a normal run
    bool delayed = true;       // false: a normal run, kept only for its profile
    std::string event;
    std::uint64_t begin_realtime_ns = 0;
    std::uint64_t duration_ns = 0;
    std::uint64_t threshold_ns = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;  // in which it began
    std::string process, thread, user, build, unit;
    // of the program's package; empty: unknown. Not stored with the delay.
    std::string program_version;
    // of the request, 32 lower-case hexadecimal digits; empty if unknown
    std::string trace_id;
    trace::StartKind start = trace::StartKind::Unknown;
    std::string profile;  // opaque to the store, at most profile_limit_bytes; may be empty
    std::string details;  // the same limits; JSON of the server with what a page shows of the delay
    std::vector<DelayEdge> edges;  // written only; EdgeStore reads them
};

inline constexpr std::size_t profile_limit_bytes = 1 << 20;
// A delay as stored.
struct StoredDelay {
    std::string bundle;
    std::string host;
    std::optional<std::uint64_t> run;  // its run, if it was recorded
    BundleDelay delay;
};

struct DelayPage {
    std::vector<StoredDelay> delays;  // without profiles
    std::optional<PageKey> next;
};

// Delays of one host, build or unit.
struct DelayCount {
    std::string name;
    std::uint64_t delays = 0;
    std::uint64_t longest_ns = 0;
};

struct DelaySummary {
    Summary summary;  // delays only: all runs in it are delays
    // the newest; if fewer than `delays`, the members below cover only these
    std::uint64_t delays_read = 0;
    std::uint64_t delays = 0;
    std::uint64_t threshold_ns = 0;                // of the newest
    std::vector<DelayCount> hosts, builds, units;  // most delays first, at most 1,000
};

// Recorded delays whose causes were searched, and how many of them have a cause.
struct SearchedDelays {
    std::uint64_t delays = 0;
    std::map<std::uint64_t, std::uint64_t> of_cause;  // by id; of a cause with its parts
};

// Shows only what is visible. The rules of Store apply.
class DelayStore {
  public:
    DelayStore(SqlSession& session, Visibility visibility)
        : session_(&session), visibility_(std::move(visibility)) {}

    // The delays of a bundle by number, without its normal runs.
    [[nodiscard]] Result<std::vector<StoredDelay>> of_bundle(const std::string& digest) const;
    // One of them.
    [[nodiscard]] Result<std::optional<StoredDelay>> find_delay(const std::string& digest,
                                                                std::uint32_t number) const;
    // A page of a bundle's delays, or of all bundles' delays if `digest` is empty. Includes delays
    // whose runs are hidden.
    [[nodiscard]] Result<DelayPage> list_delays(const Filter& filter, const std::string& digest,
                                                RunOrder order, std::uint32_t limit,
                                                std::optional<PageKey> after) const;
    // The newest delays of a distributed trace, without profiles. `trace_id` as in BundleDelay.
    [[nodiscard]] Result<std::vector<StoredDelay>> of_trace(const std::string& trace_id,
                                                            std::uint32_t limit) const;
    // Summarises delays in bundles, whether or not their runs were recorded. Needs Filter::event.
    [[nodiscard]] Result<DelaySummary> summarise_delays(const Filter& filter) const;
    // Visits delays (or normal runs) of all bundles that have a profile, newest first, until `take`
    // returns false or `limit` is reached. Skips hidden runs unless with_dirty is set.
    [[nodiscard]] Status profiles(const Filter& filter, bool delayed, std::uint32_t limit,
                                  const std::function<bool(StoredDelay&&)>& take) const;
    // Needs Filter::event.
    [[nodiscard]] Result<SearchedDelays> searched_delays(const Filter& filter) const;
    // How many of them there are, by the begin of the day (UTC). Needs Filter::event.
    [[nodiscard]] Result<std::map<std::uint64_t, std::uint64_t>> searched_by_day(
        const Filter& filter) const;

  private:
    [[nodiscard]] Result<std::vector<DelayCount>> name_counts(
        Connection& connection, const std::map<std::uint32_t, DelayCount>& counts) const;

    SqlSession* session_;
    Visibility visibility_;
};

}  // namespace lagtrap::server
