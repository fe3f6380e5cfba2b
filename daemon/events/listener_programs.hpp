// The listener's BPF programs: opened, configured, loaded and attached in separate steps, each with
// its own errors.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bpf/listener.h"
#include "core/result.hpp"
#include "daemon/events/event_plan.hpp"
#include "daemon/events/marker_places.hpp"
#include "daemon/events/marker_sites.hpp"
#include "daemon/events/party_maps.hpp"
#include "daemon/events/timed_threads.hpp"
#include "daemon/kernel/libbpf_support.hpp"
#include "daemon/probes/overhead_probes.hpp"
#include "daemon/probes/probe_links.hpp"
#include "settings/settings.hpp"

struct bpf_program;
struct listener_bpf;

namespace lagtrap::daemon {

// Counters of one event, summed over all CPUs. The fields have the order of lagtrap_event_counters.
struct EventCounters {
    std::uint64_t delays = 0, reported_delays = 0;
    std::uint64_t abandoned = 0, left = 0, failed = 0, cancelled = 0, lost = 0, expired = 0, unended_late = 0,
                  withdrawn = 0, too_deep = 0, records_lost = 0;
    std::uint64_t out_of_scope = 0, limited = 0, unrecorded = 0, counted = 0, texts_lost = 0;
    lagtrap_seen_parties seen{};  // no counters
    std::uint64_t timed_ns = 0, on_cpu_ns = 0, runnable_ns = 0, handed_over_ns = 0, untimed = 0;
    std::array<std::uint64_t, LAGTRAP_DELAY_PARTS> delays_mostly{};
    std::uint64_t stack_ns = 0;
    std::uint64_t max_ns = 0;
    std::array<std::uint64_t, LAGTRAP_HISTOGRAM_BUCKETS> histogram{};
    std::array<std::uint64_t, LAGTRAP_COST_BUCKETS> costs{};
    std::array<lagtrap_marker_count, LAGTRAP_PLACES> markers{};

    void add(const EventCounters& other);
    // Runs begun and ended.
    [[nodiscard]] std::uint64_t runs() const;
    // Of all markers.
    [[nodiscard]] std::uint64_t hits() const;
    [[nodiscard]] const lagtrap_marker_count& begins() const { return markers[LAGTRAP_PLACE_BEGIN]; }
    [[nodiscard]] const lagtrap_marker_count& ends() const { return markers[LAGTRAP_PLACE_END]; }
    [[nodiscard]] std::uint64_t unmatched_stages() const;
};

// Reports of runs of an event with record="runs".
struct RunCounters {
    std::uint64_t reported = 0;
    std::uint64_t sampled_away = 0;  // other runs represent them
    std::uint64_t ring_full = 0;     // the same, because the ring was full
    std::uint64_t stacks_lost = 0;

    void add(const RunCounters& other);
};

class UnwindStore;

class ListenerPrograms {
  public:
    // Loads the programs for these events without attaching anything. Events keep their index.
    // Stacks at markers are walked with the tables in `store`.
    [[nodiscard]] static Result<std::unique_ptr<ListenerPrograms>> load(const settings::Settings& settings,
                                                                        const UnwindStore& store,
                                                                        const TimedThreads& threads);
    ~ListenerPrograms();

