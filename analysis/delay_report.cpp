#include "analysis/delay_report.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/before_recording.hpp"
#include "analysis/block_reason.hpp"
#include "analysis/lock_turns.hpp"
#include "analysis/wait_chain.hpp"

namespace lagtrap::analysis {

namespace {

template <typename T>
void keep_first(std::vector<T>& items, std::size_t count) {
    if (items.size() > count) items.resize(count);
}

std::vector<StageReport> report_stages(const Recording& recording, const trace::Delay& delay,
                                       const std::vector<Interval>& intervals) {
    std::vector<StageReport> stages;
    if (delay.stages.empty()) return stages;
    const std::uint64_t length_ns = end_of(delay) - delay.begin_ns;
    std::vector<trace::StageTime> hits = delay.stages;
    std::stable_sort(hits.begin(), hits.end(),
                     [](const trace::StageTime& a, const trace::StageTime& b) {
                         return a.offset_ns < b.offset_ns;
                     });
    hits.insert(hits.begin(), trace::StageTime{"", 0, delay.begin_tid});
    for (std::size_t i = 0; i < hits.size(); ++i) {
        StageReport stage;
        stage.name = hits[i].name;
        stage.offset_ns = std::min(hits[i].offset_ns, length_ns);
        stage.tid = hits[i].tid;
        const std::uint64_t end_ns =
            i + 1 < hits.size() ? std::min(hits[i + 1].offset_ns, length_ns) : length_ns;
        stage.duration_ns = end_ns - stage.offset_ns;
        stage.split = split_time(recording, clip(intervals, {delay.begin_ns + stage.offset_ns,
                                                             delay.begin_ns + end_ns}));
        stages.push_back(std::move(stage));
    }
    return stages;
}

// Waits ended by one thread or, if no thread ended them, by the same cause and device.
struct WaitGroup {
    std::uint32_t tid = 0;  // 0 if not a thread
    WakeCause cause = WakeCause::Unknown;
    NameId device = 0;
    std::uint64_t blocked_ns = 0;
    std::vector<Interval> waits;
};

std::vector<WaitGroup> group_waits(const Recording& recording,
                                   const std::vector<Interval>& intervals) {
    std::map<std::tuple<std::uint32_t, WakeCause, NameId>, WaitGroup> groups;
    for (const Interval& interval : intervals) {
        if (interval.state != ThreadState::Blocked || !interval.woken) continue;
        const bool nobody = ended_by_nobody(recording, interval);
        // For packets sent by this machine, the device is how they arrived, not why.
        const auto key = nobody ? std::tuple(0U, interval.wake_cause, interval.wake_device)
                                : std::tuple(interval.waker_tid, WakeCause::Thread, NameId{0});
        WaitGroup& group = groups[key];
        std::tie(group.tid, group.cause, group.device) = key;
        group.blocked_ns += interval.length_ns();
        group.waits.push_back(interval);
    }
    std::vector<WaitGroup> sorted;
    sorted.reserve(groups.size());
    for (auto& [key, group] : groups) sorted.push_back(std::move(group));
    std::stable_sort(sorted.begin(), sorted.end(), [](const WaitGroup& a, const WaitGroup& b) {
        return a.blocked_ns > b.blocked_ns;
    });
    return sorted;
}

// True if the thread was already waiting when the interval begins.
bool is_cut(const Recording& recording, const Interval& wait) {
    if (wait.counted) return false;
    if (wait.begin_ns <= recording.begin_ns) return true;
    const Thread* thread = recording.find_thread(wait.tid);
    return thread == nullptr ||
           std::none_of(
               thread->changes.begin(), thread->changes.end(), [&](const StateChange& change) {
                   return change.at_ns == wait.begin_ns && change.state == ThreadState::Blocked;
               });
}

WakerReport report_waker(const Recording& recording, const trace::Delay& delay,
                         const WaitGroup& group) {
    WakerReport waker;
    waker.interrupt = group.tid == 0;
    waker.cause = group.cause;
    waker.device = recording.name(group.device);
    const auto shorter = [](const Interval& a, const Interval& b) {
        return a.length_ns() < b.length_ns();
    };
    const auto [shortest, longest] =
        std::minmax_element(group.waits.begin(), group.waits.end(), shorter);
    waker.shortest_ns = shortest->length_ns();
    waker.longest_ns = longest->length_ns();
    waker.longest_is_cut = is_cut(recording, *longest);
    waker.tid = group.tid;
    waker.blocked_ns = group.blocked_ns;
    waker.count = group.waits.size();
    const TimeSplit waits = split_time(recording, group.waits);
    if (!waits.blocked.empty()) waker.reason = waits.blocked.front().reason;
    if (waker.interrupt) return waker;
    const ThreadName name = name_thread(recording, delay, group.tid);
    waker.pid = name.pid;
    waker.thread = name.thread;
    waker.process = name.process;
    std::vector<Interval> meanwhile;
    for (const Interval& wait : group.waits) {
        for (const Interval& interval :
             intervals_of_thread(recording, group.tid, {wait.begin_ns, wait.end_ns})) {
            meanwhile.push_back(interval);
        }
    }
    waker.split = split_time(recording, meanwhile);
    const StackTimes times = StackTimes::of(recording, meanwhile, waker.split);
    CallTree tree(recording);
    tree.add(times);
    waker.calls = tree.lines(tree.total_ns() / 100, 20);
    for (FunctionTime& function : times.functions(recording)) {
        if (!function.kernel) waker.functions.push_back(std::move(function));
    }
    keep_first(waker.functions, 20);
    return waker;
}

ReceiverReport report_receiver(const Recording& recording, const trace::Delay& delay,
                               const std::vector<Interval>& intervals) {
    ReceiverReport receiver;
    if (delay.open || delay.end_tid == delay.begin_tid ||
        recording.find_thread(delay.end_tid) == nullptr)
        return receiver;
    std::vector<Interval> meanwhile;
    for (const Interval& gap : intervals) {
        if (gap.gap != Interval::Gap::BetweenThreads) continue;
        for (const Interval& interval :
             intervals_of_thread(recording, delay.end_tid, {gap.begin_ns, gap.end_ns}))
            meanwhile.push_back(interval);
    }
    receiver.split = split_time(recording, meanwhile);
    if (receiver.split.recorded_ns() == 0) return receiver;
    receiver.tid = delay.end_tid;
    receiver.thread = recording.thread_name(delay.end_tid);
    CallTree tree(recording);
    tree.add(StackTimes::of(recording, meanwhile, receiver.split));
    receiver.calls = tree.lines(receiver.split.recorded_ns() / 200, 200);
    return receiver;
}

}  // namespace

DelayReport report_delay(const Recording& recording, const trace::Delay& delay) {
    DelayReport report;
    report.delay = delay;
    const std::vector<Interval> intervals = intervals_of_delay(recording, delay);
    report.split = split_time(recording, intervals);
    report.stages = report_stages(recording, delay, intervals);
    const StackTimes times = StackTimes::of(recording, intervals, report.split);
    report.samples = times.samples();
    report.causes = causes_of_delay(recording, delay);
    CallTree tree(recording);
    tree.add(times);
    report.calls = tree.lines(report.split.recorded_ns() / 200, 200);
    report.innermost = tree.innermost(50);
    for (FunctionTime& function : times.functions(recording)) {
        (function.kernel ? report.kernel_functions : report.functions)
            .push_back(std::move(function));
    }
    keep_first(report.functions, 50);
    keep_first(report.kernel_functions, 50);
    report.stacks = times.stacks(recording);
    keep_first(report.stacks, 500);
    report.receiver = report_receiver(recording, delay, intervals);
    std::vector<WaitGroup> groups = group_waits(recording, by_holder(recording, intervals));
    keep_first(groups, 10);
    for (const WaitGroup& group : groups)
        report.wakers.push_back(report_waker(recording, delay, group));
    return report;
}

MachineReport report_machine(const Recording& recording) {
    MachineReport machine;
    machine.length_ns = recording.end_ns - recording.begin_ns;
    machine.cpu_count = recording.cpu_count;
    std::map<std::uint32_t, std::uint64_t> by_process;
    for (const Thread& thread : recording.threads) {
        std::uint64_t cpu_ns = 0;
        if (recording.has_scheduling) {
            for (const Interval& interval : intervals_of_thread(
                     recording, thread.tid, {recording.begin_ns, recording.end_ns})) {
                if (interval.state == ThreadState::Running) cpu_ns += interval.length_ns();
            }
        } else {
            cpu_ns = thread.samples.size() * recording.sample_interval_ns();
        }
        if (cpu_ns > 0) by_process[thread.pid] += cpu_ns;
    }
    for (const auto& [pid, cpu_ns] : by_process) {
        machine.busy_ns += cpu_ns;
        machine.processes.push_back({pid, recording.process_name(pid), cpu_ns});
    }
    const std::uint64_t whole_ns = machine.length_ns * machine.cpu_count;
    machine.busy_ns = std::min(machine.busy_ns, whole_ns);
    std::stable_sort(
        machine.processes.begin(), machine.processes.end(),
        [](const ProcessTime& a, const ProcessTime& b) { return a.cpu_ns > b.cpu_ns; });
    keep_first(machine.processes, 20);
    return machine;
}

namespace {

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

double ratio(std::uint64_t part, std::uint64_t whole) {
    return ratio(static_cast<double>(part), static_cast<double>(whole));
}

std::optional<double> complete_of(const trace::StackWalks& walks) {
    if (walks.stacks == 0) return std::nullopt;
    return ratio(walks.complete, walks.stacks);
}

void add_stacks(const trace::StackQuality& stacks, QualityReport& quality) {
    quality.stacks_complete = ratio(stacks.user_stacks_complete, stacks.user_stacks);
    quality.on_cpu_complete = complete_of(stacks.on_cpu);
    quality.off_cpu_complete = complete_of(stacks.off_cpu);
    quality.by_frame_pointers =
        ratio(stacks.on_cpu.by_frame_pointers, stacks.user_stacks_complete) +
        ratio(stacks.off_cpu.by_frame_pointers, stacks.user_stacks_complete);
    quality.late = ratio(stacks.on_cpu.late + stacks.off_cpu.late, stacks.user_stacks_complete);
    quality.delayed_complete = complete_of(stacks.delayed);
    quality.delayed_stacks = stacks.delayed.stacks;
    for (const trace::StackStop& stop : stacks.stops)
        quality.stops.push_back(
            {stop.module, stop.reason, ratio(stop.count(), stacks.user_stacks)});
    keep_first(quality.stops, 20);
    quality.other_stops = ratio(stacks.other_stops.count(), stacks.user_stacks);
    quality.frames_named = ratio(stacks.frames_named, stacks.frames);
    quality.frames_located = ratio(stacks.frames_located, stacks.frames);
    quality.naming = stacks.naming;
}

}  // namespace

std::string stop_reason_in_words(const std::string& reason) {
    static const std::map<std::string, std::string> words{
        {"unknown", "reason not known"},
        {"too-deep", "too deep"},
        {"bad-address", "unreadable memory"},
        {"no-process", "new process"},
        {"no-mapping", "no mapping"},
        {"no-table", "no unwind table yet"},
        {"out-of-budget", "no memory for its unwind table"},
        {"gap", "no unwind information"},
        {"unsupported", "unsupported unwind information"},
        {"no-progress", "damaged frames"},
        {"32-bit", "32-bit code"},
        {"copy-ended", "longer than its copy"},
        {"lost", "stack lost"}};
    const auto found = words.find(reason);
    return found != words.end() ? found->second : reason;
}

QualityReport report_quality(const Recording& recording) {
    const trace::SessionQuality& counts = recording.system.quality;
    const trace::StackQuality& stacks = recording.system.stacks;
    QualityReport quality;
    quality.samples = counts.samples_taken;
    quality.partial = recording.system.partial;
    quality.truncated_by_size = counts.truncated_by_size;
    quality.omitted = counts.omitted;
    const auto add_loss = [&](const char* what, std::uint64_t count, std::uint64_t of = 0) {
        if (count > 0) quality.lost.push_back({what, count, of});
    };
    const std::uint64_t switches_lost = std::max(counts.switches_lost, recording.switch_gaps);
    std::uint64_t switches = switches_lost;
    for (const auto& tenures : recording.cpus) switches += tenures.size();
    add_loss("samples", counts.samples_lost, counts.samples_taken + counts.samples_lost);
    add_loss("context switches", switches_lost, switches);
    add_loss("wakings", counts.wakings_lost);
    add_loss("contexts of threads", counts.contexts_lost);
    add_loss("unreadable contexts of threads", counts.contexts_unreadable);
    add_loss("stacks", counts.stacks_lost);
    add_loss("copies of stacks", counts.stack_copies_left_out);
    add_loss("runs", counts.runs_lost);
    add_loss("process changes", counts.task_changes_lost);
    add_loss("files of run-time code", counts.code_files_lost);
    add_loss("unreadable records", recording.unreadable);
    add_stacks(stacks, quality);
    quality.own_cost = ratio(
        static_cast<double>(counts.bpf_run_time_ns) + static_cast<double>(counts.daemon_cpu_ns),
        static_cast<double>(recording.end_ns - recording.begin_ns) * recording.cpu_count);
    return quality;
}

}  // namespace lagtrap::analysis
