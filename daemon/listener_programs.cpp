#include "daemon/listener_programs.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <system_error>
#include <thread>

#include <fmt/core.h>

#include "daemon/open_runs.hpp"
#include "daemon/optional_programs.hpp"
#include "daemon/unwind_store.hpp"
#include "listener.skel.h"

namespace lagtrap::daemon {
namespace {

// As run_report.bpf.h has it.
constexpr __u32 scratches_of_cpu = 4;

lagtrap_nesting nesting_of(settings::Nesting nesting) {
    switch (nesting) {
        case settings::Nesting::Each: return LAGTRAP_NESTING_EACH;
        case settings::Nesting::Outermost: return LAGTRAP_NESTING_OUTERMOST;
        case settings::Nesting::Restart: return LAGTRAP_NESTING_RESTART;
    }
    return LAGTRAP_NESTING_EACH;
}

std::string attaching_to(const settings::Marker& function) {
    return "attach to function " + function.name + " of " + function.binary;
}

template <typename Wanted>
bool has_marker(const settings::Event& event, Wanted wanted) {
    return wanted(event.begin) || wanted(event.end) ||
           std::any_of(event.stages.begin(), event.stages.end(),
                       [&](const auto& stage) { return wanted(stage.marker); });
}

bool ends_at_function(const settings::Event& event) {
    return has_marker(event, [](const settings::Marker& marker) {
        return marker.kind == settings::MarkerKind::Function && marker.side == settings::FunctionSide::Return;
    });
}

bool wants_arguments(const settings::Event& event) {
    return event.key == settings::KeyKind::Argument || event.begin_time;
}

// Where an indirect jump leads to, and what counts as staying.
lagtrap_exit_site exit_site_of(const binaries::FunctionExit& exit) {
    static_assert(LAGTRAP_EXIT_RANGES == binaries::kMaxJumpRanges);
    static_assert(LAGTRAP_NO_REGISTER == binaries::kNoJumpRegister);
    lagtrap_exit_site site{};
    site.target.number = exit.target.displacement;
    site.target.place = exit.target.in_memory ? LAGTRAP_ARGUMENT_MEMORY : LAGTRAP_ARGUMENT_REGISTER;
    site.target.bytes = sizeof(std::uint64_t);
    site.target.base = exit.target.base;
    site.target.index = exit.target.index;
    site.target.scale_shift = exit.target.scale_shift;
    for (std::size_t i = 0; i < exit.within.size(); ++i) site.within[i] = {exit.within[i].begin, exit.within[i].end};
    return site;
}

// Ends the attachments of each event from the last to the first. Most of it is waiting for other CPUs, which many wait
// for as quickly as one.
void destroy_at_once(std::vector<std::vector<Link>> events) {
    constexpr std::size_t most_threads = 32;
    std::atomic<std::size_t> next{0};
    const auto destroy_some = [&] {
        for (std::size_t number = next++; number < events.size(); number = next++)
            while (!events[number].empty()) events[number].pop_back();
    };
    std::vector<std::thread> threads;
    try {
        while (threads.size() + 1 < std::min(events.size(), most_threads)) threads.emplace_back(destroy_some);
    } catch (const std::system_error&) {
        // Then with fewer.
    }
    destroy_some();
    for (std::thread& thread : threads) thread.join();
}

}  // namespace

void EventCounters::add(const EventCounters& other) {
    delays += other.delays;
    told_delays += other.told_delays;
    abandoned += other.abandoned;
    lost += other.lost;
    expired += other.expired;
    unended_late += other.unended_late;
    withdrawn += other.withdrawn;
    too_deep += other.too_deep;
    records_lost += other.records_lost;
    out_of_scope += other.out_of_scope;
    stack_ns += other.stack_ns;
    max_ns = std::max(max_ns, other.max_ns);
    for (std::size_t i = 0; i < histogram.size(); ++i) histogram[i] += other.histogram[i];
    for (std::size_t i = 0; i < costs.size(); ++i) costs[i] += other.costs[i];
    for (std::size_t i = 0; i < markers.size(); ++i) {
        markers[i].hits += other.markers[i].hits;
        markers[i].unmatched += other.markers[i].unmatched;
        markers[i].last_ns = std::max(markers[i].last_ns, other.markers[i].last_ns);
    }
}

std::uint64_t EventCounters::runs() const {
    return std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0});
}

