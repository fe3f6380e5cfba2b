// What the filters of pages offer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/filter.hpp"
#include "server/store/sight.hpp"

namespace lagtrap::server {

class SqlSession;

struct Choices {
    std::vector<std::string> hosts, users, builds, processes, units;  // sorted; at most 10,000 each
    // first begin, last begin + 1; 0, 0 without runs
    std::uint64_t from_realtime_ns = 0, to_realtime_ns = 0;
};

// Shows only what is visible. The rules of Store apply.
class ChoiceStore {
  public:
    ChoiceStore(SqlSession& session, Visibility visibility)
        : session_(&session), visibility_(std::move(visibility)) {}

    // Of one event, or of all if `event` is empty.
    [[nodiscard]] Result<Choices> of_event(const std::string& event) const;

  private:
    // For an event that is visible completely, or if everything is.
    [[nodiscard]] Result<Choices> read_whole(const std::string& event) const;
    // For an event that is visible only in part, or for all events.
    [[nodiscard]] Result<Choices> read_limited(const std::string& event) const;

    SqlSession* session_;
    Visibility visibility_;
};

}  // namespace lagtrap::server
