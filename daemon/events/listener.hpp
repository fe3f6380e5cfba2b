// The listener: owns the marker programs, notices breaches and hands them on. One thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bpf/listener.h"
#include "core/result.hpp"
#include "daemon/events/early_watch.hpp"
#include "daemon/events/event_arming.hpp"
#include "daemon/events/group_scopes.hpp"
#include "daemon/events/hit_party.hpp"
#include "daemon/events/listener_programs.hpp"
#include "daemon/events/open_runs.hpp"
#include "daemon/events/pairing.hpp"
#include "daemon/events/program_cost.hpp"
#include "daemon/events/run_takeover.hpp"
#include "daemon/events/run_weights.hpp"
#include "daemon/processes/container_names.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// A delay as it was noticed.
struct Breach {
    lagtrap_run run{};         // end_ns: its end, or the moment it was noticed while open
    bool at_deadline = false;  // the run was still open
    std::uint64_t noticed_ns = 0;
};

// What `lagtrap status` shows of one event.
struct EventStatus {
    std::string name;
    bool armed = false;
    bool arming = false;   // its turn has not come
    std::string problem;   // why it is not armed
    bool shed = false;     // it was taken out because it cost too much; `problem` says what
    bool counted = false;  // shed, but its begins are counted
    bool stacks_shed = false;
    bool stages_shed = false;
    OpenRuns::Counts open;
    EventCounters counters;               // its delays are those too that were noticed while they were open
    std::vector<PairingFinding> pairing;  // since it was armed
    bool records_runs = false;
    bool by_goroutine = false;  // goroutines are its keys, not threads
    EventCopies copies;
    std::optional<ScopedGroups> groups;  // of an event whose scope names control groups
    RunCounters runs;
};

// What goes on to count when programs are replaced.
struct EventTotals {
    EventCounters counters;
    RunCounters runs;
};

class Listener {
  public:
    // Called on the listener's thread; must only pass the breach on.
    using OnBreach = std::function<void(const Breach&)>;
    // The same; runs of events with record="runs" that will never end.
    using OnAborted = std::function<void(std::vector<OpenRuns::Aborted>)>;
    struct Options {
        OnBreach on_breach;
        OnAborted on_aborted;
        EarlyWatch::Options early;  // the same, called on the listener's thread
        decltype(EventArming::Options::on_armed) on_armed;
        decltype(EventArming::Options::on_replaced) on_replaced;
        bool takes_over = false;  // take_over() will be called; until then hits do nothing but count
        // As EventArming has them.
        FileSightings* sightings = nullptr;
        ProcessInspector* inspector = nullptr;
        ContainerNames* names = nullptr;  // outlives it; nullptr: scopes of control groups hold nobody
    };

    // Loads the programs; arm_all() attaches them. Errors: BPF is refused altogether.
    [[nodiscard]] static Result<std::unique_ptr<Listener>> create(const settings::Settings& settings,
                                                                  const UnwindStore& store, const TimedThreads& threads,
                                                                  Options options);
    ~Listener();

    // Attaches the markers of all events, by a thread of its own; one that cannot be armed has its problem in status(), and
    // the others go on. As EventArming::arm_all().
    void arm_all(std::function<void()> on_first_round) { arming_->arm_all(std::move(on_first_round)); }

    // Goes on where `before` stops, which was made for earlier settings: with its totals, and with the open runs of events
    // that are in both and did not change. Hits count here from now on, and no more there. Once, after start(). Gives the
    // moment (CLOCK_MONOTONIC) up to which runs that ended were told there.
    std::uint64_t take_over(Listener& before);

    // Starts and stops the thread.
    void start();
    void stop();
    // Ends the watch: markers are met no more. After stop() alone, or it stops first.
    void detach();

    // The following may be called from any thread.

