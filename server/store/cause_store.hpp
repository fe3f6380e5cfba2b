// Stores the causes of delays and their status: new, known, resolved or regressed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/sight.hpp"

namespace lagtrap::server {

class Connection;
class SqlSession;
class Where;
struct NumberedSight;

// The values are stored in the database and must never change.
enum class CauseStatus : std::uint8_t { New = 0, Known = 1, Resolved = 2, Regressed = 3 };

// A delay that has a cause.
struct CauseSighting {
    std::string bundle;  // digest; empty if the bundle is gone
    std::uint32_t delay = 0;
    std::string host, build;
    std::uint64_t begin_realtime_ns = 0;
    std::uint64_t excess_ns = 0;
    std::string holder;  // thread that it waited for; empty if there is none
};

struct CauseRecord {
    std::uint64_t id = 0;
    std::uint64_t root = 0;  // the cause it was merged into; its own id if none
    std::string event, signature, title, state, reason, frames;
    // thread that its delays wait for, such as a lock's holder; empty if there is none
    std::string holder;
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
    // of the delays that have one, most delays first; at most 1,000
    std::vector<CauseCount> holders;
    std::vector<CauseDay> days;            // those with delays, in order
    std::vector<CauseSighting> sightings;  // the newest 200
};

// A person's decisions; members that are not set stay as they are.
struct CauseChange {
    std::optional<CauseStatus> status;  // Known or Resolved; New and Regressed cannot be set
    std::string resolved_build;         // with Resolved
    std::optional<std::string> owner, note, link;
    // makes it a part of that cause; 0: a cause of its own again
    std::optional<std::uint64_t> root;
    std::string by;
    std::uint64_t at_realtime_ns = 0;
};

// The number of an event's causes with a status, without causes that are parts of others.
struct CauseTotal {
    std::string event;
    CauseStatus status = CauseStatus::New;
    std::uint64_t causes = 0;
};

// What a cause with its parts cost in a time.
struct CauseCost {
    std::uint64_t cause = 0;
    std::string event, title;
    std::uint64_t delays = 0;     // recorded ones
    std::uint64_t excess_ns = 0;  // their extra time
};

// Shows only what is visible. The rules of Store apply.
class CauseStore {
  public:
    CauseStore(SqlSession& session, Visibility visibility)
        : session_(&session), visibility_(std::move(visibility)) {}

    // Of one event or of all, including parts; most recently found first, at most `limit`.
    [[nodiscard]] Result<std::vector<CauseRecord>> list(const std::optional<std::string>& event,
                                                        std::uint32_t limit) const;
    // Causes and parts whose title, event, reason, owner or call stack contains each of the words,
    // which are in ASCII lower case; most recently found first, at most `limit`.
    [[nodiscard]] Result<std::vector<CauseRecord>> search(const std::vector<std::string>& words,
                                                          std::uint32_t limit) const;
    // By event, of events that are visible completely; at most `limit`.
    [[nodiscard]] Result<std::vector<CauseTotal>> cause_totals(std::uint32_t limit) const;
    // Of delays that began in a time, of one event or of all; highest extra time first, at most
    // `limit`. Only of events that are visible completely.
    [[nodiscard]] Result<std::vector<CauseCost>> costs(const std::optional<std::string>& event,
                                                       std::uint64_t from_ns, std::uint64_t to_ns,
                                                       std::uint32_t limit) const;
    [[nodiscard]] Result<std::optional<CauseLife>> find_cause(std::uint64_t id) const;
    // False if there is no such cause. ErrorKind::Invalid for a root that does not exist or is of
    // another event.
    [[nodiscard]] Result<bool> change_cause(std::uint64_t id, const CauseChange& change) const;

  private:
    // nullopt: everything is visible.
    [[nodiscard]] Result<std::optional<NumberedSight>> numbered_sight(Connection& connection) const;
    [[nodiscard]] Result<bool> is_visible(std::uint64_t id) const;
    // `sight` may be nullptr.
    [[nodiscard]] Result<std::vector<CauseRecord>> select_causes(Connection& connection,
                                                                 Where where, std::uint32_t limit,
                                                                 const NumberedSight* sight) const;
    [[nodiscard]] Status read_sightings(Connection& connection, CauseLife& life,
                                        const NumberedSight* sight) const;
    [[nodiscard]] Result<std::optional<CauseLife>> read_life(Connection& connection,
                                                             std::uint64_t id,
                                                             const NumberedSight* sight) const;

    SqlSession* session_;
    Visibility visibility_;
};

}  // namespace lagtrap::server