std::uint64_t EventCounters::hits() const {
    return std::accumulate(markers.begin(), markers.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& marker) { return sum + marker.hits; });
}

std::uint64_t EventCounters::unmatched_stages() const {
    return std::accumulate(markers.begin() + LAGTRAP_PLACE_STAGE, markers.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& marker) { return sum + marker.unmatched; });
}

ListenerPrograms::ListenerPrograms(const std::vector<settings::Event>& events) : events_(events) {}

ListenerPrograms::~ListenerPrograms() {
    detach_all();
    listener_bpf__destroy(programs_);
}

void RunCounters::add(const RunCounters& other) {
    reported += other.reported;
    sampled_away += other.sampled_away;
    ring_full += other.ring_full;
    stacks_lost += other.stacks_lost;
}

// The verifier takes a quarter of a second for each program.
void ListenerPrograms::leave_out_unused() {
    const auto& all = programs_->progs;
    const auto any_of_kind = [&](settings::MarkerKind kind) {
        return std::any_of(events_.begin(), events_.end(), [&](const settings::Event& event) {
            return has_marker(event, [&](const settings::Marker& marker) { return marker.kind == kind; });
        });
    };
    const bool functions = any_of_kind(settings::MarkerKind::Function);
    const bool probes = any_of_kind(settings::MarkerKind::Usdt) || any_of_kind(settings::MarkerKind::Library);
    for (bpf_program* program : {all.on_entry, all.on_exit, all.on_return, all.on_go})
        bpf_program__set_autoload(program, functions);
    bpf_program__set_autoload(all.on_site, probes);
    bpf_program__set_autoload(all.on_usdt, probes && std::any_of(events_.begin(), events_.end(), wants_arguments));
    bpf_program__set_autoload(all.on_tracepoint, any_of_kind(settings::MarkerKind::Tracepoint));
}

// What only events with record="runs" need is as small as may be where there are none.
Status ListenerPrograms::size_maps(const UnwindStore& store) {
    const bool any_runs = std::any_of(events_.begin(), events_.end(),
                                      [](const auto& event) { return event.record == settings::RecordMode::Runs; });
    const bool any_stacks = std::any_of(events_.begin(), events_.end(), [](const auto& event) {
        return event.record == settings::RecordMode::Runs && event.stacks == settings::StackMode::Markers;
    });
    if (!any_runs) {
        bpf_map__set_max_entries(programs_->maps.reported_runs, static_cast<__u32>(::sysconf(_SC_PAGESIZE)));
        bpf_map__set_max_entries(programs_->maps.told_processes, 1);
    }
    if (!any_stacks) bpf_map__set_max_entries(programs_->maps.told_stacks, 1);
    if (std::none_of(events_.begin(), events_.end(), wants_arguments))
        bpf_map__set_max_entries(programs_->maps.argument_sites, 1);
    if (std::none_of(events_.begin(), events_.end(), ends_at_function))
        bpf_map__set_max_entries(programs_->maps.exit_sites, 1);
    const int cpus = libbpf_num_possible_cpus();
    if (cpus <= 0) return libbpf_error("count the CPUs", cpus);
    if (any_stacks) {
        programs_->rodata->walk_scratch_count = static_cast<__u32>(cpus) * scratches_of_cpu;
        bpf_map__set_max_entries(programs_->maps.walk_scratches, programs_->rodata->walk_scratch_count);
    }
    for (const auto& [map, fd] : {std::pair(programs_->maps.unwind_regions, store.regions_fd()),
                                  std::pair(programs_->maps.unwind_tables, store.tables_fd()),
                                  std::pair(programs_->maps.unwind_processes, store.processes_fd())})
        if (const int failed = bpf_map__reuse_fd(map, fd); failed != 0)
            return libbpf_error("give the listener the unwind tables", failed);
    return success();
}

