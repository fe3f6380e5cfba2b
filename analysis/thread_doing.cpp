#include "analysis/thread_doing.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/block_reason.hpp"
#include "analysis/interruptions.hpp"
#include "analysis/parts.hpp"
#include "analysis/program_path.hpp"
#include "analysis/sightings.hpp"
#include "analysis/spinning.hpp"
#include "analysis/wakers.hpp"

namespace lagtrap::analysis {

namespace {

// A wait may be in several intervals: by holder, or because it lasted for several waits of another
// thread.
std::uint64_t count_whole(const std::vector<Interval>& intervals) {
    std::uint64_t count = 0;
    const Interval* last = nullptr;
    for (const Interval& one : intervals) {
        const bool continued = last != nullptr && one.since_ns != 0 &&
                               last->since_ns == one.since_ns && last->tid == one.tid;
        if (!continued) ++count;
        last = &one;
    }
    return count;
}

// Finds what the delay's thread, or one that it waited for, did.
class DoingSearch {
  public:
    DoingSearch(const Recording& recording, const trace::Delay& delay)
        : recording_(recording), delay_(delay) {}

    [[nodiscard]] ThreadDoing of(const IntervalGroup& group) const {
        ThreadDoing doing;
        doing.kind = group.kind;
        doing.wait = group.wait;
        doing.block = group.block;
        doing.reason = group.reason;
        doing.throttled = group.throttled;
        doing.unknown = group.unknown;
        doing.time_ns = group.time_ns;
        doing.count = count_whole(group.intervals);
        doing.spin = group.spin;
        if (group.spin != SpinKind::None) find_spin_holder(group, doing);
        if (group.kind == TimeKind::OnCpu || group.kind == TimeKind::Blocked)
            find_place(group, doing);
        if (group.kind == TimeKind::Blocked) {
            find_wakers(recording_, delay_, group, doing);
            find_stopper(group, doing);
            doing.room = room_of_most(group);
            doing.files = file_waits_of(recording_, group.intervals, group.wait);
            if (group.wait == WaitKind::Disk || group.wait == WaitKind::PageFault)
                doing.held_back = held_back_in(recording_, group.intervals);
            if (group.wait == WaitKind::Disk && doing.held_back.disk.empty())
                doing.written = written_in(recording_, group.window(), doing.files.disk);
            if (group.wait == WaitKind::Sleep || group.wait == WaitKind::Events)
                find_refusals(group, doing);
        }
        const bool for_others = group.kind == TimeKind::Runnable && !group.throttled;
        if (for_others) doing.cpu = cpu_waits_of(recording_, group.intervals);
        return doing;
    }

    void find_place(const IntervalGroup& group, ThreadDoing& doing) const {
        const auto times =
            StackTimes::of(recording_, group.intervals, split_time(recording_, group.intervals));
        CallTree tree(recording_);
        tree.add(times);
        doing.focus = find_focus(tree, usual_callers(group));
        if (group.kind == TimeKind::Blocked && says_what_the_reason_says(doing)) doing.focus = {};
        doing.handler = handler_of_most(times, tree.total_ns());
        KernelWorkTimes works;
        for (const auto& [stack, time] : times.by_stack()) {
            const KernelWork work = kernel_work_of(recording_, stack);
            const bool is_done = group.kind == TimeKind::OnCpu || !is_of_program(work);
            works.add(is_done ? work : KernelWork::None, time.total_ns());
        }
        std::tie(doing.work, doing.work_ns) = works.longest(tree.total_ns());
        if (group.kind != TimeKind::OnCpu || group.spin != SpinKind::None) return;
        std::uint64_t kernel_ns = 0, faults_ns = 0;
        std::map<NameId, std::uint64_t> functions;
        for (const auto& [stack, time] : times.by_stack()) {
            const auto frames = recording_.stacks[stack];
            if (frames.empty() || !recording_.frames[frames.back()].kernel) continue;
            kernel_ns += time.on_cpu_ns;
            if (is_page_fault(frames)) faults_ns += time.on_cpu_ns;
            if (const auto kernel = program_path(recording_, stack).kernel)
                functions[recording_.frames[*kernel].label] += time.on_cpu_ns;
        }
        if (!is_most(kernel_ns, group.time_ns)) return;
        doing.in_page_faults = is_most(faults_ns, kernel_ns);
        std::string most;
        for (const auto& [label, time_ns] : functions)
            if (is_most(time_ns, kernel_ns)) most = recording_.name(label);
        // The work says it in words.
        if (doing.work != KernelWork::None && is_most(doing.work_ns, group.time_ns)) most.clear();
        if (doing.in_page_faults)
            doing.kernel = "page faults of the kernel" + (most.empty() ? "" : " (" + most + ")");
        else
            doing.kernel = most.empty() ? "the kernel" : most + " of the kernel";
    }

  private:
    [[nodiscard]] ThreadName name_of(std::uint32_t tid) const {
        return name_with_unit(recording_, delay_, tid);
    }

