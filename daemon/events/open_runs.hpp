// The open runs: checks them for runs that pass their threshold, and frees those that will never
// end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "bpf/event_monitor.h"
#include "daemon/events/call_frame.hpp"
#include "daemon/events/hit_party.hpp"
#include "daemon/events/run_table.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Not thread-safe.
class OpenRuns {
  public:
    // A run that look() or sweep() freed, of an event with record="runs". end_ns is when it was
    // noticed.
    struct Aborted {
        lagtrap_run_report report{};
        lagtrap_run run{};
    };

    explicit OpenRuns(RunTable table, CallFrames frames = CallFrames())
        : frames_(std::move(frames)), table_(std::move(table)) {}
    [[nodiscard]] const RunTable& table() const { return table_; }

    // Sets the map with the times of each process's last exec. Without it, exec ends no runs. Not
    // owned.
    void follow_programs(int program_starts_fd) { program_starts_fd_ = program_starts_fd; }

    // True if an overdue run of the event is probably slow, rather than one whose end was missed.
    using IsBelieved = std::function<bool(std::uint32_t event)>;
    enum class Tell { Nothing, WhoMayRecord, Everything };
    struct Pass {
        std::uint64_t now_ns = 0;
        const std::vector<settings::Event>& events;
        Tell tell = Tell::Nothing;
        IsBelieved is_believed;
        // age of early runs, by event; empty if there are none
        std::vector<std::uint64_t> early_points_ns{};
        // visit every run, because early points are lower than when some runs began
        bool all = false;
    };
    struct Look {
        // process of a run past its early point and not reported; 0 if none
        std::uint32_t early_pid = 0;
        // time of the next such run among those visited
        std::uint64_t next_early_ns = LAGTRAP_NEVER_NS;
        // newly reported, 512 at most; end_ns is now; see fill_names()
        std::vector<lagtrap_run> overdue;
        // of visited runs neither overdue nor reported
        std::uint64_t earliest_deadline_ns = LAGTRAP_NEVER_NS;
        // when a run that was not visited may be due
        std::uint64_t next_due_ns = LAGTRAP_NEVER_NS;
        std::uint32_t visited = 0;
    };
    // One pass over the buckets, one cache line each; visits the runs of buckets that are due. An
    // overdue run is freed and counted as abandoned if its thread is gone, or if its call was left
    // by an exception or a panic. It is not reported while the state of its goroutine is unknown,
    // if it is doubtful, or if deadlines of its event are not believed. Runs that `tell` excludes
    // can be reported by a later pass.
    [[nodiscard]] Look look(const Pass& pass);

    // True if this run has a slot. The end of a run is reported before its slot is freed.
    [[nodiscard]] bool is_open(std::uint32_t event, std::uint32_t tid,
                               std::uint64_t begin_ns) const;
    struct Snapshot {
        std::vector<lagtrap_run> runs;  // without the names of their threads: see fill_names()
        std::uint64_t left_out = 0;     // open runs beyond the limit
    };
    // Copies of open runs, flagged as open, with end_ns = `now_ns`: at most `limit`, those past
    // their deadline first. Omits overdue runs that look() would not report. A reported call that
    // was left since is flagged as abandoned: it ended some time earlier.
    [[nodiscard]] Snapshot snapshot(std::uint64_t now_ns, const IsBelieved& is_believed,
                                    std::size_t limit) const;

    // Frees the slots of runs whose thread or process is gone, and of overdue calls that were left.
    // Also frees stale runs if their event has so many open runs that some seem to have no end, or
    // if their keys are machine-wide and nobody seems to be left to end them.
    void sweep(std::uint64_t now_ns, const std::vector<settings::Event>& events);
    // Does the same for about so many runs, and continues from there at the next call. True if it
    // has come to the end of the table.
    bool sweep_part(std::uint64_t now_ns, const std::vector<settings::Event>& events,
                    std::size_t runs);

    // Frees the slots of one party's runs of an event, because their ends will be ignored. They
    // count as abandoned.
    void leave_out(std::uint32_t event, const HitParty& who,
                   const std::vector<settings::Event>& events);
    // Tell::WhoMayRecord skips runs of these parties and events.
    void set_parties_without_recordings(std::set<Party> parties) {
        without_recordings_ = std::move(parties);
    }
    void set_events_without_recordings(std::set<std::uint32_t> events) {
        events_without_recordings_ = std::move(events);
    }

