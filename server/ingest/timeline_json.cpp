#include "server/ingest/timeline_json.hpp"

#include <unordered_map>

#include <boost/json.hpp>

#include "server/ingest/delay_details.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

constexpr std::size_t frames_limit = 1024;
constexpr std::size_t name_limit_bytes = 4096;       // of each name
constexpr std::size_t names_limit_bytes = 16 << 20;  // of all; what comes later has no name

// Each stack, frame and name that is used, once: names of C++ may have hundreds of bytes, and frames come in many stacks.
class Stacks {
  public:
    explicit Stacks(const analysis::Recording& recording) : recording_(recording) {}

    std::size_t index_of(analysis::StackId stack) {
        const auto [place, fresh] = places_.emplace(stack, list_.size());
        if (!fresh) return place->second;
        json::array frames;
        const auto& outermost_first = recording_.stacks[stack];
        for (std::size_t i = outermost_first.size(); i > 0 && frames.size() < frames_limit; --i)
            frames.push_back(index_of_frame(outermost_first[i - 1]));
        list_.push_back(std::move(frames));
        return place->second;
    }
    void put_into(json::object& timeline) {
        timeline["names"] = std::move(names_);
        timeline["frames"] = std::move(frames_);
        timeline["stacks"] = std::move(list_);
    }

  private:
    std::size_t index_of_name(const std::string& name) {
        std::string text = shortened(name, name_limit_bytes);
        if (names_bytes_ + text.size() > names_limit_bytes) text.clear();
        const auto [place, fresh] = name_places_.emplace(std::move(text), names_.size());
        if (!fresh) return place->second;
        names_bytes_ += place->first.size();
        names_.emplace_back(place->first);
        return place->second;
    }
    std::size_t index_of_frame(std::uint32_t id) {
        const auto [place, fresh] = frame_places_.emplace(id, frames_.size());
        if (!fresh) return place->second;
        const analysis::Frame& frame = recording_.frames[id];
        frames_.push_back({{"function", index_of_name(frame.named ? recording_.name(frame.label) : std::string())},
                           {"module", index_of_name(recording_.name(frame.module))},
                           {"build_id", index_of_name(recording_.name(frame.build_id))},
                           {"offset", std::to_string(frame.offset - frame.load_bias)},
                           {"file", index_of_name(recording_.name(frame.source))},
                           {"line", frame.line}});
        return place->second;
    }

    const analysis::Recording& recording_;
    std::unordered_map<analysis::StackId, std::size_t> places_;
    std::unordered_map<std::uint32_t, std::size_t> frame_places_;
    std::unordered_map<std::string, std::size_t> name_places_;
    std::size_t names_bytes_ = 0;
    json::array names_;
    json::array frames_;
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
    json::object answer{{"from_ns", realtime(timeline.begin_ns)},
                        {"to_ns", realtime(timeline.end_ns)},
                        {"intervals", std::move(intervals)},
                        {"samples", std::move(samples)},
                        {"dropped", timeline.dropped}};
    stacks.put_into(answer);
    return json::serialize(answer);
}

}  // namespace lagtrap::server