    void find_stopper(const IntervalGroup& group, ThreadDoing& doing) const {
        if (group.block != BlockReason::StoppedBySignal && group.block != BlockReason::Frozen)
            return;
        const auto longest = std::max_element(
            group.intervals.begin(), group.intervals.end(),
            [](const Interval& a, const Interval& b) { return a.length_ns() < b.length_ns(); });
        if (const std::uint32_t stopper = stopper_of(recording_, *longest); stopper != 0)
            doing.stopper = name_of(stopper);
    }

    [[nodiscard]] Room room_of_most(const IntervalGroup& group) const {
        std::map<Room, std::uint64_t> times;
        for (const Interval& wait : group.intervals)
            times[room_of(recording_, wait.stack)] += wait.length_ns();
        for (const auto& [room, time_ns] : times)
            if (is_most(time_ns, group.time_ns)) return room;
        return Room::None;
    }

    // A program that was refused a connection waits before it retries. What it then waits for is
    // not the reason.
    void find_refusals(const IntervalGroup& group, ThreadDoing& doing) const {
        constexpr std::uint64_t just_before_ns = 100'000'000;
        const Window window = group.window();
        std::map<NameId, std::uint32_t> peers;
        for (const FailedConnect& refused : recording_.refused_connects) {
            const bool meanwhile =
                refused.at_ns + just_before_ns >= window.begin_ns && refused.at_ns < window.end_ns;
            if (meanwhile && refused.tid == group.intervals.front().tid) ++peers[refused.peer];
        }
        for (const auto& [peer, count] : peers) {
            if (count <= doing.refusals) continue;
            doing.refused_by = recording_.name(peer);
            doing.refusals = count;
        }
    }

    // For the delay's own thread, "other times" are its other runs.
    [[nodiscard]] std::vector<FunctionKey> usual_callers(const IntervalGroup& group) const {
        const std::vector<Interval>& intervals = group.intervals;
        if (intervals.empty() || intervals.front().tid == 0) return {};
        Window window = group.window();
        if (intervals.front().tid == delay_.begin_tid) window = {delay_.begin_ns, end_of(delay_)};
        return callers_outside(recording_, intervals.front().tid, window);
    }

    [[nodiscard]] std::string handler_of_most(const StackTimes& times,
                                              std::uint64_t total_ns) const {
        std::map<NameId, std::uint64_t> handlers;
        for (const auto& [stack, time] : times.by_stack()) {
            const ProgramPath path = program_path(recording_, stack);
            if (path.handler)
                handlers[recording_.frames[path.steps[*path.handler]].label] += time.total_ns();
        }
        for (const auto& [label, time_ns] : handlers)
            if (is_most(time_ns, total_ns)) return recording_.name(label);
        return "";
    }

    // Without user-space stacks: a kernel function such as futex_do_wait. For disks and kernel
    // locks, it says more than the reason.
    static bool says_what_the_reason_says(const ThreadDoing& doing) {
        if (doing.wait == WaitKind::NoGoroutine) return true;
        const CallPlace& place = doing.focus.place;
        if (place.module != kernel_path || doing.wait == WaitKind::Disk) return false;
        if (doing.wait == WaitKind::KernelLock)
            return facts_of(reason_of_function(place.function)).kind != WaitKind::Other;
        if (doing.wait != WaitKind::Other) return true;
        return doing.block == BlockReason::Unknown
                   ? doing.reason.ends_with(" " + place.function)
                   : doing.block == reason_of_function(place.function);
    }

    // Entry points in Linux 6.1, arch/x86/mm/fault.c; functions below them may be inlined.
    [[nodiscard]] bool is_page_fault(std::span<const std::uint32_t> frames) const {
        constexpr std::array<std::string_view, 3> ways{"exc_page_fault", "asm_exc_page_fault",
                                                       "do_user_addr_fault"};
        return std::any_of(frames.begin(), frames.end(), [&](std::uint32_t place) {
            const Frame& frame = recording_.frames[place];
            return frame.kernel &&
                   std::find(ways.begin(), ways.end(), recording_.name(frame.label)) != ways.end();
        });
    }

    void find_spin_holder(const IntervalGroup& group, ThreadDoing& doing) const {
        doing.yields = static_cast<std::uint64_t>(
            std::count_if(group.intervals.begin(), group.intervals.end(),
                          [](const Interval& one) { return one.yielded; }));
        const std::uint32_t holder = likely_spin_holder(recording_, group.intervals);
        if (holder == 0) return;
        doing.wakers.push_back({name_of(holder), group.time_ns});
        doing.waker_count = 1;
        doing.alike_ns = group.time_ns;
    }

    const Recording& recording_;
    const trace::Delay& delay_;
};

}  // namespace

ThreadDoing doing_in(const Recording& recording, const trace::Delay& delay,
                     const IntervalGroup& group) {
    return DoingSearch(recording, delay).of(group);
}

void find_place(const Recording& recording, const trace::Delay& delay, const IntervalGroup& group,
                ThreadDoing& doing) {
    DoingSearch(recording, delay).find_place(group, doing);
}

}  // namespace lagtrap::analysis