    // Frees the slots of all runs of an event whose markers are detached. They count as abandoned.
    void drop(std::uint32_t event, const std::vector<settings::Event>& events);

    // Ignores the stages of the event's open runs, because their markers are being detached or
    // attached.
    void leave_stages(std::uint32_t event);

    // A delay that was reported while open and will not end, for example because its process was
    // killed. Its slot is freed; its data goes into the recording that it started.
    struct LeftDelay {
        lagtrap_run run{};  // see snapshot(); end_ns is when it was noticed
        lagtrap_trace_text text{};
    };
    static constexpr std::size_t left_delays_limit = 256;
    // The last ones since forget_left_delays(). All of them count as abandoned.
    [[nodiscard]] const std::vector<LeftDelay>& left_delays() const { return left_delays_; }
    void forget_left_delays() { left_delays_.clear(); }

    // Runs of one event.
    struct Counts {
        std::uint64_t open = 0;
        // open runs of all events for which there is room; 0 if none is open
        std::uint64_t fit = 0;
        std::uint64_t overdue = 0;  // part of `open`: over the threshold and not doubtful
        // part of `open`: for LAGTRAP_STALE_NS and LAGTRAP_STALE_THRESHOLDS
        std::uint64_t stale = 0;
        std::uint64_t oldest_ns = 0;  // when the oldest open run began; 0 if none is open
        std::uint64_t reported = 0;   // overdue runs that look() reported so far
        // freed by look() and sweep(), because nobody is left to end them
        std::uint64_t abandoned = 0;
        std::uint64_t left = 0;     // part of `abandoned`: calls left by an exception or longjmp
        std::uint64_t expired = 0;  // freed by sweep() as stale
    };
    [[nodiscard]] std::map<std::uint32_t, Counts> count(std::uint64_t now_ns) const;
    // The same at the end of the last sweep, without reading the table: only totals, and `stale`.
    [[nodiscard]] Counts count_swept(std::uint32_t event) const;
    // Returns those since the last call.
    [[nodiscard]] std::vector<Aborted> take_aborted() { return std::exchange(aborted_, {}); }

  private:
    [[nodiscard]] bool may_record(const lagtrap_run& run) const {
        return !without_recordings_.contains(run.begin_party) &&
               !events_without_recordings_.contains(run.event);
    }
    [[nodiscard]] std::uint64_t look_at(const Pass& pass, std::size_t index, std::uint64_t tag,
                                        Look& result);
    [[nodiscard]] std::uint64_t look_early(const Pass& pass, std::size_t index, std::uint64_t tag,
                                           std::uint64_t point_ns, Look& result);
    [[nodiscard]] std::uint64_t look_overdue(const Pass& pass, std::size_t index, std::uint64_t tag,
                                             std::uint64_t deadline_ns, Look& result);
    // False if it ended first.
    bool abandon(std::size_t index, std::uint64_t tag, const lagtrap_run& run,
                 const std::vector<settings::Event>& events);
    // Frees a run whose frame is gone, unless the slot has another run by now.
    void leave(std::size_t index, std::uint64_t tag, std::uint64_t deadline_ns,
               const lagtrap_run& run, const std::vector<settings::Event>& events);
    void sweep_run(std::size_t index, std::uint64_t tag, std::uint64_t now_ns,
                   const std::vector<settings::Event>& events);

    CallFrames frames_;
    std::uint64_t next_early_frame_ns_ = 0;
    int program_starts_fd_ = -1;
    std::set<Party> without_recordings_;
    std::set<std::uint32_t> events_without_recordings_;
    RunTable table_;
    std::map<std::uint32_t, Counts> counts_;    // totals by event; fields about open runs stay 0
    std::uint32_t sweep_at_ = 0;                // the next bucket
    std::map<std::uint32_t, Counts> sweeping_;  // what the current sweep saw, by event
    std::map<std::uint32_t, Counts> swept_;     // what the last one saw
    std::vector<Aborted> aborted_;
    std::vector<LeftDelay> left_delays_;
};

// Fills in the names of the threads that began the runs, as they are now.
void fill_names(std::vector<lagtrap_run>& runs);

}  // namespace lagtrap::daemon