Result<std::unique_ptr<ListenerPrograms>> ListenerPrograms::load(const std::vector<settings::Event>& events,
                                                                 const settings::Runs& runs, const UnwindStore& store) {
    keep_libbpf_messages();
    if (events.size() > LAGTRAP_MAX_EVENTS)
        return make_error(ErrorKind::TooLarge, "more than " + std::to_string(LAGTRAP_MAX_EVENTS) + " events");
    std::unique_ptr<ListenerPrograms> self(new ListenerPrograms(events));
    self->programs_ = listener_bpf__open();
    if (!self->programs_) return libbpf_error("open the listener's BPF programs", -errno);
    if (has_uprobe_multi()) {
        const auto type = static_cast<bpf_attach_type>(trace_uprobe_multi);
        for (bpf_program* program :
             {self->programs_->progs.on_site, self->programs_->progs.on_usdt, self->programs_->progs.on_entry,
              self->programs_->progs.on_exit, self->programs_->progs.on_return, self->programs_->progs.on_go})
            bpf_program__set_expected_attach_type(program, type);
    }
    self->leave_out_unused();
    TRY(self->size_maps(store));
    if (const int failed = listener_bpf__load(self->programs_); failed != 0)
        return libbpf_error("load the listener's BPF programs", failed);
    (void)take_libbpf_messages();
    self->exec_link_.reset(bpf_program__attach_raw_tracepoint(self->programs_->progs.on_exec, "sched_process_exec"));
    if (!self->exec_link_) return libbpf_error("learn when a process becomes another program", -errno);
    for (std::uint32_t event = 0; event < events.size(); ++event) TRY(self->configure_event(event, runs));
    return self;
}

Status ListenerPrograms::configure_event(std::uint32_t index, const settings::Runs& runs) {
    const settings::Event& event = events_[index];
    lagtrap_event_config config{};
    config.threshold_ns = static_cast<std::uint64_t>(event.threshold.count());
    config.nesting = nesting_of(event.nesting);
    if (event.breach == settings::BreachMode::Deadline) config.flags |= LAGTRAP_EVENT_DEADLINE;
    if (event.key == settings::KeyKind::Argument) config.flags |= LAGTRAP_EVENT_KEY_ARGUMENT;
    if (event.key_scope == settings::KeyScope::Machine) config.flags |= LAGTRAP_EVENT_KEY_MACHINE;
    if (pairs_calls(event)) config.flags |= LAGTRAP_EVENT_MATCH_STACK;
    if (keeps_stack_order(event)) config.flags |= LAGTRAP_EVENT_STACK_ORDER;
    if (event.record == settings::RecordMode::Runs) {
        config.flags |= LAGTRAP_EVENT_RECORD_RUNS;
        if (event.stacks == settings::StackMode::Markers) config.flags |= LAGTRAP_EVENT_STACKS;
        lagtrap_run_quota quota{};
        quota.interval_ns = LAGTRAP_RUN_BURST_NS / std::max<std::uint32_t>(runs.limit_per_second, 1);
        const int refused =
            bpf_map__update_elem(programs_->maps.run_quotas, &index, sizeof(index), &quota, sizeof(quota), BPF_ANY);
        if (refused != 0) return libbpf_error("limit the runs of event " + event.name, refused);
    }
    if (event.scope.pid) {
        config.flags |= LAGTRAP_EVENT_SCOPE_PID;
        config.scope_pid = *event.scope.pid;
    }
    if (event.scope.uid) {
        config.flags |= LAGTRAP_EVENT_SCOPE_UID;
        config.scope_uid = *event.scope.uid;
    }
    if (!event.scope.binary.empty()) {
        struct stat facts {};
        if (::stat(event.scope.binary.c_str(), &facts) != 0) return system_error(event.scope.binary);
        config.flags |= LAGTRAP_EVENT_SCOPE_PROGRAM;
        config.scope_inode = facts.st_ino;
        config.scope_device = major(facts.st_dev) << 20 | minor(facts.st_dev);
    }
    const int failed =
        bpf_map__update_elem(programs_->maps.event_configs, &index, sizeof(index), &config, sizeof(config), BPF_ANY);
    if (failed != 0) return libbpf_error("configure event " + event.name, failed);
    return success();
}

