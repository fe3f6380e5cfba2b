// Summarizes an object trace from its lines, wherever they come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "calls/object_stream.hpp"
#include "calls/object_tree.hpp"
#include "core/result.hpp"

namespace lagtrap::calls {

class ObjectsSummary {
  public:
    static constexpr std::size_t max_kept = 3;  // trees, each of a different function

    // Adds one line. `ended`, if given, receives the trees that it completes. ErrorKind::Invalid if
    // it refers to something unknown.
    [[nodiscard]] Status add(ObjectsReply reply, std::vector<ObjectNode>* ended = nullptr);

    // Ends the summary of a watch that continues elsewhere: the counts so far stand in for the
    // missing end. Add nothing afterwards.
    void end_here();

    // Valid once has_begun().
    [[nodiscard]] const ObjectsStarted& started() const { return started_; }
    [[nodiscard]] bool has_begun() const { return !started_.functions.empty(); }
    // Most frequent first.
    [[nodiscard]] std::vector<ObjectFailure> failures() const;
    // Longest first.
    [[nodiscard]] const std::vector<ObjectNode>& longest() const { return longest_; }
    [[nodiscard]] const std::vector<DetachedFunction>& detached() const { return detached_; }
    // nullopt if the trace was cut short.
    [[nodiscard]] const std::optional<ObjectsEnded>& ended() const { return ended_; }

    // Lines from which the same summary can be read back, shorter than all lines added. Contains at
    // most `calls_limit` calls of the longest trees.
    [[nodiscard]] std::vector<std::string> lines(std::size_t calls_limit) const;
    // For reports and pages: at most `rows_limit` rows per list, and names of at most 256 bytes.
    [[nodiscard]] boost::json::object to_json(std::size_t rows_limit) const;

  private:
    [[nodiscard]] Status check(const ObjectsReply& reply) const;
    void count(const ObjectCall& call);
    void take(ObjectNode root, std::vector<ObjectNode>* ended);

    ObjectsStarted started_;
    ObjectForest forest_;
    ObjectFailures failures_;
    std::optional<std::vector<ObjectFailure>> reported_failures_;  // from the lines of a summary
    std::vector<ObjectNode> longest_;
    std::vector<DetachedFunction> detached_;
    std::optional<ObjectCounts> counts_;                    // latest
    std::map<std::uint32_t, ObjectFunctionTotals> totals_;  // of the calls received
    std::optional<ObjectsEnded> ended_;
};

// Adds rows in the format of the calls in ObjectsSummary::to_json(): callers first, at most
// `limit`. Times count from `origin_ns` (CLOCK_MONOTONIC).
void add_rows_of_tree(const ObjectNode& root, const ObjectsStarted& started,
                      std::uint64_t origin_ns, std::size_t limit, boost::json::array& rows);

}  // namespace lagtrap::calls
