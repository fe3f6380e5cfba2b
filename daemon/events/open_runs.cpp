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
// Others wait for the table during a pass.
constexpr std::size_t overdue_of_pass = 512;
// Each check reports a run past its early point, and reading a frame needs a helper thread. So read
// frames less often.
constexpr std::uint64_t early_frame_interval_ns = 10'000'000;

// The BPF programs leave the thread name of open runs to us, because reading it here costs the
// watched program nothing.
void fill_name(lagtrap_run& run) {
    std::memset(run.comm, 0, sizeof(run.comm));
    const auto path = "/proc/" + std::to_string(run.begin_pid) + "/task/" +
                      std::to_string(run.begin_tid) + "/comm";
    if (auto name = read_file(path, 64); name && !name->empty())
        // It ends with a newline.
        std::memcpy(run.comm, name->data(), std::min(name->size() - 1, sizeof(run.comm) - 1));
}

// Fills in the fields of an open or dropped run for a recording, except for its thread's name.
void describe_open(lagtrap_run& run, std::uint64_t now_ns, bool reported) {
    run.end_ns = now_ns;
    run.header.at_ns = now_ns;
    run.header.type = LAGTRAP_RECORD_RUN;
    run.header.size_bytes = static_cast<std::uint32_t>(offsetof(lagtrap_run, stages) +
                                                       run.stage_count * sizeof(lagtrap_stage_hit));
    run.end_pid = run.begin_pid;
    run.end_tid = run.begin_tid;
    run.end_cpu = run.begin_cpu;
    run.flags |= LAGTRAP_RUN_OPEN;
    if (reported) run.flags |= LAGTRAP_RUN_REPORTED;
}

}  // namespace

void fill_names(std::vector<lagtrap_run>& runs) {
    std::map<std::uint32_t, std::size_t> of_thread;  // its first run
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto [first, is_new] = of_thread.emplace(runs[i].begin_tid, i);
        if (is_new)
            fill_name(runs[i]);
        else
            std::memcpy(runs[i].comm, runs[first->second].comm, sizeof(runs[i].comm));
    }
}

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
        fill_name(left.run);
        if (left_delays_.size() >= left_delays_limit) left_delays_.erase(left_delays_.begin());
        left_delays_.push_back(left);
    }
    if (run.event >= events.size() || events[run.event].record != settings::RecordMode::Runs)
        return true;
    aborted.run.end_ns = monotonic_ns();
    aborted_.push_back(aborted);
    return true;
}

