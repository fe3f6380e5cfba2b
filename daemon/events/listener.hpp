// The listener: what watches the events of one set of settings. It owns the marker programs, arms events, counts, and sheds; who
// notices breaches is its BreachWatch.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bpf/listener.h"
#include "core/result.hpp"
#include "daemon/events/breach_watch.hpp"
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

// What `lagtrap status` shows of one event.
struct EventStatus {
    std::string name;
    bool armed = false;
    bool arming = false;   // waiting for its turn
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
    struct Options {
        BreachWatch::Options breaches;
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
    // that are in both and did not change. Hits count here from now on, and no more there. Once, after breaches().start(). Gives the
    // moment (CLOCK_MONOTONIC) up to which runs that ended were told there.
    std::uint64_t take_over(Listener& before);

    // Ends the watch: markers are met no more, and breaches not noticed.
    void detach();

    // The following may be called from any thread.

    // Who notices breaches, and knows the runs that are open; to be started by start().
    [[nodiscard]] BreachWatch& breaches() const { return *breaches_; }
    // Of all runs that end while runs are recorded.
    [[nodiscard]] int recorded_runs_fd() const { return programs_->recorded_runs_fd(); }
    // Where runs of events with record="runs" come from.
    [[nodiscard]] int reported_runs_fd() const { return programs_->reported_runs_fd(); }
    [[nodiscard]] int run_quotas_fd() const { return programs_->run_quotas_fd(); }
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
        SeenParties seen;
        std::uint64_t stack_ns = 0;
        CostCounts costs{};
        std::vector<ProbeKind> kinds;  // of its markers; empty: never armed
    };
    [[nodiscard]] std::vector<EventHits> hits() const;
    // Whose hits there were since the last call, by event.
    [[nodiscard]] std::map<std::uint32_t, HitParties> take_parties() { return programs_->parties().take(); }
    // Who has begun runs of any event.
    [[nodiscard]] SeenParties seen_parties() const;
    // Delays of these begin no recording, until the next call.
    void set_parties_without_recordings(const std::set<Party>& parties);

    [[nodiscard]] std::shared_ptr<const MarkerPlaces> marker_places() const { return programs_->marker_places(); }
    // Of its events' runs.
    [[nodiscard]] const std::shared_ptr<RunWeights>& weights() const { return weights_; }
    // Copies that are not opened, as too many are (CopyArming).
    [[nodiscard]] LeftOut copies_left_out() const { return arming_->copies_left_out(); }
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
    Listener(const settings::Settings& settings, Options options);
    void follow_groups();
    // The numbers in `before`, and here, of events whose runs go on.
    [[nodiscard]] std::map<std::uint32_t, std::uint32_t> shared_events(const Listener& before) const;
    void carry(const Listener& before, const std::map<std::uint32_t, RunTakeover::Counts>& moved,
               const std::map<std::uint32_t, std::uint32_t>& numbers);

    std::vector<settings::Event> events_;
    struct Shed {
        bool stacks = false, stages = false;
    };
    mutable std::mutex shed_mutex_;
    std::vector<Shed> shed_;  // by event
    Options options_;
    std::map<std::string, EventTotals> carried_;          // counters of events of these names go on from there
    std::map<std::uint32_t, std::uint64_t> told_before_;  // open runs that were taken over, by event: noticed as delays
    const std::shared_ptr<RunWeights> weights_;
    std::unique_ptr<ListenerPrograms> programs_;
    std::unique_ptr<BreachWatch> breaches_;
    std::unique_ptr<GroupScopes> groups_;  // nullptr: no event's scope names any
    std::string groups_problem_;
    std::unique_ptr<EventArming> arming_;  // last: its threads use the others
};

}  // namespace lagtrap::daemon
