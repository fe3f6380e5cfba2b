#include "server/ingest/run_calls.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <boost/json.hpp>

#include "server/ingest/delay_details.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

// A caller takes at least as long as its callees and sorts before them, so it is always chosen too.
std::vector<bool> longest_of(const std::vector<calls::Times>& times) {
    std::vector<std::size_t> order(times.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
        return times[one].wall_ns > times[other].wall_ns;
    });
    std::vector<bool> chosen(times.size());
    for (std::size_t i = 0; i < std::min(order.size(), run_calls_limit); ++i)
        chosen[order[i]] = true;
    return chosen;
}

}  // namespace

json::value run_calls_json(const analysis::Recording& recording, const trace::Delay& delay) {
    const analysis::RunCalls* const found = recording.calls_of(delay);
    if (found == nullptr) return nullptr;
    const std::vector<calls::Call>& all = found->tree.calls;
    const std::vector<bool> chosen = longest_of(found->times);
    std::vector<std::uint32_t> depths(all.size());
    json::array rows;
    for (std::size_t number = 0; number < all.size(); ++number) {
        const calls::Call& call = all[number];
        if (call.parent != calls::no_parent) depths[number] = depths[call.parent] + 1;
        if (!chosen[number] || (number != 0 && found->times[number].wall_ns == 0)) continue;
        const calls::Times& times = found->times[number];
        const calls::Function& function = recording.called_functions[call.function];
        rows.push_back(json::object{
            {"name", shortened(function.name)},
            {"module", shortened(function.module)},
            {"source", function.line == 0
                           ? ""
                           : shortened(function.source) + ":" + std::to_string(function.line)},
            {"depth", depths[number]},
            {"begin_ns", call.begin_ns},
            {"wall_ns", times.wall_ns},
            {"own_ns", times.own_ns},
            {"runnable_ns", times.runnable_ns},
            {"blocked_ns", times.blocked_ns},
            {"returned",
             call.end == calls::CallEnd::Returned || call.end == calls::CallEnd::TailCall}});
    }
    return json::object{{"count", all.size()}, {"longest", std::move(rows)}};
}

}  // namespace lagtrap::server
