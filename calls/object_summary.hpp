// What a trace of objects comes to: put together from its lines, wherever they are read.
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
    static constexpr std::size_t longest_kept = 3;  // trees, of functions that differ

    // One line. `ended`, where there is one, gets the trees that it ends. ErrorKind::Invalid: it names what is not known.
    [[nodiscard]] Status add(ObjectsReply reply, std::vector<ObjectNode>* ended = nullptr);

    // Of a watch that goes on elsewhere: what came so far stands for its end, which it does not have yet. Nothing is added afterwards.
    void end_here();

    // Meaningless before the first line.
    [[nodiscard]] const ObjectsStarted& started() const { return started_; }
    [[nodiscard]] bool has_begun() const { return !started_.functions.empty(); }
    // Those that happened most first.
    [[nodiscard]] std::vector<ObjectFailure> failures() const;
    // The longest first.
    [[nodiscard]] const std::vector<ObjectNode>& longest() const { return longest_; }
    [[nodiscard]] const std::vector<TakenOut>& taken_out() const { return taken_out_; }
    // nullopt: it was cut short.
    [[nodiscard]] const std::optional<ObjectsEnded>& ended() const { return ended_; }

    // Lines from which the same is read again, shorter than all that were added. At most `calls_limit` calls of the longest trees.
    [[nodiscard]] std::vector<std::string> lines(std::size_t calls_limit) const;
    // For reports and pages: at most `rows_limit` rows of a list, names of at most 256 bytes.
    [[nodiscard]] boost::json::object to_json(std::size_t rows_limit) const;

  private:
    [[nodiscard]] Status check(const ObjectsReply& reply) const;
    void count(const ObjectCall& call);
    void take(ObjectNode root, std::vector<ObjectNode>* ended);

    ObjectsStarted started_;
    ObjectForest forest_;
    ObjectFailures failures_;
    std::optional<std::vector<ObjectFailure>> told_failures_;  // as a summary's lines have them
    std::vector<ObjectNode> longest_;
    std::vector<TakenOut> taken_out_;
    std::optional<ObjectCounts> counts_;                    // the last ones
    std::map<std::uint32_t, ObjectFunctionTotals> totals_;  // of calls that were told
    std::optional<ObjectsEnded> ended_;
};

// As the calls in ObjectsSummary::to_json(), callers first, at most `limit` of them; times count from `origin_ns` (monotonic).
void add_rows_of_tree(const ObjectNode& root, const ObjectsStarted& started, std::uint64_t origin_ns, std::size_t limit,
                      boost::json::array& rows);

}  // namespace lagtrap::calls
