// Notices breaches and reports them: at the end of a run, from a ring that the BPF programs fill,
// and before the end, by regular checks of the table of open runs. It has its own thread
// (BreachLoop), which waits for nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <variant>
#include <vector>

#include "bpf/event_monitor.h"
#include "core/result.hpp"
#include "daemon/events/breach_loop.hpp"
#include "daemon/events/early_watch.hpp"
#include "daemon/events/hit_party.hpp"
#include "daemon/events/look_times.hpp"
#include "daemon/events/monitor_programs.hpp"
#include "daemon/events/open_runs.hpp"
#include "daemon/events/runs_so_far.hpp"
#include "daemon/events/watch_signals.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// A delay when it was noticed.
struct Breach {
    lagtrap_run run{};         // end_ns is its end, or the time it was noticed if it was still open
    bool at_deadline = false;  // the run was still open
    std::uint64_t noticed_ns = 0;
};

// Runs of events with record="runs" that will never end.
struct AbortedRuns {
    std::vector<OpenRuns::Aborted> runs;
};
struct EarlyRun {  // start an early recording, for a run of this process
    std::uint32_t pid = 0;
};
struct EarlyRunsOver {};  // discard that recording: the runs have ended
using BreachReport = std::variant<Breach, AbortedRuns, EarlyRun, EarlyRunsOver>;

class BreachWatch : private BreachLoop::Work {
  public:
    // Called on the watch's thread, with AbortedRuns also on the thread that noticed them. It must
    // not block.
    using Report = std::function<void(BreachReport report)>;

    // Maps the table and the ring of `programs`, which must outlive this object.
    [[nodiscard]] static Result<std::unique_ptr<BreachWatch>> create(
        const settings::Settings& settings, MonitorPrograms& programs, Report report);
    // Calls stop().
    ~BreachWatch() override;
    BreachWatch(const BreachWatch&) = delete;
    BreachWatch& operator=(const BreachWatch&) = delete;

    void start();
    void stop();

    // The following is thread-safe.

    // Enables breach reports. After a report they are disabled until this is called again with
    // true.
    void want_breach(bool wanted);
    // Switches the recording of all ending runs. Early does not change which delays are reported.
    using Recorded = WatchSignals::Recorded;
    void record_runs(Recorded recorded);
    // See EarlyWatch::outgrow().
    void outgrow_early();
    struct Early {
        std::vector<std::uint64_t> points_ns;  // by event
        EarlyCounts counts;
    };
    [[nodiscard]] Early early() const;
    // Checks the open runs now.
    void look_soon() { loop_.look_soon(); }
    // Calls OpenRuns::sweep() and reports the aborted runs.
    void sweep();

    // How many open runs a recording keeps.
    static constexpr std::size_t recorded_runs_limit = 8192;
    // The open runs up to that limit, and the reported delays that were freed without an end
    // (OpenRuns::LeftDelay).
    [[nodiscard]] OpenRuns::Snapshot open_runs() const;
    void forget_left_delays();
    // See OpenRuns and RunsSoFar, with the same limit. trace_texts() covers the runs of
    // open_runs().
    [[nodiscard]] std::vector<lagtrap_run_so_far> runs_so_far() const;
    [[nodiscard]] std::vector<lagtrap_trace_text> trace_texts() const;
    [[nodiscard]] bool is_open(std::uint32_t event, std::uint32_t tid,
                               std::uint64_t begin_ns) const;
    [[nodiscard]] std::map<std::uint32_t, OpenRuns::Counts> count() const;
    void forget_runs(std::uint32_t event);
    void forget_runs_of(std::uint32_t event, const HitParty& who);
    void forget_stages(std::uint32_t event);
    // For runs that begin from now on.
    void set_threshold(std::uint32_t event, std::chrono::nanoseconds threshold);
    void set_parties_without_recordings(const std::set<Party>& parties);
    void set_events_without_recordings(const std::set<std::uint32_t>& events);

  private:
    BreachWatch(const settings::Settings& settings, MonitorPrograms& programs, RunTable table,
                Report report);
    void look() override;
    bool sweep_part() override;
    void take_notice(const lagtrap_record* record, std::size_t bytes) override;
    void report_aborted();  // call it with mutex_ held
    [[nodiscard]] std::uint64_t look_once(std::uint64_t now_ns);
    void tell(const OpenRuns::Look& seen);
    void take_early(std::uint32_t pid, std::uint64_t now_ns);
    void learn(std::uint64_t now_ns);
    void want_looks();
    [[nodiscard]] bool believes(std::uint32_t event, std::uint64_t now_ns) const;

    const std::vector<settings::Event> events_;
    MonitorPrograms& programs_;
    const Report report_;
    WatchSignals signals_;

    mutable std::mutex mutex_;  // protects the following members, which other threads read
    OpenRuns runs_;
    RunsSoFar so_far_;
    EarlyWatch early_;
    mutable DeadlineBeliefs beliefs_;

    DeadlineThresholds thresholds_;
    std::uint64_t not_before_ns_ = 0;  // when the next pass may begin
    BreachLoop loop_;                  // last: its thread uses the other members
};

}  // namespace lagtrap::daemon
