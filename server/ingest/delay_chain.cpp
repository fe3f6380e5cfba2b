#include "server/ingest/delay_chain.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "analysis/time_split.hpp"
#include "core/json_number.hpp"
#include "server/ingest/delay_details.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

constexpr std::size_t strip_columns = 240;
constexpr std::string_view strip_letters = "crbu";  // on CPU, runnable, blocked, unknown

std::size_t letter_of(analysis::ThreadState state) {
    switch (state) {
        case analysis::ThreadState::Running: return 0;
        case analysis::ThreadState::Runnable: return 1;
        case analysis::ThreadState::Blocked: return 2;
        default: return 3;
    }
}

// The state with the most time in each of `strip_columns` equal parts of the delay.
std::string strip_of(const std::vector<analysis::Interval>& intervals, const trace::Delay& delay) {
    std::vector<std::array<std::uint64_t, strip_letters.size()>> times(strip_columns);
    const std::uint64_t column_ns = delay.duration_ns / strip_columns + 1;
    for (const analysis::Interval& interval : intervals) {
        std::uint64_t at_ns = std::max(interval.begin_ns, delay.begin_ns);
        while (at_ns < interval.end_ns) {
            const std::uint64_t column = (at_ns - delay.begin_ns) / column_ns;
            if (column >= strip_columns) break;
            const std::uint64_t until_ns =
                std::min(interval.end_ns, delay.begin_ns + (column + 1) * column_ns);
            times[column][letter_of(interval.state)] += until_ns - at_ns;
            at_ns = until_ns;
        }
    }
    std::string strip;
    const std::size_t used =
        std::min<std::size_t>(strip_columns, (delay.duration_ns + column_ns - 1) / column_ns);
    for (std::size_t column = 0; column < used; ++column) {
        const auto& states = times[column];
        const auto longest = std::max_element(states.begin(), states.end());
        strip +=
            *longest == 0 ? 'u' : strip_letters[static_cast<std::size_t>(longest - states.begin())];
    }
    return strip;
}

// `doing` is what the thread mostly did in the `whole_ns` in which the previous one waited for it.
// `likely`: nothing proves that the previous one waited for it.
json::object link_json(const analysis::ThreadName& who, std::uint64_t whole_ns,
                       const analysis::ThreadDoing& doing, bool likely, std::string strip) {
    return {{"pid", who.pid},
            {"process", shortened(who.process)},
            {"tid", who.tid},
            {"thread", shortened(who.thread)},
            {"whole_ns", json_number(whole_ns)},
            {"state", std::string(analysis::to_text(doing.kind))},
            {"reason", shortened(doing.reason)},
            {"function", shortened(doing.focus.place.function)},
            {"time_ns", json_number(doing.time_ns)},
            {"likely", likely},
            {"strip", std::move(strip)}};
}

}  // namespace

json::array delay_chain_json(const analysis::Recording& recording, const trace::Delay& delay,
                             const analysis::DelayCauses& causes) {
    json::array chain;
    const auto end = causes.causes.begin() + static_cast<std::ptrdiff_t>(causes.reported());
    const auto cause = std::find_if(causes.causes.begin(), end,
                                    [](const auto& one) { return !one.chain.empty(); });
    if (cause == end) return chain;
    chain.push_back(link_json(causes.who, causes.wall_ns, cause->doing, false,
                              strip_of(intervals_of_delay(recording, delay), delay)));
    const analysis::Window whole{delay.begin_ns, analysis::end_of(delay)};
    for (const analysis::CauseLink& link : cause->chain) {
        const analysis::ThreadDoing doing =
            link.doings.empty() ? analysis::ThreadDoing{} : link.doings.front();
        chain.push_back(
            link_json(link.who, link.whole_ns, doing, link.likely,
                      strip_of(intervals_of_thread(recording, link.who.tid, whole), delay)));
    }
    return chain;
}

}  // namespace lagtrap::server
