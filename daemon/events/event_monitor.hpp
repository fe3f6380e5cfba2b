// The event monitor watches the events of one version of the settings. It owns the marker programs,
// arms and disables events, and counts. Its BreachWatch notices breaches.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "bpf/event_monitor.h"
#include "core/result.hpp"
#include "daemon/events/breach_watch.hpp"
#include "daemon/events/disabled_parts.hpp"
#include "daemon/events/earlier_totals.hpp"
#include "daemon/events/event_arming.hpp"
#include "daemon/events/event_thresholds.hpp"
#include "daemon/events/group_scopes.hpp"
#include "daemon/events/hit_party.hpp"
#include "daemon/events/marker_attachments.hpp"
#include "daemon/events/monitor_programs.hpp"
#include "daemon/events/open_runs.hpp"
#include "daemon/events/pairing.hpp"
#include "daemon/events/program_cost.hpp"
#include "daemon/events/run_weights.hpp"
#include "daemon/processes/container_names.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Status of one event for `lagtrap status`.
struct EventStatus {
    std::string name;
    std::uint64_t threshold_ns = 0;  // in force
    bool armed = false;
    bool arming = false;    // not attempted yet
    std::string problem;    // why it is not armed
    bool disabled = false;  // disabled because of its cost; `problem` has the reason
    bool counted = false;   // disabled, but its begins are counted
    bool stacks_disabled = false;
    bool stages_disabled = false;
    OpenRuns::Counts open;
    EventCounters counters;               // includes delays noticed while they were open
    std::vector<PairingFinding> pairing;  // since it was armed
    bool records_runs = false;
    bool by_goroutine = false;  // goroutines are its keys, not threads
    EventCopies copies;
    std::optional<ScopedGroups> groups;  // if the event's scope names control groups
    RunCounters runs;
};

// What happened on a thread of the event monitor.
using MonitorReport = std::variant<BreachReport, ArmingReport>;

class EventMonitor {
  public:
    struct Options {
        // Called on threads of the event monitor; must not block. See BreachWatch and EventArming.
        std::function<void(MonitorReport report)> report;
        bool takes_over = false;  // take_over() will follow; until then hits are only counted
        // See EventArming.
        MappedFiles* mapped_files = nullptr;
        ProcessInspector* inspector = nullptr;
        // must outlive it; nullptr: scopes that name control groups match nothing
        ContainerNames* names = nullptr;
    };

    // Loads the programs; arm_all() attaches them. Errors: BPF is refused.
    [[nodiscard]] static Result<std::unique_ptr<EventMonitor>> create(
        const settings::Settings& settings, const UnwindStore& store, const TimedThreads& threads,
        Options options);
    ~EventMonitor();

    // Attaches the markers of all events on its own thread. An event that cannot be armed has a
    // problem in status(); the others continue. See EventArming::arm_all().
    void arm_all() { arming_->arm_all(); }

    // Continues where `before`, the event monitor of earlier settings, stops: takes over its
    // totals, and the open runs of events that both have and that did not change. From now on hits
    // count here and not there. Call it once, after breaches().start(). Returns the time
    // (CLOCK_MONOTONIC) until which `before` reports ended runs.
    std::uint64_t take_over(EventMonitor& before);

    // Stops watching: markers are detached and breaches not noticed any more.
    void detach();

    // The following is thread-safe.

