// Stores the causes of delays and their status: new, known, resolved or regressed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/filter.hpp"

namespace lagtrap::server {

// The values are stored in the database and must never change.
enum class CauseStatus : std::uint8_t { New = 0, Known = 1, Resolved = 2, Regressed = 3 };

// A delay that has a cause.
struct CauseSighting {
    std::string bundle;  // digest; empty if the bundle is gone
    std::uint32_t delay = 0;
    std::string host, build;
    std::uint64_t begin_realtime_ns = 0;
    std::uint64_t excess_ns = 0;
};

// A cause as the search over recordings finds it.
struct SightedCause {
    std::string signature;
    std::string title, state, reason;
    std::string frames;  // opaque to the store, at most 64 KiB
    std::vector<CauseSighting> delays;
};

struct CauseRecord {
    std::uint64_t id = 0;
    std::uint64_t root = 0;  // the cause it was merged into; its own id if none
    std::string event, signature, title, state, reason, frames;
    std::uint64_t first_realtime_ns = 0,
                  last_realtime_ns = 0;  // begins of the first and last delay, without its parts'
    std::uint64_t noticed_realtime_ns = 0;
    CauseStatus status = CauseStatus::New;
    std::uint64_t resolved_realtime_ns = 0;  // 0: never resolved
    std::string resolved_build;              // empty: in every build
    std::uint64_t regressed_realtime_ns = 0;
    std::string owner, note, link;
    std::string changed_by;  // account; empty: never changed by a person
    std::uint64_t changed_realtime_ns = 0;
    std::uint64_t delays = 0, hosts = 0;  // without those of its parts
};

struct CauseCount {
    std::string name;
    std::uint64_t delays = 0;
    std::uint64_t first_realtime_ns = 0, last_realtime_ns = 0;
};

struct CauseDay {
    std::uint64_t from_ns = 0;  // UTC
    std::uint64_t delays = 0;
};

// A cause with its parts.
struct CauseLife {
    CauseRecord cause;
    std::vector<CauseRecord> parts;
    std::uint64_t delays = 0;
    std::vector<CauseCount> hosts, builds;  // most delays first, builds newest first; at most 1,000
    std::vector<CauseDay> days;             // those with delays, in order
    std::vector<CauseSighting> sightings;   // the newest 200
};

// A person's decisions; members that are not set stay as they are.
struct CauseChange {
    std::optional<CauseStatus> status;  // Known or Resolved; New and Regressed cannot be set
    std::string resolved_build;         // with Resolved
    std::optional<std::string> owner, note, link;
    std::optional<std::uint64_t> root;  // makes it a part of that cause; 0: a cause of its own again
    std::string by;
    std::uint64_t at_realtime_ns = 0;
};

// A new or returned cause found by note_causes().
struct CauseNews {
    std::uint64_t id = 0;
    CauseStatus status = CauseStatus::New;  // New or Regressed
};

// The number of an event's causes with a status, without causes that are parts of others.
struct CauseTotal {
    std::string event;
    CauseStatus status = CauseStatus::New;
    std::uint64_t causes = 0;
};

// Recorded delays whose causes were searched, and how many of them have a cause.
struct SearchedDelays {
    std::uint64_t delays = 0;
    std::map<std::uint64_t, std::uint64_t> of_cause;  // by id; of a cause with its parts
};

// The rules of RunStore apply.
class CauseStore {
  public:
    CauseStore() = default;
    CauseStore(const CauseStore&) = delete;
    CauseStore& operator=(const CauseStore&) = delete;
    virtual ~CauseStore() = default;

    // Records the result of a search over an event. An unknown signature is a new cause, unless at
    // least four fifths of its delays (and at least three) already belong to one other cause that
    // this search did not find under its own signature. Then it becomes a part of that cause: the
    // same cause after the code around it changed. A resolved cause has regressed if it has later
    // delays in the build that resolved it or in a newer build.
    [[nodiscard]] virtual Result<std::vector<CauseNews>> note_causes(const std::string& event,
                                                                     const std::vector<SightedCause>& causes,
                                                                     std::uint64_t now_realtime_ns) = 0;
    // Of one event or of all, including parts; most recently found first, at most `limit`.
    [[nodiscard]] virtual Result<std::vector<CauseRecord>> causes(const std::optional<std::string>& event,
                                                                  std::uint32_t limit) = 0;
    // By event; at most `limit`.
    [[nodiscard]] virtual Result<std::vector<CauseTotal>> cause_totals(std::uint32_t limit) = 0;
    // Needs Filter::event.
    [[nodiscard]] virtual Result<SearchedDelays> searched_delays(const Filter& filter) = 0;
    [[nodiscard]] virtual Result<std::optional<CauseLife>> find_cause(std::uint64_t id) = 0;
    // False if there is no such cause. ErrorKind::Invalid for a root that does not exist or is of
    // another event.
    [[nodiscard]] virtual Result<bool> change_cause(std::uint64_t id, const CauseChange& change) = 0;
};

}  // namespace lagtrap::server
