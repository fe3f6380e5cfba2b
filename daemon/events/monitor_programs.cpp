#include "daemon/events/monitor_programs.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

#include <fmt/core.h>

#include "daemon/events/event_traits.hpp"
#include "daemon/events/run_table.hpp"
#include "daemon/events/tracepoint_programs.hpp"
#include "daemon/kernel/mapped_map.hpp"
#include "daemon/kernel/optional_programs.hpp"
#include "daemon/kernel/preempt_count.hpp"
#include "daemon/kernel/shared_maps.hpp"
#include "daemon/unwinding/unwind_store.hpp"
#include "event_monitor.skel.h"

namespace lagtrap::daemon {
namespace {

// As in run_report.bpf.h.
constexpr __u32 scratches_of_cpu = 4;

}  // namespace

MonitorPrograms::MonitorPrograms(const settings::Settings& settings)
    : events_(settings.events),
      times_wanted_(settings.history.times),
      needs_(monitor_needs(events_, times_wanted_)) {
    const std::vector<const settings::Marker*> markers = markers_of(events_);
    markers_ = static_cast<std::uint32_t>(markers.size());
    tracepoint_programs_ = tracepoint_programs_of(markers);
}

// Saves startup time: the verifier takes about 50 ms per program.
void MonitorPrograms::leave_out_unused() {
    const auto& all = programs_->progs;
    for (bpf_program* program : {all.on_function, all.on_go})
        bpf_program__set_autoload(program, needs_.functions);
    bpf_program__set_autoload(all.count_switch, needs_.times);
    bpf_program__set_autoload(all.count_waking, needs_.times);
    bpf_program__set_autoload(all.on_site, needs_.sites);
    bpf_program__set_autoload(all.on_usdt, needs_.arguments);
    const std::size_t last =
        tracepoint_programs_.empty() ? 0 : *std::ranges::max_element(tracepoint_programs_);
    const auto tracepoints = tracepoint_copies();
    for (std::size_t copy = 0; copy < tracepoints.size(); ++copy)
        bpf_program__set_autoload(tracepoints[copy], copy <= last && needs_.tracepoints);
    for (bpf_program* program : {all.on_queue_switch, all.on_queue_wakeup, all.on_queue_new})
        bpf_program__set_autoload(program, needs_.run_queue);
}

void MonitorPrograms::size_open_runs(std::uint64_t runs) {
    const auto memory_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                              static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint32_t buckets =
        runs != 0 ? RunTable::buckets_for(runs) : RunTable::buckets_in(memory_bytes);
    programs_->rodata->open_buckets = buckets;
    bpf_map__set_max_entries(programs_->maps.open_tags, buckets);
    bpf_map__set_max_entries(programs_->maps.open_slots, buckets * LAGTRAP_BUCKET_SLOTS);
}

// Without events with record="runs", their maps are as small as possible.
Status MonitorPrograms::size_maps(const UnwindStore& store, const TimedThreads& threads) {
    if (!needs_.runs) {
        bpf_map__set_max_entries(programs_->maps.reported_runs,
                                 static_cast<__u32>(::sysconf(_SC_PAGESIZE)));
        bpf_map__set_max_entries(programs_->maps.reported_processes, 1);
    }
    if (!needs_.stacks) bpf_map__set_max_entries(programs_->maps.reported_stacks, 1);
    if (!needs_.argument_map) bpf_map__set_max_entries(programs_->maps.argument_sites, 1);
    if (!needs_.groups) bpf_map__set_max_entries(programs_->maps.scoped_groups, 1);
    if (!needs_.exits) bpf_map__set_max_entries(programs_->maps.exit_sites, 1);
    const int cpus = libbpf_num_possible_cpus();
    if (cpus <= 0) return libbpf_error("count the CPUs", cpus);
    if (needs_.stacks) {
        programs_->rodata->walk_scratch_count = static_cast<__u32>(cpus) * scratches_of_cpu;
        bpf_map__set_max_entries(programs_->maps.walk_scratches,
                                 programs_->rodata->walk_scratch_count);
    }
    return share_maps({{programs_->maps.unwind_regions, store.regions_fd()},
                       {programs_->maps.unwind_tables, store.tables_fd()},
                       {programs_->maps.unwind_processes, store.processes_fd()},
                       {programs_->maps.timed_sets, threads.sets_fd()},
                       {programs_->maps.thread_times, threads.times_fd()}},
                      "share tables with the event monitor");
}

Result<std::unique_ptr<MonitorPrograms>> MonitorPrograms::load(const settings::Settings& settings,
                                                               const UnwindStore& store,
                                                               const TimedThreads& threads) {
    keep_libbpf_messages();
    const std::vector<settings::Event>& events = settings.events;
    if (events.size() > LAGTRAP_MAX_EVENTS)
        return make_error(ErrorKind::TooLarge,
                          "more than " + std::to_string(LAGTRAP_MAX_EVENTS) + " events");
    static_assert(LAGTRAP_MAX_MARKERS == settings::markers_limit,
                  "the check of the settings says so");
    static_assert(LAGTRAP_RUN_QUEUE_EVENTS == settings::run_queue_events_limit, "the same");
    static_assert(LAGTRAP_TRACEPOINT_PROGRAMS == settings::tracepoint_markers_limit, "the same");
    std::unique_ptr<MonitorPrograms> self(new MonitorPrograms(settings));
    if (self->markers_ > LAGTRAP_MAX_MARKERS)
        return make_error(ErrorKind::TooLarge, "too many markers");
    self->programs_.reset(event_monitor_bpf__open(), event_monitor_bpf__destroy);
    if (!self->programs_) return libbpf_error("open the event monitor's BPF programs", -errno);
    const auto& programs = self->programs_->progs;
    expect_uprobes({programs.on_site, programs.on_usdt, programs.on_function, programs.on_go});
    self->size_open_runs(settings.budget.open_runs);
    self->programs_->rodata->preempt_count_after_run_queue =
        preempt_count_after_run_queue().value_or(0);
    self->name_run_queue_events();
    self->leave_out_unused();
    TRY(self->size_maps(store, threads));
    if (const int failed = event_monitor_bpf__load(self->programs_.get()); failed != 0)
        return libbpf_error("load the event monitor's BPF programs", failed);
    (void)take_libbpf_messages();
    self->configs_.emplace(bpf_map__fd(self->programs_->maps.event_configs));
    self->exec_link_.reset(
        bpf_program__attach_raw_tracepoint(self->programs_->progs.on_exec, "sched_process_exec"));
    if (!self->exec_link_) return libbpf_error("watch for exec", -errno);
    if (self->needs_.times) TRY(self->attach_times());
    for (std::uint32_t event = 0; event < events.size(); ++event)
        TRY(self->configure_event(event, settings.runs));
    return self;
}

void MonitorPrograms::name_run_queue_events() {
    std::ranges::copy(run_queue_events(events_), programs_->rodata->run_queue_events);
}

Result<std::vector<Link>> MonitorPrograms::attach_run_queue() {
    std::vector<Link> links;
    const auto& all = programs_->progs;
    for (bpf_program* program : {all.on_queue_switch, all.on_queue_wakeup, all.on_queue_new}) {
        links.emplace_back(bpf_program__attach_trace(program));
        if (!links.back()) return libbpf_error("attach to the scheduler's tracepoints", -errno);
    }
    return links;
}

bool MonitorPrograms::wants_times(const settings::Event& event) const {
    return times_wanted_ && daemon::counts_times(event);
}

Status MonitorPrograms::attach_times() {
    for (bpf_program* program : {programs_->progs.count_switch, programs_->progs.count_waking}) {
        time_links_.emplace_back(bpf_program__attach_trace(program));
        if (time_links_.back()) continue;
        const int failed = -errno;
        time_links_.clear();
        return libbpf_error("account thread time", failed);
    }
    return success();
}

// Threads are removed from the table, so that no run computes differences with sums from before the
// pause.
Status MonitorPrograms::count_times(bool wanted) {
    if (!needs_.times || wanted == counts_times()) return success();
    if (wanted) TRY(attach_times());
    for (std::uint32_t event = 0; event < events_.size(); ++event)
        if (wants_times(events_[event]))
            TRY(configs_->change_flag(event, LAGTRAP_EVENT_TIMES, wanted));
    if (wanted) return success();
    time_links_.clear();
    TRY_ASSIGN(const MappedMap threads,
               MappedMap::map(timed_sets_fd(), sizeof(lagtrap_timed_set), LAGTRAP_TIMED_SETS,
                              "the thread time table"));
    std::memset(threads.at, 0, threads.bytes);
    return success();
}

Status MonitorPrograms::configure_event(std::uint32_t index, const settings::Runs& runs) {
    const settings::Event& event = events_[index];
    const lagtrap_event_config config = event_config(event, wants_times(event));
    if (event.record == settings::RecordMode::Runs) {
        lagtrap_run_quota quota{};
        quota.interval_ns = run_interval_ns(runs.limit_per_second);
        const int refused = bpf_map__update_elem(programs_->maps.run_quotas, &index, sizeof(index),
                                                 &quota, sizeof(quota), BPF_ANY);
        if (refused != 0) return libbpf_error("limit the runs of event " + event.name, refused);
    }
    const int failed = bpf_map__update_elem(programs_->maps.event_configs, &index, sizeof(index),
                                            &config, sizeof(config), BPF_ANY);
    if (failed != 0) return libbpf_error("configure event " + event.name, failed);
    return success();
}

Status MonitorPrograms::configure_marker(std::uint32_t index, std::uint32_t marker_id,
                                         const MarkerPlan& plan) {
    const lagtrap_marker_config config = marker_config(index, events_[index], plan);
    const int failed = bpf_map__update_elem(programs_->maps.marker_configs, &marker_id,
                                            sizeof(marker_id), &config, sizeof(config), BPF_ANY);
    if (failed != 0) return libbpf_error("configure a marker", failed);
    return success();
}

std::array<bpf_program*, LAGTRAP_TRACEPOINT_PROGRAMS> MonitorPrograms::tracepoint_copies() const {
    const auto& all = programs_->progs;
    return {all.on_tracepoint_0, all.on_tracepoint_1, all.on_tracepoint_2, all.on_tracepoint_3};
}

bpf_program* MonitorPrograms::program_for(std::uint32_t marker_id, const MarkerPlan& plan) const {
    const auto& all = programs_->progs;
    switch (plan.marker.kind) {
        case settings::MarkerKind::Usdt:
        case settings::MarkerKind::Library:
            return plan.places.arguments.empty() ? all.on_site : all.on_usdt;
        case settings::MarkerKind::Tracepoint:
            return tracepoint_copies().at(tracepoint_programs_.at(marker_id));
        case settings::MarkerKind::RunQueue: return nullptr;  // see attach_run_queue()
        case settings::MarkerKind::Function: break;
    }
    return plan.places.goid_offset != 0 ? all.on_go : all.on_function;
}

std::uint32_t MonitorPrograms::marker_id_of(std::uint32_t event, const MarkerPlan& plan) const {
    return marker_number_of(events_, event, plan);
}

Result<ProbeRequest> MonitorPrograms::request_for(SiteOwner owner, const MarkerPlan& plan) {
    const std::uint32_t marker_id = marker_id_of(owner.event, plan);
    TRY(configure_marker(owner.event, marker_id, plan));
    ProbeRequest request{program_for(marker_id, plan), plan.doing(),           plan.places.file,
                         plan.places.offsets,          plan.places.semaphores, {marker_id},
                         plan.places.return_probe,     plan.tracepoint_id};
    if (!plan.places.file) return request;
    const MarkerCookies::Maps maps{bpf_map__fd(programs_->maps.argument_sites),
                                   bpf_map__fd(programs_->maps.exit_sites)};
    auto cookies = cookies_.take(maps, owner, marker_id, plan.places);
    if (!cookies) return cookies.error().within(plan.doing());
    request.cookies = std::move(*cookies);
    if (plan.by_frame)
        for (std::uint64_t& cookie : request.cookies) cookie |= LAGTRAP_COOKIE_BY_FRAME;
    return request;
}

Status MonitorPrograms::configure_plan(std::uint32_t index, const EventPlan& plan,
                                       bool stages_wanted) {
    TRY(configs_->change(index, [&](lagtrap_event_config& config) {
        configure_for_plan(config, plan, stages_wanted);
    }));
    return let_hits_count(index, false);
}

bool MonitorPrograms::pairs_by_goroutine(std::uint32_t event) const {
    return configs_->has_flag(event, LAGTRAP_EVENT_KEY_GOROUTINE);
}

Status MonitorPrograms::count_begins_alone(std::uint32_t index) {
    return configs_->change_flag(index, LAGTRAP_EVENT_OFF | LAGTRAP_EVENT_COUNTED, true);
}

Status MonitorPrograms::let_stages_count(std::uint32_t index, bool wanted) {
    return configs_->change_flag(index, LAGTRAP_EVENT_WITHOUT_STAGES, !wanted);
}

Status MonitorPrograms::pair_by_goroutine(std::uint32_t index, bool wanted) {
    return configs_->change_flag(index, LAGTRAP_EVENT_KEY_GOROUTINE, wanted);
}

Status MonitorPrograms::take_stacks(std::uint32_t index, bool wanted) {
    return configs_->change_flag(index, LAGTRAP_EVENT_STACKS, wanted);
}

Status MonitorPrograms::let_record(std::uint32_t index, bool allowed) {
    return configs_->change_flag(index, LAGTRAP_EVENT_UNRECORDED, !allowed);
}

Status MonitorPrograms::look_after(std::uint32_t index, std::uint64_t age_ns) {
    return configs_->change(index, [&](lagtrap_event_config& config) {
        config.look_after_ns = look_after_ns(events_[index].breach, config.threshold_ns, age_ns);
    });
}

Status MonitorPrograms::set_threshold(std::uint32_t index, std::chrono::nanoseconds threshold) {
    return configs_->change(index, [&](lagtrap_event_config& config) {
        config.threshold_ns = static_cast<std::uint64_t>(threshold.count());
    });
}

Status MonitorPrograms::let_hits_count(std::uint32_t index, bool wanted) {
    return configs_->change(
        index, [&](lagtrap_event_config& config) { daemon::let_hits_count(config, wanted); });
}

lagtrap_watch* MonitorPrograms::watch() const {
    return reinterpret_cast<lagtrap_watch*>(&programs_->data->watch);
}

int MonitorPrograms::tags_fd() const { return bpf_map__fd(programs_->maps.open_tags); }
int MonitorPrograms::program_starts_fd() const {
    return bpf_map__fd(programs_->maps.program_starts);
}
std::uint32_t MonitorPrograms::open_buckets() const { return programs_->rodata->open_buckets; }
int MonitorPrograms::slots_fd() const { return bpf_map__fd(programs_->maps.open_slots); }
int MonitorPrograms::notices_fd() const { return bpf_map__fd(programs_->maps.notices); }
int MonitorPrograms::recorded_runs_fd() const { return bpf_map__fd(programs_->maps.recorded_runs); }

Result<EventCounters> MonitorPrograms::counters(std::uint32_t event) const {
    static_assert(sizeof(EventCounters) == sizeof(lagtrap_event_counters),
                  "the same fields in the same order");
    const int cpus = libbpf_num_possible_cpus();
    if (cpus <= 0) return libbpf_error("count the CPUs", cpus);
    std::vector<EventCounters> per_cpu(static_cast<std::size_t>(cpus));
    const int failed =
        bpf_map__lookup_elem(programs_->maps.event_counters, &event, sizeof(event), per_cpu.data(),
                             per_cpu.size() * sizeof(EventCounters), 0);
    if (failed != 0) return libbpf_error("read the counters", failed);
    EventCounters sum;
    for (const EventCounters& one : per_cpu) sum.add(one);
    return sum;
}

Status MonitorPrograms::scope_group(std::uint32_t event, std::uint64_t group, bool wanted) {
    const lagtrap_scoped_group key{group, event, 0};
    const int map = bpf_map__fd(programs_->maps.scoped_groups);
    if (!wanted) {
        (void)bpf_map_delete_elem(map, &key);
        return success();
    }
    const std::uint8_t in_scope = 1;
    if (bpf_map_update_elem(map, &key, &in_scope, BPF_ANY) == 0) return success();
    if (errno == E2BIG)
        return make_error(
            ErrorKind::TooLarge,
            "more than " + std::to_string(LAGTRAP_SCOPED_GROUPS) + " control groups in scopes");
    return system_error("register a control group");
}

PartyMaps MonitorPrograms::parties() const {
    const auto& maps = programs_->maps;
    return PartyMaps({bpf_map__fd(maps.hits_by_party), bpf_map__fd(maps.hits_by_process),
                      bpf_map__fd(maps.limited_parties),
                      bpf_map__fd(maps.parties_without_recordings)});
}

Status MonitorPrograms::limit(std::uint32_t event, const HitParty& who, bool wanted) {
    TRY(parties().limit(event, who, wanted));
    return configs_->change_flag(event, LAGTRAP_EVENT_LIMITED, parties().limits(event));
}

Status MonitorPrograms::release_all(std::uint32_t event) {
    parties().release_all(event);
    return configs_->change_flag(event, LAGTRAP_EVENT_LIMITED, false);
}

int MonitorPrograms::timed_sets_fd() const { return bpf_map__fd(programs_->maps.timed_sets); }
int MonitorPrograms::thread_times_fd() const { return bpf_map__fd(programs_->maps.thread_times); }

int MonitorPrograms::reported_runs_fd() const { return bpf_map__fd(programs_->maps.reported_runs); }
int MonitorPrograms::run_quotas_fd() const { return bpf_map__fd(programs_->maps.run_quotas); }

Result<RunCounters> MonitorPrograms::run_counters(std::uint32_t event) const {
    lagtrap_run_quota quota{};
    const int failed = bpf_map__lookup_elem(programs_->maps.run_quotas, &event, sizeof(event),
                                            &quota, sizeof(quota), 0);
    if (failed != 0) return libbpf_error("read the counters of runs", failed);
    return RunCounters{quota.reported, quota.sampled_away, quota.ring_full, quota.stacks_lost};
}

std::vector<int> MonitorPrograms::program_fds() const {
    const auto& all = programs_->progs;
    std::vector<bpf_program*> programs{all.on_site,     all.on_usdt,         all.on_function,
                                       all.on_go,       all.on_queue_switch, all.on_queue_wakeup,
                                       all.on_queue_new};
    const auto tracepoints = tracepoint_copies();
    programs.insert(programs.end(), tracepoints.begin(), tracepoints.end());
    return loaded_fds(programs);
}

}  // namespace lagtrap::daemon
