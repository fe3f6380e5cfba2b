#include "server/ingest/timeline_json.hpp"

#include <boost/json.hpp>

#include "server/ingest/delay_details.hpp"
#include "server/ingest/stack_table.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

json::value index_or_null(StackTable& stacks, analysis::StackId stack) {
    const auto index = stacks.index_of(stack);
    return index ? json::value(*index) : json::value(nullptr);
}

json::object interval_json(const analysis::TimelineInterval& interval, StackTable& stacks) {
    json::value cpu = nullptr;
    if (interval.cpu) cpu = *interval.cpu;
    json::value waker = nullptr;
    if (interval.waker)
        waker = {{"process", shortened(interval.waker->process)},
                 {"thread", shortened(interval.waker->thread)}};
    json::value stack = nullptr;
    if (interval.stack != 0) stack = index_or_null(stacks, interval.stack);
    return {{"from_ns", interval.from_ns},
            {"to_ns", interval.to_ns},
            {"state", std::string(to_text(interval.kind))},
            {"reason", shortened(interval.reason)},
            {"cpu", std::move(cpu)},
            {"waker", std::move(waker)},
            {"stack", std::move(stack)}};
}

}  // namespace

std::string timeline_json(const analysis::Recording& recording,
                          const analysis::DelayTimeline& timeline) {
    StackTable stacks(recording);
    json::array intervals;
    for (const analysis::TimelineInterval& interval : timeline.intervals)
        intervals.push_back(interval_json(interval, stacks));
    json::array samples;
    std::uint64_t dropped = timeline.dropped;
    for (const analysis::TimelineSample& sample : timeline.samples) {
        const auto stack = stacks.index_of(sample.stack);
        if (stack) samples.push_back({{"at_ns", sample.at_ns}, {"stack", *stack}});
        if (!stack) ++dropped;
    }
    const trace::SystemFile& system = recording.system;
    const auto realtime = [&](std::uint64_t boottime_ns) {
        return std::to_string(system.started_realtime_ns +
                              (boottime_ns - system.started_boottime_ns));
    };
    json::object answer{{"from_ns", realtime(timeline.begin_ns)},
                        {"to_ns", realtime(timeline.end_ns)},
                        {"intervals", std::move(intervals)},
                        {"samples", std::move(samples)},
                        {"dropped", dropped}};
    stacks.put_into(answer);
    return json::serialize(answer);
}

}  // namespace lagtrap::server