// Reading the frame takes time. Meanwhile the thread may have begun another run in the same slot,
// with a later deadline.
void OpenRuns::leave(std::size_t index, std::uint64_t tag, std::uint64_t deadline_ns,
                     const lagtrap_run& run, const std::vector<settings::Event>& events) {
    __u64 expected_ns = deadline_ns;
    if (!__atomic_compare_exchange_n(&table_.slot(index).deadline_ns, &expected_ns, 0, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        return;
    if (abandon(index, tag, run, events)) ++counts_[run.event].left;
}

// For runs that would start a recording if they passed their threshold. A run whose breach is
// noticed at its end still counts after its threshold, unless it is so old that it may have no end.
// Returns when the run must be visited again.
std::uint64_t OpenRuns::look_early(const Pass& pass, std::size_t index, std::uint64_t tag,
                                   std::uint64_t point_ns, Look& result) {
    const lagtrap_slot& slot = table_.slot(index);
    const std::uint64_t early_ns = load(slot.run.begin_ns) + point_ns;
    if (early_ns > pass.now_ns) {
        result.next_early_ns = std::min(result.next_early_ns, early_ns);
        return early_ns;
    }
    const std::uint32_t event = slot.run.event;
    const std::uint64_t deadline_ns = load(slot.deadline_ns);
    const bool is_over =
        pass.events[event].breach == settings::BreachMode::Deadline && deadline_ns < pass.now_ns;
    if (is_over || load(slot.doubtful) != 0 || is_stale(slot, pass.now_ns)) return LAGTRAP_NEVER_NS;
    if (result.early_pid != 0 || !pass.is_believed(event)) return RunTable::at_next_pass_ns;
    const auto run = table_.read(index, tag);
    if (!run || !may_record(*run) || !can_end(*run, pass.events, program_starts_fd_, pass.now_ns))
        return RunTable::at_next_pass_ns;
    if (!is_of_goroutine(*run) && pass.now_ns >= next_early_frame_ns_) {
        next_early_frame_ns_ = pass.now_ns + early_frame_interval_ns;
        if (frame_of(*run, slot, pass.events[event], frames_) == FrameState::Gone) {
            leave(index, tag, deadline_ns, *run, pass.events);
            return LAGTRAP_NEVER_NS;
        }
    }
    result.early_pid = run->begin_pid;
    return RunTable::at_next_pass_ns;
}

// Returns when the run must be visited again: not before its end if it was reported or cannot be.
std::uint64_t OpenRuns::look_overdue(const Pass& pass, std::size_t index, std::uint64_t tag,
                                     std::uint64_t deadline_ns, Look& result) {
    lagtrap_slot& slot = table_.slot(index);
    const std::uint32_t event = slot.run.event;
    if (load(slot.doubtful) != 0) return LAGTRAP_NEVER_NS;
    if (pass.tell == Tell::Nothing || !pass.is_believed(event) ||
        result.overdue.size() == overdue_of_pass)
        return RunTable::at_next_pass_ns;
    auto run = table_.read(index, tag);
    if (!run || (pass.tell == Tell::WhoMayRecord && !may_record(*run)))
        return RunTable::at_next_pass_ns;
    if (!can_end(*run, pass.events, program_starts_fd_, pass.now_ns)) {
        abandon(index, tag, *run, pass.events);
        return LAGTRAP_NEVER_NS;
    }
    const FrameState frame = frame_of(*run, slot, pass.events[event], frames_);
    if (frame == FrameState::Gone) leave(index, tag, deadline_ns, *run, pass.events);
    if (frame != FrameState::Alive) return RunTable::at_next_pass_ns;
    // Its end sees this bit; or the end came first and is a breach itself.
    __u64 expected_ns = deadline_ns;
    if (!__atomic_compare_exchange_n(&slot.deadline_ns, &expected_ns,
                                     deadline_ns | LAGTRAP_DEADLINE_REPORTED, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        return RunTable::at_next_pass_ns;
    __atomic_store_n(&slot.reported, 1, __ATOMIC_RELEASE);
    run->end_ns = pass.now_ns;
    run->flags |= LAGTRAP_RUN_OPEN | LAGTRAP_RUN_DELAY | LAGTRAP_RUN_REPORTED;
    ++counts_[event].reported;
    result.overdue.push_back(*run);
    return LAGTRAP_NEVER_NS;
}

std::uint64_t OpenRuns::look_at(const Pass& pass, std::size_t index, std::uint64_t tag,
                                Look& result) {
    const lagtrap_slot& slot = table_.slot(index);
    const std::uint64_t deadline_ns = load(slot.deadline_ns);
    const std::uint32_t event = slot.run.event;
    // A slot that is being filled has its bucket visited when it is.
    if (deadline_ns == 0 || (deadline_ns & LAGTRAP_DEADLINE_REPORTED) != 0 ||
        event >= pass.events.size())
        return LAGTRAP_NEVER_NS;
    std::uint64_t again_ns = LAGTRAP_NEVER_NS;
    const std::uint64_t early_ns =
        event < pass.early_points_ns.size() ? pass.early_points_ns[event] : LAGTRAP_NEVER_NS;
    if (early_ns != LAGTRAP_NEVER_NS) again_ns = look_early(pass, index, tag, early_ns, result);
    if (pass.events[event].breach != settings::BreachMode::Deadline) return again_ns;
    if (deadline_ns >= pass.now_ns) {
        result.earliest_deadline_ns = std::min(result.earliest_deadline_ns, deadline_ns);
        return std::min(again_ns, deadline_ns);
    }
    return std::min(again_ns, look_overdue(pass, index, tag, deadline_ns, result));
}

OpenRuns::Look OpenRuns::look(const Pass& pass) {
    Look result;
    result.next_due_ns =
        table_.visit_due(pass.now_ns, pass.all, [&](std::size_t index, std::uint64_t tag) {
            ++result.visited;
            return look_at(pass, index, tag, result);
        });
    return result;
}

bool OpenRuns::is_open(std::uint32_t event, std::uint32_t tid, std::uint64_t begin_ns) const {
    for (std::size_t index = 0; index < table_.slots(); ++index) {
        // The slot of a run that is being ended may not have been reported yet.
        if (RunTable::is_state(index) || load(table_.tag(index)) == 0) continue;
        const lagtrap_run& run = table_.slot(index).run;
        if (run.event == event && run.begin_tid == tid && load(run.begin_ns) == begin_ns)
            return true;
    }
    return false;
}

OpenRuns::Snapshot OpenRuns::snapshot(std::uint64_t now_ns, const IsBelieved& is_believed,
                                      std::size_t limit) const {
    Snapshot result;
    table_.for_each_overdue_first(now_ns, [&](std::size_t index, std::uint64_t tag) {
        if (result.runs.size() == limit) {
            ++result.left_out;
            return true;
        }
        auto run = table_.read(index, tag);
        if (!run) return true;
        const bool reported = load(table_.slot(index).reported) != 0;
        const bool overdue = load(table_.slot(index).deadline_ns) < now_ns;
        if (overdue &&
            (load(table_.slot(index).doubtful) != 0 || (!reported && !is_believed(run->event))))
            return true;
        if (overdue && is_of_goroutine(*run) &&
            goroutine_state(*run, table_.slot(index)) != FrameState::Alive)
            return true;
        const bool was_left = overdue && has_left_call(*run, table_.slot(index), frames_);
        if (was_left && !reported) return true;
        describe_open(*run, now_ns, reported);
        if (was_left) run->flags |= LAGTRAP_RUN_ABANDONED;
        result.runs.push_back(*run);
        return true;
    });
    return result;
}

void OpenRuns::sweep_run(std::size_t index, std::uint64_t tag, std::uint64_t now_ns,
                         const std::vector<settings::Event>& events) {
    const lagtrap_slot& slot = table_.slot(index);
    const auto run = table_.read(index, tag);
    if (!run) return;
    Counts& seen = sweeping_[run->event];
    ++seen.open;
    if (!can_end(*run, events, program_starts_fd_, now_ns) || goroutine_ended(*run, slot, now_ns)) {
        abandon(index, tag, *run, events);
        return;
    }
    const std::uint64_t deadline_ns = load(slot.deadline_ns);
    if (deadline_ns != 0 && deadline_ns < now_ns && has_left_call(*run, slot, frames_))
        leave(index, tag, deadline_ns, *run, events);
    if (load(table_.tag(index)) != tag || !is_stale(slot, now_ns)) return;
    const bool crowded = swept_[run->event].open > open_runs_kept;
    if (!crowded && !outlived(*run, slot, now_ns, events))
        ++seen.stale;
    else if (table_.free(index, tag))
        ++counts_[run->event].expired;
}

bool OpenRuns::sweep_part(std::uint64_t now_ns, const std::vector<settings::Event>& events,
                          std::size_t runs) {
    std::size_t swept = 0;
    for (; sweep_at_ < table_.buckets() && swept < runs; ++sweep_at_)
        table_.for_each_open_in(sweep_at_, [&](std::size_t index, std::uint64_t tag) {
            ++swept;
            sweep_run(index, tag, now_ns, events);
        });
    if (sweep_at_ < table_.buckets()) return false;
    swept_ = std::exchange(sweeping_, {});
    sweep_at_ = 0;
    return true;
}

void OpenRuns::sweep(std::uint64_t now_ns, const std::vector<settings::Event>& events) {
    swept_ = count(now_ns);
    sweeping_.clear();
    sweep_at_ = 0;
    (void)sweep_part(now_ns, events, table_.slots());
}

OpenRuns::Counts OpenRuns::count_swept(std::uint32_t event) const {
    Counts counts;
    if (const auto total = counts_.find(event); total != counts_.end()) counts = total->second;
    if (const auto swept = swept_.find(event); swept != swept_.end())
        counts.stale = swept->second.stale;
    return counts;
}

void OpenRuns::leave_out(std::uint32_t event, const HitParty& who,
                         const std::vector<settings::Event>& events) {
    table_.for_each_open([&](std::size_t index, std::uint64_t tag) {
        const auto run = table_.read(index, tag);
        const bool is_theirs = run && run->event == event && run->begin_party == who.party &&
                               (who.pid == 0 || run->begin_pid == who.pid);
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
        __atomic_fetch_or(&run.flags, static_cast<std::uint8_t>(LAGTRAP_RUN_WITHOUT_STAGES),
                          __ATOMIC_RELAXED);
    });
}

std::map<std::uint32_t, OpenRuns::Counts> OpenRuns::count(std::uint64_t now_ns) const {
    auto counts = counts_;
    table_.for_each_open([&](std::size_t index, std::uint64_t) {
        const lagtrap_slot& slot = table_.slot(index);
        Counts& of_event = counts[slot.run.event];
        const std::uint64_t begin_ns = slot.run.begin_ns, deadline_ns = load(slot.deadline_ns);
        ++of_event.open;
        of_event.fit = table_.limit();
        if (deadline_ns == 0) return;
        of_event.oldest_ns =
            of_event.oldest_ns == 0 ? begin_ns : std::min(of_event.oldest_ns, begin_ns);
        if (deadline_ns < now_ns && load(slot.doubtful) == 0) ++of_event.overdue;
        if (is_stale(slot, now_ns)) ++of_event.stale;
    });
    return counts;
}

}  // namespace lagtrap::daemon