Status ListenerPrograms::point_at_field(const settings::Marker& marker, const settings::ArgumentRef& reference,
                                        std::uint16_t& offset, std::uint16_t& bytes) {
    if (marker.kind != settings::MarkerKind::Tracepoint) {
        offset = static_cast<std::uint16_t>(reference.index);
        return success();
    }
    TRY_ASSIGN(settings::TraceFs* const names, tracefs());
    TRY_ASSIGN(const settings::TracepointField field, names->field(marker.provider, marker.name, reference.field));
    offset = field.offset;
    bytes = field.bytes;
    return success();
}

Result<ListenerPrograms::MarkerNumber> ListenerPrograms::configure_marker(std::uint32_t index,
                                                                          const settings::Marker& marker,
                                                                          lagtrap_marker_role role,
                                                                          std::uint16_t stage) {
    static_assert(LAGTRAP_MAX_MARKERS == settings::markers_limit, "the check of the settings says so");
    if (next_marker_ >= LAGTRAP_MAX_MARKERS) return make_error(ErrorKind::TooLarge, "too many markers");
    lagtrap_marker_config config{};
    config.event = index;
    config.role = static_cast<std::uint16_t>(role);
    config.stage = stage;
    config.key_argument = LAGTRAP_NO_ARGUMENT;
    config.begin_time_argument = LAGTRAP_NO_ARGUMENT;
    if (marker.key) TRY(point_at_field(marker, *marker.key, config.key_argument, config.key_bytes));
    if (role == LAGTRAP_ROLE_BEGIN && events_[index].begin_time)
        TRY(point_at_field(marker, *events_[index].begin_time, config.begin_time_argument, config.begin_time_bytes));
    if (marker.kind == settings::MarkerKind::Function) {
        TRY_ASSIGN(const ProbePlaces places, places_of_function(marker));
        config.goid_offset = static_cast<std::uint16_t>(places.goid_offset);
        config.go_frame_offset = static_cast<std::uint16_t>(places.frame_offset);
    }
    const std::uint32_t marker_id = next_marker_++;
    const int failed = bpf_map__update_elem(programs_->maps.marker_configs, &marker_id, sizeof(marker_id), &config,
                                            sizeof(config), BPF_ANY);
    if (failed != 0) return libbpf_error("configure a marker", failed);
    return MarkerNumber{marker_id, {config.key_argument, config.begin_time_argument}};
}

void ListenerPrograms::expect_all() {
    for (const settings::Event& event : events_) planner_.expect(event);
}

Status ListenerPrograms::attach(std::uint32_t index) {
    const settings::Event& event = events_[index];
    std::vector<Link> links;
    // Attached anew, an event has the numbers that it had: there are only so many.
    const auto before = attached_.find(index);
    const std::uint32_t first_marker = before == attached_.end() ? next_marker_ : before->second.first_marker;
    const std::uint32_t next_of_others = next_marker_;
    next_marker_ = first_marker;
    argument_sites_.give_back(index);
    exit_sites_.give_back(index);
    kinds_.clear();
    const auto attach_one = [&](const settings::Marker& marker, lagtrap_marker_role role,
                                std::uint16_t stage) -> Status {
        TRY_ASSIGN(const MarkerNumber number, configure_marker(index, marker, role, stage));
        return attach_marker(index, marker, number, links);
    };
    TRY_ASSIGN(const bool by_goroutine, is_keyed_by_goroutine(event));
    TRY(change_flag(index, LAGTRAP_EVENT_KEY_GOROUTINE, by_goroutine));
    TRY(let_hits_count(index, false));
    TRY(attach_one(event.end, LAGTRAP_ROLE_END, 0));
    for (std::size_t stage = 0; stage < event.stages.size(); ++stage)
        TRY(attach_one(event.stages[stage].marker, LAGTRAP_ROLE_STAGE, static_cast<std::uint16_t>(stage)));
    TRY(attach_one(event.begin, LAGTRAP_ROLE_BEGIN, 0));
    next_marker_ = std::max(next_marker_, next_of_others);
    const std::lock_guard lock(attached_mutex_);
    attached_[index] = {first_marker, kinds_, std::move(links)};
    return let_hits_count(index, true);
}

