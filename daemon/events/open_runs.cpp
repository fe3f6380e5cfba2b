#include "daemon/events/open_runs.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "daemon/events/run_life.hpp"
#include "daemon/events/runs_so_far.hpp"

namespace lagtrap::daemon {
namespace {

// An event with up to this many open runs keeps them as long as something may end them.
constexpr std::uint64_t open_runs_kept = 256;
// Each check reports a run past its early point, and reading a frame needs a helper thread. So read
// frames less often.
constexpr std::uint64_t early_frame_interval_ns = 10'000'000;

// The BPF programs leave the thread name of open runs to us, because reading it here costs the
// watched program nothing.
void fill_name(lagtrap_run& run) {
    std::memset(run.comm, 0, sizeof(run.comm));
    const auto path = "/proc/" + std::to_string(run.begin_pid) + "/task/" + std::to_string(run.begin_tid) + "/comm";
    if (auto name = read_file(path, 64); name && !name->empty())
        // It ends with a newline.
        std::memcpy(run.comm, name->data(), std::min(name->size() - 1, sizeof(run.comm) - 1));
}

// Fills in the fields of an open or dropped run for a recording.
void describe_open(lagtrap_run& run, std::uint64_t now_ns, bool reported) {
    run.end_ns = now_ns;
    run.header.at_ns = now_ns;
    run.header.type = LAGTRAP_RECORD_RUN;
    run.header.size_bytes =
        static_cast<std::uint32_t>(offsetof(lagtrap_run, stages) + run.stage_count * sizeof(lagtrap_stage_hit));
    run.end_pid = run.begin_pid;
    run.end_tid = run.begin_tid;
    run.end_cpu = run.begin_cpu;
    fill_name(run);
    run.flags |= LAGTRAP_RUN_OPEN;
    if (reported) run.flags |= LAGTRAP_RUN_REPORTED;
}

}  // namespace

bool OpenRuns::abandon(std::size_t index, std::uint64_t tag, const lagtrap_run& run,
                       const std::vector<settings::Event>& events) {
    const lagtrap_slot& slot = table_.slot(index);
    Aborted aborted{slot.report, run};
    LeftDelay left{run, trace_text_of(run, slot)};
    const bool reported = load(slot.reported) != 0;
    if (!table_.free(index, tag)) return false;
    ++counts_[run.event].abandoned;
    if (reported) {
        describe_open(left.run, monotonic_ns(), true);
        if (left_delays_.size() >= left_delays_limit) left_delays_.erase(left_delays_.begin());
        left_delays_.push_back(left);
    }
    if (run.event >= events.size() || events[run.event].record != settings::RecordMode::Runs) return true;
    aborted.run.end_ns = monotonic_ns();
    aborted_.push_back(aborted);
    return true;
}

// Reading the frame takes time. Meanwhile the thread may have begun another run in the same slot,
// with a later deadline.
void OpenRuns::leave(std::size_t index, std::uint64_t tag, std::uint64_t deadline_ns, const lagtrap_run& run,
                     const std::vector<settings::Event>& events) {
    __u64 expected_ns = deadline_ns;
    if (!__atomic_compare_exchange_n(&table_.slot(index).deadline_ns, &expected_ns, 0, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_RELAXED))
        return;
    if (abandon(index, tag, run, events)) ++counts_[run.event].left;
}

// For runs that would start a recording if they passed their threshold. A run whose breach is
// noticed at its end still counts after its threshold, unless it is so old that it may have no end.
void OpenRuns::look_early(std::size_t index, std::uint64_t tag, std::uint64_t now_ns,
                          const std::vector<settings::Event>& events, std::uint64_t point_ns, Look& result) {
    const lagtrap_slot& slot = table_.slot(index);
    const std::uint64_t deadline_ns = load(slot.deadline_ns);
    const std::uint64_t early_ns = load(slot.run.begin_ns) + point_ns;
    if (early_ns > now_ns) {
        result.next_early_ns = std::min(result.next_early_ns, early_ns);
        return;
    }
    if (result.early_pid != 0 || load(slot.doubtful) != 0 || is_stale(slot, now_ns)) return;
    const std::uint32_t event = slot.run.event;
    if (event >= events.size()) return;
    if (events[event].breach == settings::BreachMode::Deadline && deadline_ns < now_ns) return;
    const auto run = table_.read(index, tag);
    if (!run || without_recordings_.contains(run->begin_party) || !can_end(*run, events, program_starts_fd_)) return;
    if (!is_of_goroutine(*run) && now_ns >= next_early_frame_ns_) {
        next_early_frame_ns_ = now_ns + early_frame_interval_ns;
        if (frame_of(*run, slot, events[event], frames_) == FrameState::Gone)
            return leave(index, tag, deadline_ns, *run, events);
    }
    result.early_pid = run->begin_pid;
}

OpenRuns::Look OpenRuns::look(std::uint64_t now_ns, const std::vector<settings::Event>& events, Tell tell,
                              const IsBelieved& is_believed, const std::vector<std::uint64_t>& early_points_ns) {
    Look result;
    table_.for_each_open([&](std::size_t index, std::uint64_t tag) {
        ++result.open;
        lagtrap_slot& slot = table_.slot(index);
        const std::uint64_t deadline_ns = load(slot.deadline_ns);
        const std::uint32_t event = slot.run.event;
        if (deadline_ns == 0 || (deadline_ns & LAGTRAP_DEADLINE_TOLD) != 0 || event >= events.size()) return;
        const std::uint64_t early_ns = event < early_points_ns.size() ? early_points_ns[event] : LAGTRAP_NEVER_NS;
        if (early_ns != LAGTRAP_NEVER_NS && is_believed(event))
            look_early(index, tag, now_ns, events, early_ns, result);
        if (events[event].breach != settings::BreachMode::Deadline) return;
        if (deadline_ns >= now_ns) {
            result.earliest_deadline_ns = std::min(result.earliest_deadline_ns, deadline_ns);
            return;
        }
        if (tell == Tell::Nothing || load(slot.doubtful) != 0 || !is_believed(event)) return;
        auto run = table_.read(index, tag);
        if (!run || (tell == Tell::WhoMayRecord && without_recordings_.contains(run->begin_party))) return;
        if (!can_end(*run, events, program_starts_fd_)) {
            abandon(index, tag, *run, events);
            return;
        }
        const FrameState frame = frame_of(*run, slot, events[event], frames_);
        if (frame == FrameState::Gone) return leave(index, tag, deadline_ns, *run, events);
        if (frame == FrameState::Unknown) return;
        // Its end sees this bit; or the end came first and is a breach itself.
        __u64 expected_ns = deadline_ns;
        if (!__atomic_compare_exchange_n(&slot.deadline_ns, &expected_ns, deadline_ns | LAGTRAP_DEADLINE_TOLD, false,
                                         __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            return;
        __atomic_store_n(&slot.reported, 1, __ATOMIC_RELEASE);
        run->end_ns = now_ns;
        run->flags |= LAGTRAP_RUN_OPEN | LAGTRAP_RUN_DELAY | LAGTRAP_RUN_REPORTED;
        fill_name(*run);
        ++counts_[event].told;
        result.overdue.push_back(*run);
    });
    return result;
}

bool OpenRuns::is_open(std::uint32_t event, std::uint32_t tid, std::uint64_t begin_ns) const {
    for (std::size_t index = 0; index < LAGTRAP_OPEN_SLOTS; ++index) {
        // The slot of a run that is being ended may not have been reported yet.
        if (RunTable::is_spill_count(index) || load(table_.tag(index)) == 0) continue;
        const lagtrap_run& run = table_.slot(index).run;
        if (run.event == event && run.begin_tid == tid && load(run.begin_ns) == begin_ns) return true;
    }
    return false;
}

std::vector<lagtrap_run> OpenRuns::snapshot(std::uint64_t now_ns, const IsBelieved& is_believed) const {
    std::vector<lagtrap_run> runs;
    table_.for_each_open([&](std::size_t index, std::uint64_t tag) {
        auto run = table_.read(index, tag);
        if (!run) return;
        const bool reported = load(table_.slot(index).reported) != 0;
        const bool overdue = load(table_.slot(index).deadline_ns) < now_ns;
        if (overdue && (load(table_.slot(index).doubtful) != 0 || (!reported && !is_believed(run->event)))) return;
        if (overdue && is_of_goroutine(*run) && goroutine_state(*run, table_.slot(index)) != FrameState::Alive) return;
        const bool was_left = overdue && has_left_call(*run, table_.slot(index), frames_);
        if (was_left && !reported) return;
        describe_open(*run, now_ns, reported);
        if (was_left) run->flags |= LAGTRAP_RUN_ABANDONED;
        runs.push_back(*run);
    });
    return runs;
}

void OpenRuns::sweep(std::uint64_t now_ns, const std::vector<settings::Event>& events) {
    bool any_open = false;
    table_.for_each_open([&](std::size_t index, std::uint64_t tag) {
        any_open = true;
        const auto run = table_.read(index, tag);
        if (run && (!can_end(*run, events, program_starts_fd_) || goroutine_ended(*run, table_.slot(index), now_ns)))
            abandon(index, tag, *run, events);
        const std::uint64_t deadline_ns = load(table_.slot(index).deadline_ns);
        if (run && deadline_ns != 0 && deadline_ns < now_ns && has_left_call(*run, table_.slot(index), frames_))
            leave(index, tag, deadline_ns, *run, events);
    });
    if (!any_open) return;
    const auto counts = count(now_ns);
    table_.for_each_open([&](std::size_t index, std::uint64_t tag) {
        const auto run = table_.read(index, tag);
        if (!run || !is_stale(table_.slot(index), now_ns)) return;
        const auto of_event = counts.find(run->event);
        const bool crowded = of_event != counts.end() && of_event->second.open > open_runs_kept;
        if (!crowded && !outlived(*run, table_.slot(index), now_ns, events)) return;
        if (table_.free(index, tag)) ++counts_[run->event].expired;
    });
}

void OpenRuns::leave_out(std::uint32_t event, const HitParty& who, const std::vector<settings::Event>& events) {
    table_.for_each_open([&](std::size_t index, std::uint64_t tag) {
        const auto run = table_.read(index, tag);
        const bool is_theirs =
            run && run->event == event && run->begin_party == who.party && (who.pid == 0 || run->begin_pid == who.pid);
        if (is_theirs) abandon(index, tag, *run, events);
    });
}

void OpenRuns::drop(std::uint32_t event, const std::vector<settings::Event>& events) {
    table_.for_each_open([&](std::size_t index, std::uint64_t tag) {
        if (table_.slot(index).run.event != event) return;
        if (const auto run = table_.read(index, tag)) abandon(index, tag, *run, events);
    });
}

void OpenRuns::leave_stages(std::uint32_t event) {
    table_.for_each_open([&](std::size_t index, std::uint64_t) {
        lagtrap_run& run = table_.slot(index).run;
        if (run.event != event) return;
        __atomic_fetch_or(&run.flags, static_cast<std::uint8_t>(LAGTRAP_RUN_WITHOUT_STAGES), __ATOMIC_RELAXED);
    });
}

std::map<std::uint32_t, OpenRuns::Counts> OpenRuns::count(std::uint64_t now_ns) const {
    auto counts = counts_;
    table_.for_each_open([&](std::size_t index, std::uint64_t) {
        const lagtrap_slot& slot = table_.slot(index);
        Counts& of_event = counts[slot.run.event];
        const std::uint64_t begin_ns = slot.run.begin_ns, deadline_ns = load(slot.deadline_ns);
        ++of_event.open;
        if (deadline_ns == 0) return;
        of_event.oldest_ns = of_event.oldest_ns == 0 ? begin_ns : std::min(of_event.oldest_ns, begin_ns);
        if (deadline_ns < now_ns && load(slot.doubtful) == 0) ++of_event.overdue;
        if (is_stale(slot, now_ns)) ++of_event.stale;
    });
    return counts;
}

}  // namespace lagtrap::daemon