    // Attaches all markers of one event or none, because an event with a missing marker would pair
    // wrongly. May be called again after take_links(). Hits are only counted until
    // let_hits_count(), unless `count_runs` is true.
    [[nodiscard]] Status attach(std::uint32_t event, const EventPlan& plan, bool count_runs);
    // Attaches markers of the event in another copy of one of their files, all or none. `copy` is
    // the copy's number, not 0. The event must be attached; hits are handled like those of its
    // other markers. ErrorKind::Unsupported: another Go version built this copy and keeps goroutine
    // numbers at other offsets.
    [[nodiscard]] Status attach_copy(std::uint32_t event, std::uint32_t copy, const EventPlan& plan);
    // Removes and returns the links in that copy; the caller destroys them, then calls
    // give_back_copy() to free what belonged to them.
    [[nodiscard]] std::vector<Link> take_links_of_copy(std::uint32_t event, std::uint32_t copy);
    void give_back_copy(std::uint32_t event, std::uint32_t copy);
    // Removes and returns the links of one event, including copies; the caller destroys them.
    [[nodiscard]] std::vector<Link> take_links(std::uint32_t event);
    // Keeps only the begin markers attached, including copies: begins are counted, nothing else
    // happens. Returns the other links for the caller to destroy. Not for waits for a CPU.
    [[nodiscard]] std::vector<Link> count_alone(std::uint32_t event);
    // Enables or disables the stages of an event where it is attached now and later. Returns links
    // to destroy.
    [[nodiscard]] Result<std::vector<Link>> watch_stages(std::uint32_t event, bool wanted);
    // Attaches what count_alone() and watch_stages() detached and is wanted again. After an error
    // some of it may be missing.
    [[nodiscard]] Status put_back(std::uint32_t event);
    // The plans that the event is attached with, including copies.
    [[nodiscard]] std::vector<std::shared_ptr<const EventPlan>> plans_of(std::uint32_t event) const;
    // What the kernel does at each attached marker of the event. Thread-safe.
    [[nodiscard]] std::vector<ProbeKind> probe_kinds(std::uint32_t event) const;
    // Where the markers are. The object may outlive the programs.
    [[nodiscard]] std::shared_ptr<const MarkerPlaces> marker_places() const { return marker_places_; }
    // Switches stacks at the markers of an event that has stacks="markers".
    [[nodiscard]] Status take_stacks(std::uint32_t event, bool wanted);
    // Requests a check when a run reaches this age, besides those at the deadline;
    // LAGTRAP_NEVER_NS: no check.
    [[nodiscard]] Status look_after(std::uint32_t event, std::uint64_t age_ns);
    // Changes the threshold of the event. Open runs keep their deadlines.
    [[nodiscard]] Status set_threshold(std::uint32_t event, std::chrono::nanoseconds threshold);
    // Whether hits of the event's markers are handled or only counted. Takes effect for all markers
    // at the same time, although probes come and go one by one.
    [[nodiscard]] Status let_hits_count(std::uint32_t event, bool wanted);
    // Adds or removes a control group in the scope of an event whose scope names groups. `group` is
    // the inode of its folder. ErrorKind::TooLarge: the programs have no room for more.
    // Thread-safe.
    [[nodiscard]] Status scope_group(std::uint32_t event, std::uint64_t group, bool wanted);
    // Whether delays of the event may begin a recording.
    [[nodiscard]] Status let_record(std::uint32_t event, bool allowed);
    // With `wanted`, hits of the party are only counted.
    [[nodiscard]] Status limit(std::uint32_t event, const HitParty& who, bool wanted);
    [[nodiscard]] Status release_all(std::uint32_t event);
    [[nodiscard]] PartyMaps parties() const;
    // True if goroutines are the event's keys, as attached. Thread-safe.
    [[nodiscard]] bool pairs_by_goroutine(std::uint32_t event) const;
    void detach_all();

    // Shared with the running programs; access its fields with __atomic operations only.
    [[nodiscard]] lagtrap_watch* watch() const;
    [[nodiscard]] int tags_fd() const;
    // True if the time of threads is measured. Always false if no event wants it.
    [[nodiscard]] bool counts_times() const { return !time_links_.empty(); }
    // Switches the time breakdown. Runs that were open while it was off have none. May be called on
    // any thread, but not on several at once.
    [[nodiscard]] Status count_times(bool wanted);
    [[nodiscard]] int timed_sets_fd() const;
    [[nodiscard]] int thread_times_fd() const;
    // When each process last started another program (CLOCK_MONOTONIC), by process number.
    [[nodiscard]] int program_starts_fd() const;
    [[nodiscard]] int slots_fd() const;
    // The size of the table of open runs.
    [[nodiscard]] std::uint32_t open_buckets() const;
    [[nodiscard]] int notices_fd() const;
    [[nodiscard]] int recorded_runs_fd() const;
    [[nodiscard]] int reported_runs_fd() const;
    [[nodiscard]] int run_quotas_fd() const;
    // Thread-safe.
    [[nodiscard]] Result<EventCounters> counters(std::uint32_t event) const;
    [[nodiscard]] Result<RunCounters> run_counters(std::uint32_t event) const;
    [[nodiscard]] std::vector<int> program_fds() const;

