#include "analysis/folded.hpp"

#include <algorithm>
#include <unordered_map>

#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

namespace {

using Folded = std::map<std::string, std::uint64_t>;
using TimeByStack = std::unordered_map<StackId, std::uint64_t>;

std::string clean(const std::string& name) {
    std::string text = name;
    std::replace(text.begin(), text.end(), ';', ':');
    return text;
}

void add_thread(const Recording& recording, const Thread& thread, const TimeByStack& times_ns, Folded& folded) {
    std::string process = clean(recording.process_name(thread.pid));
    if (process.empty()) process = "pid " + std::to_string(thread.pid);
    std::string name = clean(recording.name(thread.name));
    if (name.empty()) name = "tid " + std::to_string(thread.tid);
    for (const auto& [stack, time_ns] : times_ns) {
        std::string line = process;
        line.append(";").append(name);
        for (const std::uint32_t place : recording.stacks[stack]) {
            const Frame& frame = recording.frames[place];
            line += ";" + clean(recording.name(frame.label));
            if (frame.kernel) line += "_[k]";
        }
        folded[line] += time_ns;
    }
}

// Sums were in nanoseconds, so that short stacks add up before they are rounded.
Folded to_microseconds(Folded folded) {
    for (auto place = folded.begin(); place != folded.end();) {
        place->second /= 1000;
        place = place->second == 0 ? folded.erase(place) : std::next(place);
    }
    return folded;
}

void add_blocked(const std::vector<Interval>& intervals, TimeByStack& times_ns) {
    for (const Interval& interval : intervals) {
        if (interval.state == ThreadState::Blocked) times_ns[interval.stack] += interval.length_ns();
    }
}

}  // namespace

Folded fold_recording(const Recording& recording, FoldedKind kind) {
    Folded folded;
    for (const Thread& thread : recording.threads) {
        TimeByStack times_ns;
        if (kind == FoldedKind::OnCpu) {
            for (const Sample& sample : thread.samples) times_ns[sample.stack] += recording.sample_interval_ns();
        } else {
            add_blocked(intervals_of_thread(recording, thread.tid, {recording.begin_ns, recording.end_ns}), times_ns);
        }
        add_thread(recording, thread, times_ns, folded);
    }
    return to_microseconds(std::move(folded));
}

Folded fold_delay(const Recording& recording, const trace::Delay& delay, FoldedKind kind) {
    std::map<std::uint32_t, std::vector<Interval>> by_thread;
    for (const Interval& interval : intervals_of_delay(recording, delay)) by_thread[interval.tid].push_back(interval);
    Folded folded;
    for (const auto& [tid, intervals] : by_thread) {
        const Thread* thread = recording.find_thread(tid);
        if (thread == nullptr) continue;
        TimeByStack times_ns;
        if (kind == FoldedKind::OffCpu) {
            add_blocked(intervals, times_ns);
        } else {
            std::uint64_t samples = 0;
            for (const Interval& interval : intervals) {
                for_samples(*thread, {interval.begin_ns, interval.end_ns}, [&](const Sample& sample) {
                    ++times_ns[sample.stack];
                    ++samples;
                });
            }
            const std::uint64_t on_cpu_ns = split_time(recording, intervals).on_cpu_ns;
            for (auto& [stack, time] : times_ns) {
                if (samples == 0) break;
                time = static_cast<std::uint64_t>(static_cast<unsigned __int128>(on_cpu_ns) * time / samples);
            }
        }
        add_thread(recording, *thread, times_ns, folded);
    }
    return to_microseconds(std::move(folded));
}

std::string folded_text(const Folded& folded) {
    std::string text;
    for (const auto& [stack, microseconds] : folded) text += stack + " " + std::to_string(microseconds) + "\n";
    return text;
}

}  // namespace lagtrap::analysis