Result<ProbePlaces> ListenerPrograms::places_of_function(const settings::Marker& marker) {
    auto places = planner_.function_places(marker);
    if (places && places->arguments_on_stack && marker.key)
        places =
            make_error(ErrorKind::Unsupported,
                       "it is written in assembly, with its arguments on the stack: none can be the key; expected a "
                       "function that is written in Go");
    if (!places) return places.error().within(attaching_to(marker));
    return places;
}

Result<bool> ListenerPrograms::is_keyed_by_goroutine(const settings::Event& event) {
    if (event.key != settings::KeyKind::Thread) return false;
    std::vector<const settings::Marker*> markers{&event.begin, &event.end};
    for (const settings::Stage& stage : event.stages) markers.push_back(&stage.marker);
    const settings::Marker* of_go = nullptr;
    const settings::Marker* other = nullptr;
    for (const settings::Marker* marker : markers) {
        bool is_go = false;
        if (marker->kind == settings::MarkerKind::Function) {
            TRY_ASSIGN(const ProbePlaces places, places_of_function(*marker));
            is_go = places.goid_offset != 0;
        }
        (is_go ? of_go : other) = marker;
    }
    if (of_go == nullptr || other == nullptr) return of_go != nullptr;
    return make_error(
        ErrorKind::Unsupported,
        fmt::format("{} is a function of Go, which changes threads, and {} is none: nothing tells which belong "
                    "together; expected functions of Go alone, or a key on all markers",
                    of_go->name, other->name));
}

std::vector<Link> ListenerPrograms::take_links(std::uint32_t index) {
    const std::lock_guard lock(attached_mutex_);
    const auto found = attached_.find(index);
    return found == attached_.end() ? std::vector<Link>{} : std::exchange(found->second.links, {});
}

std::vector<ProbeKind> ListenerPrograms::probe_kinds(std::uint32_t index) const {
    const std::lock_guard lock(attached_mutex_);
    const auto found = attached_.find(index);
    return found == attached_.end() ? std::vector<ProbeKind>{} : found->second.kinds;
}

Status ListenerPrograms::change_flag(std::uint32_t index, std::uint32_t flag, bool wanted) {
    lagtrap_event_config config{};
    const int map = bpf_map__fd(programs_->maps.event_configs);
    if (bpf_map_lookup_elem(map, &index, &config) != 0) return system_error("read the configuration of an event");
    config.flags = wanted ? config.flags | flag : config.flags & ~flag;
    if (bpf_map_update_elem(map, &index, &config, BPF_ANY) != 0) return system_error("change an event");
    return success();
}

bool ListenerPrograms::pairs_by_goroutine(std::uint32_t event) const {
    lagtrap_event_config config{};
    const bool read = bpf_map_lookup_elem(bpf_map__fd(programs_->maps.event_configs), &event, &config) == 0;
    return read && (config.flags & LAGTRAP_EVENT_KEY_GOROUTINE) != 0;
}

Status ListenerPrograms::take_stacks(std::uint32_t index, bool wanted) {
    return change_flag(index, LAGTRAP_EVENT_STACKS, wanted);
}

Status ListenerPrograms::let_hits_count(std::uint32_t index, bool wanted) {
    return change_flag(index, LAGTRAP_EVENT_OFF, !wanted);
}

Status ListenerPrograms::attach_marker(std::uint32_t event, const settings::Marker& marker, const MarkerNumber& number,
                                       std::vector<Link>& links) {
    switch (marker.kind) {
        case settings::MarkerKind::Usdt:
        case settings::MarkerKind::Library: return attach_usdt(event, marker, number, links);
        case settings::MarkerKind::Function: return attach_function(event, marker, number, links);
        case settings::MarkerKind::Tracepoint: return attach_tracepoint(marker, number.id, links);
    }
    return make_error(ErrorKind::Invalid, "unknown kind of marker");
}