    // Notices breaches and tracks open runs. Call its start().
    [[nodiscard]] BreachWatch& breaches() const { return *breaches_; }
    // Ring with all runs that end while runs are recorded.
    [[nodiscard]] int recorded_runs_fd() const { return programs_->recorded_runs_fd(); }
    // Ring with runs of events with record="runs".
    [[nodiscard]] int reported_runs_fd() const { return programs_->reported_runs_fd(); }
    [[nodiscard]] int run_quotas_fd() const { return programs_->run_quotas_fd(); }
    [[nodiscard]] std::vector<EventStatus> status() const;
    // Processes that map a file of the event.
    [[nodiscard]] std::set<std::uint32_t> processes_of(std::uint32_t event) const {
        return arming_->copies_of(event).pids;
    }
    // Progress of arming, in events.
    struct Progress {
        std::size_t done = 0, of = 0;
    };
    [[nodiscard]] Progress progress() const;
    // True if the markers are attached in all files that processes were seen to map, or it is known
    // why not.
    [[nodiscard]] bool copies_are_armed() const { return arming_->copies_are_armed(); }
    [[nodiscard]] std::map<std::string, EventCounters> all_counters() const;
    [[nodiscard]] std::map<std::string, EventTotals> all_totals() const;
    [[nodiscard]] const std::vector<settings::Event>& events() const { return events_; }
    [[nodiscard]] std::vector<int> program_fds() const { return programs_->program_fds(); }
    // Hits of each event's markers since this event monitor was created, the time for stacks at
    // them, and the cost of programs.
    struct EventHits {
        std::uint64_t hits = 0, begin_hits = 0, stage_hits = 0;
        std::uint64_t passed = 0;  // part of `hits`: out of scope or limited
        SeenParties seen;
        std::uint64_t stack_ns = 0;
        CostCounts costs{};
        std::vector<ProbeKind> kinds;  // of its markers; empty if never armed
    };
    [[nodiscard]] std::vector<EventHits> hits() const;
    // Hits by party since the last call, by event.
    [[nodiscard]] std::map<std::uint32_t, HitParties> take_parties() {
        return programs_->parties().take();
    }
    // Parties that have begun runs of any event.
    [[nodiscard]] SeenParties seen_parties() const;
    // Delays of these parties start no recording, until the next call.
    void set_parties_without_recordings(const std::set<Party>& parties);
    // The same for events, by number.
    void set_events_without_recordings(const std::set<std::uint32_t>& events);

    [[nodiscard]] std::shared_ptr<const MarkerPlaces> marker_places() const {
        return attachments_->marker_places();
    }
    // Weights of its events' runs.
    [[nodiscard]] const std::shared_ptr<RunWeights>& weights() const { return weights_; }
    // In force for its events.
    [[nodiscard]] const std::shared_ptr<EventThresholds>& thresholds() const { return thresholds_; }
    // Number of copies not opened because of limits (CopyArming).
    [[nodiscard]] LeftOut copies_left_out() const { return arming_->copies_left_out(); }
    [[nodiscard]] std::vector<WatchedFileStatus> watched_files() const { return arming_->files(); }

    // See EventArming. The open runs of a detached event are dropped.
    void disable(std::uint32_t event, const std::string& reason, bool count) {
        arming_->disable(event, reason, count);
    }
    [[nodiscard]] Status watch_stages(std::uint32_t event, bool wanted);
    void enable(std::uint32_t event, bool report_success) {
        arming_->enable(event, report_success);
    }
    void look_at_files() const { arming_->look_at_files(); }

    // Do not call the following on several threads at once.

    // Changes the threshold of an event. Open runs keep their deadlines; at their end, the new
    // threshold counts.
    [[nodiscard]] Status set_threshold(std::uint32_t event, std::chrono::nanoseconds threshold);
    // Hits of `who` are only counted, or handled again. Drops the party's open runs. disable()
    // ends limits too.
    [[nodiscard]] Status limit(std::uint32_t event, const HitParty& who, bool wanted);
    // Switches the time breakdown of runs. Runs that were open while it was off have none.
    [[nodiscard]] Status count_times(bool wanted);
    // Estimated cost of the time breakdown so far, by context switches. 0 if it is off.
    [[nodiscard]] std::uint64_t times_cost_ns() const;
    // Switches stacks at the markers of an event off or on.
    [[nodiscard]] Status take_stacks(std::uint32_t event, bool wanted);

  private:
    EventMonitor(const settings::Settings& settings, Options options);
    void follow_groups();
    // Events whose runs continue: their numbers in `before` and here.
    [[nodiscard]] std::map<std::uint32_t, std::uint32_t> shared_events(
        const EventMonitor& before) const;

    std::vector<settings::Event> events_;
    DisabledParts disabled_;
    Options options_;
    EarlierTotals earlier_;  // set by take_over()
    const std::shared_ptr<RunWeights> weights_;
    const std::shared_ptr<EventThresholds> thresholds_;
    std::unique_ptr<MonitorPrograms> programs_;
    std::unique_ptr<MarkerAttachments> attachments_;
    std::unique_ptr<BreachWatch> breaches_;
    std::unique_ptr<GroupScopes> groups_;  // nullptr if no event's scope names groups
    std::string groups_problem_;
    std::unique_ptr<EventArming> arming_;  // last: its threads use the other members
};

}  // namespace lagtrap::daemon
