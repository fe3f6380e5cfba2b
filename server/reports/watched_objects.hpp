// What a watch of objects of a running program comes to so far, from the parts of it that are there.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "calls/object_summary.hpp"

namespace lagtrap::server::reports {

// Not for several threads at once.
class WatchedObjects {
  public:
    static constexpr std::size_t latest_kept = 60;         // trees, and as many more of those with a failure
    static constexpr std::size_t latest_rows_limit = 600;  // calls of them all

    // The lines of the next part, in the order of their numbers. Those that cannot be read are counted and left out.
    void add(std::string_view lines);
    // No more parts come for now.
    void end_here();

    // False: the part with the first line, which names classes and functions, is not there, so that nothing can be said.
    [[nodiscard]] bool has_begun() const { return summary_.has_begun(); }
    [[nodiscard]] const calls::ObjectsSummary& summary() const { return summary_; }
    // Why it ended; empty: it has not.
    [[nodiscard]] const std::string& reason() const { return reason_; }
    [[nodiscard]] std::uint64_t parts() const { return parts_; }
    [[nodiscard]] std::uint64_t unread_lines() const { return unread_lines_; }
    // The trees that ended last, oldest first, as ObjectsSummary::to_json() has calls; their begin is counted from the watch's.
    [[nodiscard]] boost::json::array latest() const;

  private:
    struct Tree {
        std::uint64_t number = 0;  // in the order in which they ended
        calls::ObjectNode root;
    };
    void take_line(std::string_view line);
    void keep(std::vector<calls::ObjectNode> trees);

    calls::ObjectsSummary summary_;
    std::string reason_;
    std::uint64_t parts_ = 0, unread_lines_ = 0, trees_ = 0;
    std::deque<Tree> latest_, latest_failed_;
};

}  // namespace lagtrap::server::reports
