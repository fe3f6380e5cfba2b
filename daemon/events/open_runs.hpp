// The runs that are open: looked through to notice those that pass their threshold while they are open, and those that nobody
// will end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "bpf/listener.h"
#include "daemon/events/call_frame.hpp"
#include "daemon/events/hit_party.hpp"
#include "daemon/events/run_table.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Not for several threads at once.
class OpenRuns {
  public:
    // A run that was freed by look() or sweep(), of an event whose runs are recorded; end_ns is when it was noticed.
    struct Aborted {
        lagtrap_run_report report{};
        lagtrap_run run{};
    };

    explicit OpenRuns(RunTable table, CallFrames frames = CallFrames())
        : frames_(std::move(frames)), table_(std::move(table)) {}
    [[nodiscard]] const RunTable& table() const { return table_; }

    // The map of when each process last became another program; without it exec ends no run. Not owned.
    void follow_programs(int program_starts_fd) { program_starts_fd_ = program_starts_fd; }

    struct Look {
        std::uint32_t early_pid = 0;                     // whose run is past its early point, and not told of; 0: none
        std::uint64_t next_early_ns = LAGTRAP_NEVER_NS;  // when the next will be
        std::vector<lagtrap_run> overdue;                // not told of before; end_ns is now
        std::uint32_t open = 0;
        std::uint64_t earliest_deadline_ns = LAGTRAP_NEVER_NS;  // of those that are neither overdue nor told of
    };
    // Whether an overdue run of the event is a slow one, rather than one whose end was not seen.
    using IsBelieved = std::function<bool(std::uint32_t event)>;
    // One pass over the tags (64 KiB), reading slots only of runs that are open. An overdue run whose thread is
    // gone, or whose call was left by an exception or a panic, is freed and counted as abandoned instead; one of a goroutine
    // that cannot be asked is not told while it is open. Those that `tell` leaves out stay untold, for a later pass; so do
    // doubtful ones, and those of events that are not believed.
    enum class Tell { Nothing, WhoMayRecord, Everything };
    // `early_points_ns`, by event: the age at which a run is past its early point; empty: there are none.
    [[nodiscard]] Look look(std::uint64_t now_ns, const std::vector<settings::Event>& events, Tell tell,
                            const IsBelieved& is_believed, const std::vector<std::uint64_t>& early_points_ns = {});

    // Whether this run holds a slot. Its end is told before the slot is given up.
    [[nodiscard]] bool is_open(std::uint32_t event, std::uint32_t tid, std::uint64_t begin_ns) const;
    // Copies of all open runs, flagged as open, their end_ns `now_ns`; without overdue ones that look() would not tell. A call
    // that was told of and has been left since is flagged as abandoned: it ended at some time before.
    [[nodiscard]] std::vector<lagtrap_run> snapshot(std::uint64_t now_ns, const IsBelieved& is_believed) const;

    // Frees the slots of runs whose thread or process is gone, and of overdue calls that were left; and of stale ones, where an
    // event has so many runs open that some seem to have no end, or whose keys are the machine's and nobody seems left to end
    // them.
    void sweep(std::uint64_t now_ns, const std::vector<settings::Event>& events);

    // Frees the slots of one party's runs of an event, whose ends will pass; they count as abandoned.
    void leave_out(std::uint32_t event, const HitParty& who, const std::vector<settings::Event>& events);
    // These users' runs are left out by Tell::WhoMayRecord.
    void set_parties_without_recordings(std::set<Party> parties) { without_recordings_ = std::move(parties); }

    // Frees the slots of all runs of an event whose markers are met no more; they count as abandoned.
    void drop(std::uint32_t event, const std::vector<settings::Event>& events);

    // Of the open runs of an event the stages are not told: their markers go, or come back.
    void leave_stages(std::uint32_t event);

    // A delay that was told while it was open and that nobody is left to end: its process was killed, say. It is freed, and what was
    // known of it belongs to the recording that it began.
    struct LeftDelay {
        lagtrap_run run{};  // as snapshot() has it; end_ns is when it was noticed
        lagtrap_trace_text text{};
    };
    static constexpr std::size_t left_delays_limit = 256;
    // The last ones since forget_left_delays() was called; all of them count as abandoned.
    [[nodiscard]] const std::vector<LeftDelay>& left_delays() const { return left_delays_; }
    void forget_left_delays() { left_delays_.clear(); }

    // The runs of one event.
    struct Counts {
        std::uint64_t open = 0;
        std::uint64_t overdue = 0;    // of these, over their threshold, and not doubtful
        std::uint64_t stale = 0;      // of these, for LAGTRAP_STALE_NS and LAGTRAP_STALE_THRESHOLDS
        std::uint64_t oldest_ns = 0;  // when the first of these began; 0: none is open
        std::uint64_t told = 0;       // overdue runs that look() gave, since the beginning
        std::uint64_t abandoned = 0;  // freed by look() and sweep(), as nobody is left to end them
        std::uint64_t left = 0;       // of these, calls that an exception or longjmp left
        std::uint64_t expired = 0;    // freed by sweep(), as stale
    };
    [[nodiscard]] std::map<std::uint32_t, Counts> count(std::uint64_t now_ns) const;
    // Those since the last call.
    [[nodiscard]] std::vector<Aborted> take_aborted() { return std::exchange(aborted_, {}); }

  private:
    void look_early(std::size_t index, std::uint64_t tag, std::uint64_t now_ns,
                    const std::vector<settings::Event>& events, std::uint64_t point_ns, Look& result);
    // False: it ended before.
    bool abandon(std::size_t index, std::uint64_t tag, const lagtrap_run& run,
                 const std::vector<settings::Event>& events);
    // Abandons a run whose frame is gone, unless it is another one by now.
    void leave(std::size_t index, std::uint64_t tag, std::uint64_t deadline_ns, const lagtrap_run& run,
               const std::vector<settings::Event>& events);
    CallFrames frames_;
    std::uint64_t next_early_frame_ns_ = 0;
    int program_starts_fd_ = -1;
    std::set<Party> without_recordings_;
    RunTable table_;
    std::map<std::uint32_t, Counts> counts_;  // what happened, by event; what is open stays 0
    std::vector<Aborted> aborted_;
    std::vector<LeftDelay> left_delays_;
};

}  // namespace lagtrap::daemon