Result<std::vector<std::uint64_t>> ListenerPrograms::cookies_of(std::uint32_t event, std::uint32_t marker_id,
                                                                const ProbePlaces& places) {
    std::vector<std::uint64_t> cookies(places.offsets.size(), marker_id);
    const int map = bpf_map__fd(programs_->maps.argument_sites);
    for (std::size_t i = 0; i < places.arguments.size(); ++i) {
        TRY_ASSIGN(const std::uint64_t site, argument_sites_.take(map, event, places.arguments[i]));
        cookies[i] |= site << LAGTRAP_COOKIE_SITE_SHIFT;
    }
    const int exits_map = bpf_map__fd(programs_->maps.exit_sites);
    for (std::size_t i = 0; i < places.exits.size(); ++i) {
        const binaries::FunctionExit& exit = places.exits[i];
        std::uint64_t how = static_cast<std::uint64_t>(exit.condition);
        if (exit.of_others_too) cookies[i] |= LAGTRAP_COOKIE_EXIT_SHARED;
        if (exit.by_target) {
            TRY_ASSIGN(const std::uint64_t site, exit_sites_.take(exits_map, event, exit_site_of(exit)));
            cookies[i] |= site << LAGTRAP_COOKIE_EXIT_SITE_SHIFT;
            how = LAGTRAP_EXIT_BY_TARGET;
        }
        cookies[i] |= how << LAGTRAP_COOKIE_EXIT_SHIFT;
    }
    return cookies;
}

// The kernel is given path and offset: libbpf, given the name of a function, would read the file itself.
Status ListenerPrograms::attach_places(bpf_program* program, const std::string& binary, const ProbePlaces& places,
                                       const std::vector<std::uint64_t>& cookies, std::vector<Link>& links) {
    const bool semaphores = !places.semaphores.empty();
    kinds_.push_back(places.kind);
    if (has_uprobe_multi()) {
        const std::vector<__u64> kernel_cookies(cookies.begin(), cookies.end());
        LIBBPF_OPTS(bpf_uprobe_multi_opts, options, .offsets = places.offsets.data(),
                    .ref_ctr_offsets = semaphores ? places.semaphores.data() : nullptr,
                    .cookies = kernel_cookies.data(), .cnt = places.offsets.size(), .retprobe = places.return_probe);
        Link link(bpf_program__attach_uprobe_multi(program, -1, binary.c_str(), nullptr, &options));
        if (!link) return libbpf_error("probe", -errno);
        links.push_back(std::move(link));
        return success();
    }
    for (std::size_t i = 0; i < places.offsets.size(); ++i) {
        LIBBPF_OPTS(bpf_uprobe_opts, options, .ref_ctr_offset = semaphores ? places.semaphores[i] : 0,
                    .bpf_cookie = cookies[i], .retprobe = places.return_probe);
        Link link(bpf_program__attach_uprobe_opts(program, -1, binary.c_str(), places.offsets[i], &options));
        if (!link) return libbpf_error("probe", -errno);
        links.push_back(std::move(link));
    }
    return success();
}

Status ListenerPrograms::attach_usdt(std::uint32_t event, const settings::Marker& marker, const MarkerNumber& number,
                                     std::vector<Link>& links) {
    const auto attach_all = [&]() -> Status {
        TRY_ASSIGN(const ProbePlaces places, planner_.usdt_places(marker, number.arguments));
        TRY_ASSIGN(const auto cookies, cookies_of(event, number.id, places));
        bpf_program* program = places.arguments.empty() ? programs_->progs.on_site : programs_->progs.on_usdt;
        return attach_places(program, marker.binary, places, cookies, links);
    };
    const Status attached = attach_all();
    if (attached) return success();
    return attached.error().within("attach to USDT probe " + marker.provider + ":" + marker.name + " of " +
                                   marker.binary);
}

Status ListenerPrograms::attach_function(std::uint32_t event, const settings::Marker& marker,
                                         const MarkerNumber& number, std::vector<Link>& links) {
    const auto attach_all = [&]() -> Status {
        TRY_ASSIGN(const ProbePlaces places, planner_.function_places(marker));
        TRY_ASSIGN(const auto cookies, cookies_of(event, number.id, places));
        bpf_program* program = places.goid_offset != 0 ? programs_->progs.on_go
                               : places.return_probe   ? programs_->progs.on_return
                               : !places.exits.empty() ? programs_->progs.on_exit
                                                       : programs_->progs.on_entry;
        return attach_places(program, marker.binary, places, cookies, links);
    };
    const Status attached = attach_all();
    if (attached) return success();
    return attached.error().within(attaching_to(marker));
}

