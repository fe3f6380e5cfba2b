#include "server/ingest/timeline_json.hpp"

#include <unordered_map>

#include <boost/json.hpp>

#include "server/ingest/delay_details.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

constexpr std::size_t frames_limit = 1024;
constexpr std::size_t name_limit_bytes = 512;  // of each frame: 20,000 stacks of them have to fit

json::object frame_json(const analysis::Recording& recording, const analysis::Frame& frame) {
    const auto name = [&](analysis::NameId id) { return shortened(recording.name(id), name_limit_bytes); };
    return {{"function", frame.named ? name(frame.label) : std::string()},
            {"module", name(frame.module)},
            {"build_id", name(frame.build_id)},
            {"offset", std::to_string(frame.offset - frame.load_bias)},
            {"file", name(frame.source)},
            {"line", frame.line}};
}

// Each stack that is used, once.
class Stacks {
  public:
    explicit Stacks(const analysis::Recording& recording) : recording_(recording) {}

    std::size_t index_of(analysis::StackId stack) {
        const auto [place, fresh] = places_.emplace(stack, list_.size());
        if (!fresh) return place->second;
        json::array frames;
        const auto& outermost_first = recording_.stacks[stack];
        for (std::size_t i = outermost_first.size(); i > 0 && frames.size() < frames_limit; --i)
            frames.push_back(frame_json(recording_, recording_.frames[outermost_first[i - 1]]));
        list_.push_back(std::move(frames));
        return place->second;
    }
    json::array take() { return std::move(list_); }

  private:
    const analysis::Recording& recording_;
    std::unordered_map<analysis::StackId, std::size_t> places_;
    json::array list_;
};

json::object interval_json(const analysis::TimelineInterval& interval, Stacks& stacks) {
    json::value cpu = nullptr;
    if (interval.cpu) cpu = *interval.cpu;
    json::value waker = nullptr;
    if (interval.waker)
        waker = {{"process", shortened(interval.waker->process)}, {"thread", shortened(interval.waker->thread)}};
    json::value stack = nullptr;
    if (interval.stack != 0) stack = stacks.index_of(interval.stack);
    return {{"from_ns", interval.from_ns},
            {"to_ns", interval.to_ns},
            {"state", std::string(words_of(interval.kind))},
            {"reason", shortened(interval.reason)},
            {"cpu", std::move(cpu)},
            {"waker", std::move(waker)},
            {"stack", std::move(stack)}};
}

}  // namespace

std::string timeline_json(const analysis::Recording& recording, const analysis::DelayTimeline& timeline) {
    Stacks stacks(recording);
    json::array intervals;
    for (const analysis::TimelineInterval& interval : timeline.intervals)
        intervals.push_back(interval_json(interval, stacks));
    json::array samples;
    for (const analysis::TimelineSample& sample : timeline.samples)
        samples.push_back({{"at_ns", sample.at_ns}, {"stack", stacks.index_of(sample.stack)}});
    const trace::SystemFile& system = recording.system;
    const auto realtime = [&](std::uint64_t boottime_ns) {
        return std::to_string(system.started_realtime_ns + (boottime_ns - system.started_boottime_ns));
    };
    return json::serialize(json::object{{"from_ns", realtime(timeline.begin_ns)},
                                        {"to_ns", realtime(timeline.end_ns)},
                                        {"stacks", stacks.take()},
                                        {"intervals", std::move(intervals)},
                                        {"samples", std::move(samples)},
                                        {"dropped", timeline.dropped}});
}

}  // namespace lagtrap::server
