#include "analysis/thread_runs.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/parts.hpp"

namespace lagtrap::analysis {
namespace {

constexpr std::size_t stacks_limit = 3;

// How well this kind of time explains why a process makes no progress.
double weight_of(const ThreadDoing& doing) {
    if (doing.kind == TimeKind::Unknown) return 0.1;
    if (doing.kind != TimeKind::Blocked) return 1;
    switch (doing.wait) {
        case WaitKind::Events:
        case WaitKind::Client:
        case WaitKind::UnixSignal:
        case WaitKind::Sleep: return 0.2;
        case WaitKind::Signal: return 0.3;
        case WaitKind::PythonLock:  // some are queues
        case WaitKind::Semaphore: return 0.5;
        case WaitKind::Pipe:
        case WaitKind::LocalSocket:
        case WaitKind::Network:
        case WaitKind::Child:
        case WaitKind::ChildStart:
        case WaitKind::Futex:
        case WaitKind::ThreadEnd:
        case WaitKind::Other: return 0.7;
        default: return 1.2;
    }
}

constexpr double max_weight_of_idling = 0.3;

double weight_of(const DelayCauses& causes) {
    double weight = 0;
    for (const DelayCause& cause : causes.causes)
        weight += weight_of(cause.doing) * static_cast<double>(cause.doing.time_ns);
    return causes.wall_ns > 0 ? weight / static_cast<double>(causes.wall_ns) : 0;
}

bool waits_for_work(const DelayCauses& causes) {
    std::uint64_t idle_ns = 0;
    for (const DelayCause& cause : causes.causes)
        if (cause.doing.kind == TimeKind::Blocked && weight_of(cause.doing) <= max_weight_of_idling)
            idle_ns += cause.doing.time_ns;
    return is_nearly(idle_ns, causes.wall_ns);
}

// Threads that agree in this are shown as one.
using Kinds = std::set<std::pair<TimeKind, WaitKind>>;
using Likeness =
    std::tuple<bool, TimeKind, WaitKind, SpinKind, std::string, std::string, std::string, std::uint32_t, Kinds>;

// What takes a sixth of the time of a busy thread or more. Which thread waits for a CPU is chance.
Kinds kinds_of(const ThreadRun& run) {
    Kinds kinds;
    if (run.waits_for_work) return kinds;
    for (const DelayCause& cause : run.causes.causes)
        if (cause.doing.kind != TimeKind::Runnable && cause.doing.time_ns * 6 >= run.causes.wall_ns)
            kinds.emplace(cause.doing.kind, cause.doing.wait);
    return kinds;
}

Likeness likeness_of(const ThreadRun& run) {
    if (run.causes.causes.empty()) return {};
    const DelayCause& first = run.causes.causes.front();
    const CallPlace& place = first.doing.focus.place;
    return {run.waits_for_work,
            first.doing.kind,
            first.doing.wait,
            first.doing.spin,
            first.doing.reason,
            place.function.empty() ? place.module : place.function,
            first.doing.focus.caller,
            first.chain.empty() ? 0 : first.chain.front().who.tid,
            kinds_of(run)};
}

ThreadRun look_at(const Recording& recording, trace::Delay delay) {
    ThreadRun run;
    const std::vector<Interval> intervals = intervals_of_delay(recording, delay);
    run.split = split_time(recording, intervals);
    run.stacks = StackTimes::of(recording, intervals, run.split).stacks(recording);
    if (run.stacks.size() > stacks_limit) run.stacks.resize(stacks_limit);
    run.causes = causes_of_delay(recording, delay);
    run.waits_for_work = waits_for_work(run.causes);
    run.delay = std::move(delay);
    return run;
}

// Among equally informative threads, the main thread comes first, because people identify it with
// the process.
double rank_of(const ThreadRun& run) {
    constexpr double favour_of_main = 0.15;
    const bool main = run.delay.begin_tid == run.delay.begin_pid;
    return (run.waits_for_work ? -10 : 0) + weight_of(run.causes) + (main ? favour_of_main : 0);
}

std::vector<ThreadRun> joined(std::vector<ThreadRun> runs) {
    std::vector<ThreadRun> kept;
    std::map<Likeness, std::size_t> known;
    for (ThreadRun& run : runs) {
        const auto [place, is_new] = known.try_emplace(likeness_of(run), kept.size());
        if (is_new)
            kept.push_back(std::move(run));
        else
            kept[place->second].others.push_back(run.causes.who);
    }
    return kept;
}

}  // namespace

trace::Delay run_of_thread(const Recording& recording, const Thread& thread) {
    trace::Delay delay;
    delay.event = recording.name(thread.name);
    delay.begin_pid = delay.end_pid = thread.pid;
    delay.begin_tid = delay.end_tid = thread.tid;
    delay.process = recording.process_name(thread.pid);
    delay.thread = recording.name(thread.name);
    delay.unit = recording.unit_of(thread.pid);
    std::uint64_t begin_ns = recording.begin_ns, end_ns = recording.end_ns;
    if (!thread.alive_at_start) {
        const auto first = std::find_if(thread.changes.begin(), thread.changes.end(), [](const StateChange& change) {
            return change.state != ThreadState::NotRecorded;
        });
        begin_ns = first != thread.changes.end() ? first->at_ns : end_ns;
    }
    if (!thread.changes.empty() && thread.changes.back().state == ThreadState::Exited)
        end_ns = thread.changes.back().at_ns;
    else
        delay.open = true;
    delay.begin_ns = begin_ns;
    delay.duration_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;
    return delay;
}

ProcessRuns runs_of_processes(const Recording& recording, const std::set<std::uint32_t>& pids) {
    ProcessRuns process;
    std::vector<ThreadRun> runs;
    for (const Thread& thread : recording.threads) {
        if (!pids.contains(thread.pid)) continue;
        trace::Delay delay = run_of_thread(recording, thread);
        if (delay.duration_ns == 0) continue;
        ++process.threads;
        if (runs.size() < thread_runs_limit)
            runs.push_back(look_at(recording, std::move(delay)));
        else
            ++process.left_out;
    }
    std::stable_sort(runs.begin(), runs.end(),
                     [](const ThreadRun& a, const ThreadRun& b) { return rank_of(a) > rank_of(b); });
    process.runs = joined(std::move(runs));
    return process;
}

}  // namespace lagtrap::analysis