    // Whether breaches are reported: after one was, no more are until this is called again with true.
    void want_breach(bool wanted);
    // Switches the recording of every run that ends, into recorded_runs_fd(). In one that is early, delays are noticed as
    // without it.
    enum class Recorded { No, Early, Yes };
    void record_runs(Recorded recorded);
    // As EarlyWatch::outgrow().
    void outgrow_early();
    struct Early {
        std::vector<std::uint64_t> points_ns;  // by event
        EarlyCounts counts;
    };
    [[nodiscard]] Early early() const;
    [[nodiscard]] int recorded_runs_fd() const { return programs_->recorded_runs_fd(); }
    // The tables of threads whose time is counted, by which threads in a run are known.
    // Where runs of events with record="runs" come from.
    [[nodiscard]] int reported_runs_fd() const { return programs_->reported_runs_fd(); }
    [[nodiscard]] int run_quotas_fd() const { return programs_->run_quotas_fd(); }
    // Copies of the runs that are open now.
    [[nodiscard]] std::vector<lagtrap_run> open_runs() const;
    // What is known already of the runs that are open now, whose threads' time is counted.
    [[nodiscard]] std::vector<lagtrap_run_so_far> runs_so_far() const;
    [[nodiscard]] std::vector<lagtrap_trace_text> trace_texts() const;  // of open runs
    // Whether this run is open; once it is not, its record is in the ring, unless it was abandoned.
    [[nodiscard]] bool is_open(std::uint32_t event, std::uint32_t tid, std::uint64_t begin_ns) const;
    [[nodiscard]] std::vector<EventStatus> status() const;
    // That have a file of the event mapped.
    [[nodiscard]] std::set<std::uint32_t> processes_of(std::uint32_t event) const {
        return arming_->copies_of(event).pids;
    }
    // Of the arming, in events.
    struct Progress {
        std::size_t done = 0, of = 0;
    };
    [[nodiscard]] Progress progress() const;
    [[nodiscard]] std::map<std::string, EventCounters> all_counters() const;
    [[nodiscard]] std::map<std::string, EventTotals> all_totals() const;
    [[nodiscard]] const std::vector<settings::Event>& events() const { return events_; }
    [[nodiscard]] std::vector<int> program_fds() const { return programs_->program_fds(); }
    // Hits of the markers of each event since this listener was made, the time that stacks at them took, and what programs took.
    struct EventHits {
        std::uint64_t hits = 0, begin_hits = 0, stage_hits = 0;
        std::uint64_t passed = 0;  // of these, out of scope or limited
        std::uint64_t users_seen = 0;
        std::uint64_t stack_ns = 0;
        CostCounts costs{};
        std::vector<ProbeKind> kinds;  // of its markers; empty: never armed
    };
    [[nodiscard]] std::vector<EventHits> hits() const;
    // Whose hits there were since the last call, by event.
    [[nodiscard]] std::map<std::uint32_t, HitParties> take_parties() { return programs_->parties().take(); }
    // Who has begun runs of any event, as lagtrap_event_counters has it.
    [[nodiscard]] std::uint64_t users_seen() const;
    // Delays of these users begin no recording, until the next call.
    void set_users_without_recordings(const std::set<std::uint32_t>& uids);

    [[nodiscard]] std::shared_ptr<const MarkerPlaces> marker_places() const { return programs_->marker_places(); }
    // Of its events' runs.
    [[nodiscard]] const std::shared_ptr<RunWeights>& weights() const { return weights_; }
    [[nodiscard]] std::vector<WatchedFileStatus> watched_files() const { return arming_->files(); }

    // As EventArming has them; the open runs of an event that is taken out are forgotten.
    void shed(std::uint32_t event, std::string reason, bool count) { arming_->shed(event, std::move(reason), count); }
    [[nodiscard]] Status watch_stages(std::uint32_t event, bool wanted);
    void arm_again(std::uint32_t event, bool tell) { arming_->arm_again(event, tell); }
    void look_at_files() const { arming_->look_at_files(); }

    // The following may be called from one thread at a time.

    // Hits of these do nothing but count, from now on or no more. Their open runs are forgotten. shed() ends it too.
    [[nodiscard]] Status limit(std::uint32_t event, const HitParty& who, bool wanted);
    // Whether it is counted where the time of runs goes. Runs that were open meanwhile have no times.
    [[nodiscard]] Status count_times(bool wanted);
    // What that took of the machine since it runs, as far as it can be told: by context switches. 0: it is not counted.
    [[nodiscard]] std::uint64_t times_cost_ns() const;
    // Stacks at the markers of an event, off and on again.
    [[nodiscard]] Status take_stacks(std::uint32_t event, bool wanted);

  private:
    struct Loop;
    Listener(const settings::Settings& settings, Options options);
    void forget_runs(std::uint32_t event);
    void forget_stages(std::uint32_t event);
    void follow_groups();
    // The numbers in `before`, and here, of events whose runs go on.
    [[nodiscard]] std::map<std::uint32_t, std::uint32_t> shared_events(const Listener& before) const;
    void carry(const Listener& before, const std::map<std::uint32_t, RunTakeover::Counts>& moved,
               const std::map<std::uint32_t, std::uint32_t>& numbers);

    std::vector<settings::Event> events_;
    mutable std::mutex stacks_mutex_;
    std::vector<bool> stacks_shed_, stages_shed_;
    Options options_;
    std::map<std::string, EventTotals> carried_;          // counters of events of these names go on from there
    std::map<std::uint32_t, std::uint64_t> told_before_;  // open runs that were taken over, by event: noticed as delays
    const std::shared_ptr<RunWeights> weights_;
    std::unique_ptr<ListenerPrograms> programs_;
    std::unique_ptr<Loop> loop_;
    std::atomic<bool> breach_wanted_{false};
    std::atomic<Recorded> recorded_{Recorded::No};
    std::thread thread_;
    std::unique_ptr<GroupScopes> groups_;  // nullptr: no event's scope names any
    std::string groups_problem_;
    std::unique_ptr<EventArming> arming_;  // last: its threads use the others
};

}  // namespace lagtrap::daemon