  private:
    explicit ListenerPrograms(const settings::Settings& settings);
    [[nodiscard]] bool wants_times(const settings::Event& event) const;
    [[nodiscard]] bool wants_any_times() const;
    [[nodiscard]] Status attach_times();
    void name_run_queue_events();
    [[nodiscard]] Result<std::shared_ptr<std::vector<Link>>> attach_run_queue();
    void leave_out_unused();
    // Makes room for so many open runs; 0: by the machine's memory.
    void size_open_runs(std::uint64_t runs);
    [[nodiscard]] Status size_maps(const UnwindStore& store, const TimedThreads& threads);
    [[nodiscard]] Status configure_event(std::uint32_t event, const settings::Runs& runs);
    [[nodiscard]] Status configure_marker(std::uint32_t event, std::uint32_t marker_id, const MarkerPlan& plan);
    // The cookie for each address: the marker and, if arguments are wanted, where they are.
    [[nodiscard]] Result<std::vector<std::uint64_t>> cookies_of(SiteOwner owner, std::uint32_t marker_id,
                                                                const ProbePlaces& places);
    [[nodiscard]] std::uint32_t marker_id_of(std::uint32_t event, const MarkerPlan& plan) const;
    struct Attached;
    void note_go_places(std::uint32_t event, const EventPlan& plan, Attached& attached) const;
    [[nodiscard]] Status check_go_of_copy(std::uint32_t event, const EventPlan& plan);
    using Links = std::array<std::vector<Link>, 3>;  // by role
    // The markers of an event in one copy, or in all files that it was armed with.
    struct Placed {
        std::shared_ptr<const EventPlan> plan;
        Links links;
    };
    // Attaches the roles in `wanted` that have no links in `links`, all or none.
    [[nodiscard]] Status attach_missing(SiteOwner owner, const EventPlan& plan, const std::array<bool, 3>& wanted,
                                        Links& links);
    [[nodiscard]] std::array<bool, 3> wanted_of(std::uint32_t event);
    static void take_role(Placed& placed, lagtrap_marker_role role, std::vector<Link>& taken);
    static void take_all(Placed& placed, std::vector<Link>& taken);
    [[nodiscard]] static std::vector<Link> take_everything(Placed& main, std::map<std::uint32_t, Placed>& copies);
    [[nodiscard]] static std::vector<ProbeKind> kinds_of(const EventPlan& plan);
    [[nodiscard]] bpf_program* program_for(std::uint32_t marker_id, const MarkerPlan& plan) const;
    [[nodiscard]] std::array<bpf_program*, LAGTRAP_TRACEPOINT_PROGRAMS> tracepoint_copies() const;
    [[nodiscard]] Result<ProbeRequest> request_for(SiteOwner owner, const MarkerPlan& plan);
    [[nodiscard]] Status configure_plan(std::uint32_t event, const EventPlan& plan);
    [[nodiscard]] Status change_config(std::uint32_t event, const std::function<void(lagtrap_event_config&)>& change);
    [[nodiscard]] Status change_flag(std::uint32_t event, std::uint32_t flag, bool wanted);

    std::vector<settings::Event> events_;
    std::shared_ptr<listener_bpf> programs_;
    Link exec_link_;
    bool times_wanted_;
    std::vector<Link> time_links_;
    std::vector<std::uint32_t> first_markers_;      // by event: the first of its marker numbers
    std::vector<std::size_t> tracepoint_programs_;  // by marker number
    std::uint32_t markers_ = 0;
    MarkerSites<lagtrap_site> argument_sites_{LAGTRAP_MAX_SITES, "arguments"};
    MarkerSites<lagtrap_exit_site> exit_sites_{LAGTRAP_MAX_EXIT_SITES, "indirect jumps"};
    const std::shared_ptr<MarkerPlaces> marker_places_ = std::make_shared<MarkerPlaces>();
    struct Attached {
        std::vector<ProbeKind> kinds;
        Placed main;
        std::shared_ptr<std::vector<Link>> run_queue;  // shared by all such events
        std::map<std::uint32_t, Placed> copies;        // by number of the copy
        bool counted_alone = false;
        std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> go_places;  // for markers in files, by number
    };
    mutable std::mutex attached_mutex_;
    std::map<std::uint32_t, Attached> attached_;  // by event
    std::set<std::uint32_t> without_stages_;      // protected by attached_mutex_
    std::weak_ptr<std::vector<Link>> run_queue_;  // protected by attached_mutex_
    std::mutex configs_mutex_;                    // serializes changes of event configurations
};

}  // namespace lagtrap::daemon
