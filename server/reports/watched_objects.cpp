#include "server/reports/watched_objects.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <boost/json.hpp>

namespace lagtrap::server::reports {
namespace {

bool has_failure(const calls::ObjectNode& node) {
    return node.call.failed || std::any_of(node.below.begin(), node.below.end(), has_failure);
}

}  // namespace

void WatchedObjects::add(std::string_view lines) {
    ++parts_;
    for (std::size_t begin = 0; begin < lines.size();) {
        const std::size_t end = std::min(lines.find('\n', begin), lines.size());
        take_line(lines.substr(begin, end - begin));
        begin = end + 1;
    }
}

void WatchedObjects::take_line(std::string_view line) {
    auto reply = calls::parse_objects_reply(std::string(line));
    if (!reply || summary_.ended()) {
        ++unread_lines_;
        return;
    }
    if (reply->ended) reason_ = reply->ended->reason;
    std::vector<calls::ObjectNode> trees;
    if (!summary_.add(std::move(*reply), &trees)) ++unread_lines_;
    keep(std::move(trees));
}

void WatchedObjects::keep(std::vector<calls::ObjectNode> trees) {
    const auto push = [](std::deque<Tree>& kept, Tree tree) {
        kept.push_back(std::move(tree));
        if (kept.size() > latest_kept) kept.pop_front();
    };
    for (calls::ObjectNode& root : trees) {
        ++trees_;
        if (has_failure(root)) push(latest_failed_, {trees_, root});
        push(latest_, {trees_, std::move(root)});
    }
}

void WatchedObjects::end_here() {
    if (has_begun()) summary_.end_here();
}

boost::json::array WatchedObjects::latest() const {
    std::map<std::uint64_t, const calls::ObjectNode*> trees;
    for (const auto* kept : {&latest_failed_, &latest_})
        for (const Tree& tree : *kept) trees.emplace(tree.number, &tree.root);
    // If there is not enough room, the newest are kept.
    std::vector<boost::json::array> chosen;
    std::size_t rows = 0;
    for (auto tree = trees.rbegin(); tree != trees.rend() && rows < latest_rows_limit; ++tree) {
        boost::json::array calls;
        calls::add_rows_of_tree(*tree->second, summary_.started(),
                                summary_.started().began_monotonic_ns, latest_rows_limit - rows,
                                calls);
        rows += calls.size();
        chosen.push_back(std::move(calls));
    }
    boost::json::array all;
    for (auto calls = chosen.rbegin(); calls != chosen.rend(); ++calls)
        for (boost::json::value& call : *calls) all.push_back(std::move(call));
    return all;
}

}  // namespace lagtrap::server::reports
