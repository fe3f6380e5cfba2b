#include "analysis/command_life.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/core.h>

#include "analysis/block_reason.hpp"
#include "analysis/thread_runs.hpp"
#include "analysis/wait_chain.hpp"
#include "core/duration.hpp"

namespace lagtrap::analysis {
namespace {

constexpr std::size_t waits_limit = 10;
constexpr std::uint64_t min_part_of_children = 4;  // a quarter of the command's life

std::uint32_t pid_of(const Recording& recording, std::uint32_t tid) {
    const Thread* thread = recording.find_thread(tid);
    return thread != nullptr ? thread->pid : 0;
}

std::string reason_of(const Recording& recording, const ChainTime& time) {
    if (time.kind == TimeKind::Blocked) return reason_of_stack(recording, time.stack);
    return time.kind == TimeKind::Unknown ? std::string(time.unknown_because) : std::string();
}

std::vector<LifePart> parts_of(const Recording& recording, const std::vector<Interval>& intervals) {
    ChainWalk walk(recording);
    walk.walk(intervals);
    std::map<std::tuple<std::string, TimeKind, std::string>, LifePart> parts;
    std::map<std::tuple<std::string, TimeKind, std::string>, std::set<std::uint32_t>> processes;
    for (const ChainTime& time : walk.times()) {
        const std::uint32_t pid = pid_of(recording, time.tid);
        const std::tuple key(recording.process_name(pid), time.kind, reason_of(recording, time));
        LifePart& part = parts[key];
        std::tie(part.process, part.kind, part.reason) = key;
        part.time_ns += time.time_ns;
        processes[key].insert(pid);
        part.processes = processes[key].size();
    }
    std::vector<LifePart> list;
    for (auto& [key, part] : parts) list.push_back(std::move(part));
    std::stable_sort(list.begin(), list.end(),
                     [](const LifePart& a, const LifePart& b) { return a.time_ns > b.time_ns; });
    return list;
}

ThreadName name_of(const Recording& recording, std::uint32_t tid) {
    const std::uint32_t pid = pid_of(recording, tid);
    return {pid, tid, recording.process_name(pid), recording.thread_name(tid),
            recording.unit_of(pid)};
}

std::vector<LongWait> waits_of(const Recording& recording, const trace::Delay& delay,
                               const std::vector<Interval>& intervals) {
    std::vector<LongWait> waits;
    for (const Interval& interval : intervals) {
        if (interval.state != ThreadState::Blocked || interval.length_ns() == 0) continue;
        LongWait wait;
        wait.offset_ns = interval.begin_ns - delay.begin_ns;
        wait.length_ns = interval.length_ns();
        wait.reason = reason_of_stack(recording, interval.stack);
        wait.timed_out = interval.wake_cause == WakeCause::Timeout;
        wait.went_on = !interval.woken;
        if (!ended_by_nobody(recording, interval))
            wait.ended_by = name_of(recording, interval.waker_tid);
        waits.push_back(std::move(wait));
    }
    std::stable_sort(waits.begin(), waits.end(), [](const LongWait& a, const LongWait& b) {
        return a.length_ns > b.length_ns;
    });
    if (waits.size() > waits_limit) waits.resize(waits_limit);
    return waits;
}

std::map<std::uint32_t, std::uint64_t> cpu_times(const Recording& recording,
                                                 const std::set<std::uint32_t>& pids) {
    std::map<std::uint32_t, std::uint64_t> times;
    for (const Thread& thread : recording.threads) {
        if (!pids.contains(thread.pid)) continue;
        for (const Interval& interval :
             intervals_of_thread(recording, thread.tid, {recording.begin_ns, recording.end_ns}))
            if (interval.state == ThreadState::Running) times[thread.pid] += interval.length_ns();
    }
    return times;
}

// Without the command's own process. Misses a process whose parent ended first, because it has a
// new parent.
std::set<std::uint32_t> descendants_of(const Recording& recording, std::uint32_t pid) {
    std::set<std::uint32_t> found{pid};
    for (bool more = true; more;) {
        more = false;
        for (const auto& [child, process] : recording.processes)
            if (found.contains(process.parent_pid)) more |= found.insert(child).second;
    }
    found.erase(pid);
    return found;
}

std::vector<StartedProcess> started_by(const Recording& recording, const trace::Delay& delay) {
    const std::set<std::uint32_t> pids = descendants_of(recording, delay.begin_pid);
    auto cpu = cpu_times(recording, pids);
    std::vector<StartedProcess> list;
    for (const std::uint32_t pid : pids) {
        const Process& process = recording.processes.at(pid);
        const Thread* main = recording.find_thread(pid);
        if (main == nullptr) continue;
        const trace::Delay run = run_of_thread(recording, *main);
        StartedProcess started;
        started.pid = pid;
        started.parent_pid = process.parent_pid;
        started.name = recording.process_name(pid);
        started.command_line = process.command_line;
        started.offset_ns = run.begin_ns > delay.begin_ns ? run.begin_ns - delay.begin_ns : 0;
        started.life_ns = run.duration_ns;
        started.on_cpu_ns = cpu[pid];
        list.push_back(std::move(started));
    }
    std::stable_sort(
        list.begin(), list.end(),
        [](const StartedProcess& a, const StartedProcess& b) { return a.offset_ns < b.offset_ns; });
    return list;
}

bool is_wait_for_several_children(const DelayCauses& causes) {
    if (causes.causes.empty()) return false;
    const DelayCause& first = causes.causes.front();
    return first.doing.kind == TimeKind::Blocked && first.doing.wait == WaitKind::Child &&
           first.doing.waker_count > 1 && (first.chain.empty() || first.chain.front().alike > 0);
}

std::string to_text(const LifePart& part, std::uint64_t wall_ns) {
    std::string who = part.process;
    if (part.processes > 1) who += fmt::format(" ({} processes)", part.processes);
    const char* did = "computed";
    if (part.kind == TimeKind::Runnable) did = "waited for a CPU";
    if (part.kind == TimeKind::Blocked) did = "was blocked";
    const std::uint64_t share =
        (part.time_ns * 100 + wall_ns / 2) / std::max<std::uint64_t>(wall_ns, 1);
    const std::string why = part.kind == TimeKind::Blocked ? ": " + part.reason : "";
    return fmt::format("Of this, {} {} for {} ({} %){}.", who, did,
                       format_duration_ns(part.time_ns), share, why);
}

}  // namespace

trace::Delay run_of_command(const Recording& recording, std::uint32_t pid, std::uint64_t begin_ns,
                            std::uint64_t end_ns) {
    Thread unknown;
    unknown.pid = unknown.tid = pid;
    const Thread* thread = recording.find_thread(pid);
    trace::Delay run = run_of_thread(recording, thread != nullptr ? *thread : unknown);
    std::uint64_t last_ns = std::min(end_ns, recording.end_ns);
    if (!run.open) last_ns = std::min(last_ns, end_of(run));
    run.begin_ns = std::max(begin_ns, recording.begin_ns);
    run.duration_ns = last_ns > run.begin_ns ? last_ns - run.begin_ns : 0;
    run.open = run.open && end_ns > recording.end_ns;
    return run;
}

CommandLife life_of_command(const Recording& recording, trace::Delay run) {
    CommandLife life;
    const std::vector<Interval> intervals = intervals_of_delay(recording, run);
    life.split = split_time(recording, intervals);
    life.causes = causes_of_delay(recording, run);
    life.parts = parts_of(recording, intervals);
    life.waits = waits_of(recording, run, intervals);
    life.started = started_by(recording, run);
    life.delay = std::move(run);
    return life;
}

std::vector<std::string> life_sentences(const CommandLife& life) {
    std::vector<std::string> sentences = cause_sentences(life.causes);
    if (!is_wait_for_several_children(life.causes)) return sentences;
    const auto main_part =
        std::find_if(life.parts.begin(), life.parts.end(), [&](const LifePart& part) {
            return part.process != life.causes.who.process && part.kind != TimeKind::Unknown;
        });
    if (main_part == life.parts.end() ||
        main_part->time_ns < life.split.wall_ns / min_part_of_children)
        return sentences;
    sentences.insert(sentences.begin() + 1, to_text(*main_part, life.split.wall_ns));
    return sentences;
}

}  // namespace lagtrap::analysis