Result<settings::TraceFs*> ListenerPrograms::tracefs() {
    if (!tracefs_) {
        TRY_ASSIGN(settings::TraceFs opened, settings::TraceFs::open());
        tracefs_ = std::make_unique<settings::TraceFs>(std::move(opened));
    }
    return tracefs_.get();
}

Status ListenerPrograms::attach_tracepoint(const settings::Marker& marker, std::uint32_t marker_id,
                                           std::vector<Link>& links) {
    const std::string doing = "attach to tracepoint " + marker.provider + ":" + marker.name;
    TRY_ASSIGN(settings::TraceFs* const names, tracefs());
    perf_event_attr attributes{};
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_TRACEPOINT;
    TRY_ASSIGN(attributes.config, names->tracepoint_id(marker.provider, marker.name));
    // A program on a tracepoint's event runs on every CPU, whichever the event was opened for.
    UniqueFd event(static_cast<int>(::syscall(SYS_perf_event_open, &attributes, -1, 0, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!event.valid()) return system_error(doing);
    LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = marker_id);
    Link link(bpf_program__attach_perf_event_opts(programs_->progs.on_tracepoint, event.get(), &options));
    if (!link) return libbpf_error(doing, -errno);
    (void)event.release();  // the link closes it
    links.push_back(std::move(link));
    kinds_.push_back(ProbeKind::Tracepoint);
    return success();
}

void ListenerPrograms::detach_all() {
    std::vector<std::vector<Link>> links;
    {
        const std::lock_guard lock(attached_mutex_);
        for (auto& [event, attached] : attached_) links.push_back(std::move(attached.links));
        attached_.clear();
    }
    destroy_at_once(std::move(links));
    exec_link_.reset();
}

lagtrap_watch* ListenerPrograms::watch() const { return reinterpret_cast<lagtrap_watch*>(&programs_->data->watch); }

int ListenerPrograms::tags_fd() const { return bpf_map__fd(programs_->maps.open_tags); }
int ListenerPrograms::program_starts_fd() const { return bpf_map__fd(programs_->maps.program_starts); }
int ListenerPrograms::slots_fd() const { return bpf_map__fd(programs_->maps.open_slots); }
int ListenerPrograms::notices_fd() const { return bpf_map__fd(programs_->maps.notices); }
int ListenerPrograms::recorded_runs_fd() const { return bpf_map__fd(programs_->maps.recorded_runs); }

Result<EventCounters> ListenerPrograms::counters(std::uint32_t event) const {
    static_assert(sizeof(EventCounters) == sizeof(lagtrap_event_counters), "the same fields in the same order");
    const int cpus = libbpf_num_possible_cpus();
    if (cpus <= 0) return libbpf_error("count the CPUs", cpus);
    std::vector<EventCounters> per_cpu(static_cast<std::size_t>(cpus));
    const int failed = bpf_map__lookup_elem(programs_->maps.event_counters, &event, sizeof(event), per_cpu.data(),
                                            per_cpu.size() * sizeof(EventCounters), 0);
    if (failed != 0) return libbpf_error("read the counters", failed);
    EventCounters sum;
    for (const EventCounters& one : per_cpu) sum.add(one);
    return sum;
}

int ListenerPrograms::reported_runs_fd() const { return bpf_map__fd(programs_->maps.reported_runs); }
int ListenerPrograms::run_quotas_fd() const { return bpf_map__fd(programs_->maps.run_quotas); }

Result<RunCounters> ListenerPrograms::run_counters(std::uint32_t event) const {
    lagtrap_run_quota quota{};
    const int failed =
        bpf_map__lookup_elem(programs_->maps.run_quotas, &event, sizeof(event), &quota, sizeof(quota), 0);
    if (failed != 0) return libbpf_error("read the counters of runs", failed);
    return RunCounters{quota.reported, quota.sampled_away, quota.ring_full, quota.stacks_lost};
}

std::vector<int> ListenerPrograms::program_fds() const {
    const auto& all = programs_->progs;
    bpf_program* const programs[] = {all.on_site,   all.on_usdt, all.on_entry,     all.on_exit,
                                     all.on_return, all.on_go,   all.on_tracepoint};
    return loaded_fds(programs);
}

}  // namespace lagtrap::daemon
