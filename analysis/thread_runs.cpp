#include "analysis/thread_runs.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/parts.hpp"

namespace lagtrap::analysis {
namespace {

constexpr std::size_t stacks_limit = 3;

// A name server was asked, or a connection is being made: nobody waits for work like that.
bool waits_for_answer(const ThreadDoing& doing) {
    const FileWaits& peer = doing.files;
    const bool is_asked =
        peer.kind == WaitFileKind::DatagramPeer || peer.kind == WaitFileKind::Connecting;
    return is_asked && peer.time_ns * 2 >= peer.asked_ns;
}

// How well this kind of time explains why a process makes no progress.
double weight_of(const ThreadDoing& doing) {
    if (doing.kind == TimeKind::Unknown) return 0.1;
    if (doing.kind != TimeKind::Blocked || waits_for_answer(doing)) return 1;
    switch (doing.wait) {
        case WaitKind::Events:
        case WaitKind::Client:
        case WaitKind::UnixSignal:
        case WaitKind::NoGoroutine:
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

// Java's main program starts the thread that runs main() and waits for its end.
bool is_java_launcher(const ThreadDoing& doing) {
    return doing.wait == WaitKind::ThreadEnd &&
           doing.focus.place.function == "CallJavaMainInNewThread";
}

// A sixth or more of the time was spent in such waits.
bool waits_often(const DelayCauses& causes, const ThreadDoing& doing, WaitKind kind) {
    return doing.kind == TimeKind::Blocked && doing.wait == kind &&
           doing.time_ns * 6 >= causes.wall_ns;
}

// An event loop that waits for another thread stands still.
bool stops_loop(const DelayCauses& causes, const ThreadDoing& doing) {
    const bool for_thread = doing.end == WaitEnd::Thread || doing.end == WaitEnd::NotYet;
    return for_thread && waits_often(causes, doing, WaitKind::Signal) &&
           std::any_of(causes.causes.begin(), causes.causes.end(), [&](const DelayCause& other) {
               return waits_often(causes, other.doing, WaitKind::Events);
           });
}

bool waits_for_work(const DelayCauses& causes) {
    std::uint64_t idle_ns = 0;
    for (const DelayCause& cause : causes.causes) {
        if (cause.doing.kind != TimeKind::Blocked || stops_loop(causes, cause.doing)) continue;
        if (weight_of(cause.doing) <= max_weight_of_idling || is_java_launcher(cause.doing))
            idle_ns += cause.doing.time_ns;
    }
    return is_nearly(idle_ns, causes.wall_ns);
}

// Threads that agree in this are shown as one.
using Kinds = std::set<std::pair<TimeKind, WaitKind>>;
using Likeness = std::tuple<bool, TimeKind, WaitKind, SpinKind, std::string, std::string,
                            std::string, std::uint32_t, Kinds>;

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

// Threads of Java's runtime, by the beginning of their names: garbage collectors, compilers, and
// services (OpenJDK 11 to 25).
constexpr auto java_services = std::to_array<std::string_view>({"GC Thread",
                                                                "G1 ",
                                                                "ParGC",
                                                                "ZDriver",
                                                                "ZWorker",
                                                                "ZDirector",
                                                                "ZStat",
                                                                "Shenandoah",
                                                                "Concurrent Mark",
                                                                "C1 Compiler",
                                                                "C2 Compiler",
                                                                "JVMCI",
                                                                "VM ",
                                                                "Signal Dispatch",
                                                                "Finalizer",
                                                                "Reference Handl",
                                                                "Common-Cleaner",
                                                                "Monitor Deflati",
                                                                "Sweeper thread",
                                                                "Notification Th",
                                                                "Service Thread",
                                                                "DestroyJavaVM"});

std::set<std::uint32_t> java_processes(const Recording& recording) {
    std::set<std::uint32_t> pids;
    for (const Thread& thread : recording.threads)
        if (recording.name(thread.name) == "VM Thread") pids.insert(thread.pid);
    return pids;
}

bool is_java_service(std::string_view thread) {
    return std::any_of(java_services.begin(), java_services.end(),
                       [&](std::string_view prefix) { return thread.starts_with(prefix); });
}

ThreadRun look_at(const Recording& recording, trace::Delay delay, bool in_java, WaitPlace& place) {
    ThreadRun run;
    const std::vector<Interval> intervals = intervals_of_delay(recording, delay);
    place = wait_place_of(recording, intervals);
    run.split = split_time(recording, intervals);
    run.stacks = StackTimes::of(recording, intervals, run.split).stacks(recording);
    if (run.stacks.size() > stacks_limit) run.stacks.resize(stacks_limit);
    run.causes = causes_of_delay(recording, delay);
    run.waits_for_work = waits_for_work(run.causes);
    run.delay = std::move(delay);
    run.of_runtime = in_java && is_java_service(run.delay.thread);
    if (run.of_runtime) run.waits_for_work = is_nearly(run.split.blocked_ns, run.split.wall_ns);
    return run;
}

// A server or process that waits for its client or a signal of the system does so by design.
bool may_be_in_work(const ThreadRun& run) {
    if (!run.waits_for_work || run.of_runtime) return false;
    const WaitKind wait = run.causes.causes.front().doing.wait;
    return wait != WaitKind::Client && wait != WaitKind::UnixSignal;
}

// `places` belong to the runs.
void find_waits_in_work(const Recording& recording, std::vector<ThreadRun>& runs,
                        std::span<const WaitPlace> places) {
    std::vector<WaitPlace> idle;
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (runs[i].waits_for_work && std::find(idle.begin(), idle.end(), places[i]) == idle.end())
            idle.push_back(places[i]);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!may_be_in_work(runs[i])) continue;
        runs[i].in_work = is_in_work(recording, places[i], idle);
        runs[i].waits_for_work = runs[i].in_work == InWork::No;
    }
}

// Among equally informative threads, the main thread comes first, because people identify it with
// the process.
double rank_of(const ThreadRun& run) {
    constexpr double favour_of_main = 0.15, part_of_service = 0.4;
    if (run.of_runtime)
        return (run.waits_for_work ? -10 : 0) + weight_of(run.causes) * part_of_service;
    const bool main = run.delay.begin_tid == run.delay.begin_pid;
    const double of_work = run.in_work == InWork::Likely    ? 0.9
                           : run.in_work == InWork::Perhaps ? 0.5
                                                            : 0;
    return (run.waits_for_work ? -10 : 0) + std::max(weight_of(run.causes), of_work) +
           (main ? favour_of_main : 0);
}

// Short-lived threads count by the time that all with the same causes have lived.
std::vector<ThreadRun> joined(std::vector<ThreadRun> runs, std::uint64_t length_ns) {
    std::vector<ThreadRun> kept;
    std::vector<std::uint64_t> lived_ns;
    std::map<Likeness, std::size_t> known;
    for (ThreadRun& run : runs) {
        const auto [place, is_new] = known.try_emplace(likeness_of(run), kept.size());
        if (is_new) lived_ns.push_back(0);
        lived_ns[place->second] += run.split.wall_ns;
        if (is_new)
            kept.push_back(std::move(run));
        else
            kept[place->second].others.push_back(run.causes.who);
    }
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const double share = static_cast<double>(lived_ns[i]) /
                             static_cast<double>(std::max<std::uint64_t>(length_ns, 1));
        const double rank = rank_of(kept[i]);
        order.emplace_back(rank > 0 ? rank * std::min(share, 1.0) : rank, i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<ThreadRun> sorted;
    for (const auto& [rank, i] : order) sorted.push_back(std::move(kept[i]));
    return sorted;
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
        const auto first = std::find_if(
            thread.changes.begin(), thread.changes.end(),
            [](const StateChange& change) { return change.state != ThreadState::NotRecorded; });
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
    const std::set<std::uint32_t> in_java = java_processes(recording);
    ProcessRuns process;
    std::vector<ThreadRun> runs;
    std::vector<WaitPlace> places;
    for (const Thread& thread : recording.threads) {
        if (!pids.contains(thread.pid)) continue;
        trace::Delay delay = run_of_thread(recording, thread);
        if (delay.duration_ns == 0) continue;
        ++process.threads;
        if (runs.size() < thread_runs_limit)
            runs.push_back(look_at(recording, std::move(delay), in_java.contains(thread.pid),
                                   places.emplace_back()));
        else
            ++process.left_out;
    }
    find_waits_in_work(recording, runs, places);
    std::stable_sort(runs.begin(), runs.end(), [](const ThreadRun& a, const ThreadRun& b) {
        return rank_of(a) > rank_of(b);
    });
    process.runs = joined(std::move(runs), recording.end_ns - recording.begin_ns);
    return process;
}

}  // namespace lagtrap::analysis
