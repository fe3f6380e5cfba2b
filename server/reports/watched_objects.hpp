// Summarises a watch of objects in a running program from the parts received so far.
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

// Not thread-safe.
class WatchedObjects {
  public:
    // trees, and as many of those with a failure
    static constexpr std::size_t latest_kept = 60;
    static constexpr std::size_t latest_rows_limit = 600;  // calls of all trees

    // Adds the next part; call in the order of their numbers. Counts and skips lines that cannot be
    // read.
    void add(std::string_view lines);
    // Marks the end of the parts for now.
    void end_here();

    // False if the first part, which names classes and functions, is missing. There is no summary
    // then.
    [[nodiscard]] bool has_begun() const { return summary_.has_begun(); }
    [[nodiscard]] const calls::ObjectsSummary& summary() const { return summary_; }
    // Why the watch ended; empty if it has not.
    [[nodiscard]] const std::string& reason() const { return reason_; }
    [[nodiscard]] std::uint64_t parts() const { return parts_; }
    [[nodiscard]] std::uint64_t unread_lines() const { return unread_lines_; }
    // The trees that ended last, oldest first, as calls in the form of ObjectsSummary::to_json().
    // Their begin is relative to the watch's.
    [[nodiscard]] boost::json::array latest() const;

  private:
    struct Tree {
        std::uint64_t number = 0;  // in order of their ends
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
