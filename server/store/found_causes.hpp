// Records the causes that a search over delays finds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/cause_store.hpp"

namespace lagtrap::server {

class SqlSession;

// A cause as the search over recordings finds it.
struct SightedCause {
    std::string signature;
    std::string title, state, reason;
    std::string frames;  // opaque to the store, at most 64 KiB
    std::vector<CauseSighting> delays;
    std::string holder;  // as in CauseRecord
};

// A new or returned cause found by note_causes().
struct CauseNews {
    std::uint64_t id = 0;
    CauseStatus status = CauseStatus::New;  // New or Regressed
};

// The rules of Store apply.
class FoundCauses {
  public:
    explicit FoundCauses(SqlSession& session) : session_(&session) {}

    // Records the result of a search over an event. An unknown signature is a new cause, unless at
    // least four fifths of its delays (and at least three) already belong to one other cause that
    // this search did not find under its own signature. Then it becomes a part of that cause: the
    // same cause after the code around it changed. A resolved cause has regressed if it has later
    // delays in the build that resolved it or in a newer build.
    [[nodiscard]] Result<std::vector<CauseNews>> note_causes(
        const std::string& event, const std::vector<SightedCause>& causes,
        std::uint64_t now_realtime_ns) const;

  private:
    SqlSession* session_;
};

}  // namespace lagtrap::server
