// The event monitor's BPF programs: opened, configured and loaded in separate steps, each with its
// own errors. MarkerAttachments attaches them.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bpf/event_monitor.h"
#include "core/result.hpp"
#include "daemon/events/event_config_map.hpp"
#include "daemon/events/event_configs.hpp"
#include "daemon/events/event_counters.hpp"
#include "daemon/events/event_plan.hpp"
#include "daemon/events/marker_cookies.hpp"
#include "daemon/events/party_maps.hpp"
#include "daemon/events/timed_threads.hpp"
#include "daemon/kernel/libbpf_support.hpp"
#include "daemon/probes/overhead_probes.hpp"
#include "daemon/probes/probe_links.hpp"
#include "settings/settings.hpp"

struct bpf_program;
struct event_monitor_bpf;

namespace lagtrap::daemon {

class UnwindStore;

class MonitorPrograms {
  public:
    // Loads the programs for these events without attaching anything. Events keep their index.
    // Stacks at markers are walked with the tables in `store`.
    [[nodiscard]] static Result<std::unique_ptr<MonitorPrograms>> load(
        const settings::Settings& settings, const UnwindStore& store, const TimedThreads& threads);

    // How to attach a marker of the event: the program, the addresses and their cookies. Configures
    // the marker. give_back_sites() frees what belongs to `owner`.
    [[nodiscard]] Result<ProbeRequest> request_for(SiteOwner owner, const MarkerPlan& plan);
    void give_back_sites(SiteOwner owner) { cookies_.give_back(owner); }
    void give_back_all_sites(std::uint32_t event) { cookies_.give_back_all(event); }
    [[nodiscard]] std::uint32_t marker_id_of(std::uint32_t event, const MarkerPlan& plan) const;
    // Configures the event for a plan; its hits are only counted until let_hits_count().
    [[nodiscard]] Status configure_plan(std::uint32_t event, const EventPlan& plan,
                                        bool stages_wanted);
    // Attaches to the scheduler what events of waits for a CPU need; all of them share it.
    [[nodiscard]] Result<std::vector<Link>> attach_run_queue();
    // Keeps the programs loaded after this object is gone.
    [[nodiscard]] std::shared_ptr<const void> keep_loaded() const { return programs_; }
    // Only begins of the event have an effect, which is to be counted; until let_hits_count().
    [[nodiscard]] Status count_begins_alone(std::uint32_t event);
    // Whether an event whose stages are attached has stages.
    [[nodiscard]] Status let_stages_count(std::uint32_t event, bool wanted);
    [[nodiscard]] Status pair_by_goroutine(std::uint32_t event, bool wanted);
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
    explicit MonitorPrograms(const settings::Settings& settings);
    [[nodiscard]] bool wants_times(const settings::Event& event) const;
    [[nodiscard]] Status attach_times();
    void name_run_queue_events();
    void leave_out_unused();
    // Makes room for so many open runs; 0: by the machine's memory.
    void size_open_runs(std::uint64_t runs);
    [[nodiscard]] Status size_maps(const UnwindStore& store, const TimedThreads& threads);
    [[nodiscard]] Status configure_event(std::uint32_t event, const settings::Runs& runs);
    [[nodiscard]] Status configure_marker(std::uint32_t event, std::uint32_t marker_id,
                                          const MarkerPlan& plan);
    [[nodiscard]] bpf_program* program_for(std::uint32_t marker_id, const MarkerPlan& plan) const;
    [[nodiscard]] std::array<bpf_program*, LAGTRAP_TRACEPOINT_PROGRAMS> tracepoint_copies() const;

    std::vector<settings::Event> events_;
    std::shared_ptr<event_monitor_bpf> programs_;
    Link exec_link_;
    bool times_wanted_;
    const MonitorNeeds needs_;
    std::vector<Link> time_links_;
    std::vector<std::size_t> tracepoint_programs_;  // by marker number
    std::uint32_t markers_ = 0;
    MarkerCookies cookies_;
    std::optional<EventConfigMap> configs_;  // once loaded
};

}  // namespace lagtrap::daemon
