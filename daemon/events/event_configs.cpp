#include "daemon/events/event_configs.hpp"

#include <algorithm>

#include "daemon/events/event_traits.hpp"

namespace lagtrap::daemon {
namespace {

lagtrap_nesting nesting_of(settings::Nesting nesting) {
    switch (nesting) {
        case settings::Nesting::Each: return LAGTRAP_NESTING_EACH;
        case settings::Nesting::Outermost: return LAGTRAP_NESTING_OUTERMOST;
        case settings::Nesting::Restart: return LAGTRAP_NESTING_RESTART;
    }
    return LAGTRAP_NESTING_EACH;
}

template <typename Wanted>
bool has_marker(const settings::Event& event, Wanted wanted) {
    return wanted(event.begin) || wanted(event.end) ||
           std::any_of(event.stages.begin(), event.stages.end(),
                       [&](const auto& stage) { return wanted(stage.marker); }) ||
           std::any_of(event.other_ends.begin(), event.other_ends.end(),
                       [&](const auto& other) { return wanted(other.marker); });
}

bool has_kind(const settings::Event& event, settings::MarkerKind kind) {
    return has_marker(event, [&](const settings::Marker& marker) { return marker.kind == kind; });
}

bool ends_at_function(const settings::Event& event) {
    return has_marker(event, [](const settings::Marker& marker) {
        return marker.kind == settings::MarkerKind::Function &&
               marker.side == settings::FunctionSide::Return;
    });
}

lagtrap_end_meaning meaning_of(const settings::Event& event, const MarkerPlan& end) {
    if (end.stage == 0) return LAGTRAP_END_DONE;
    const bool cancelled =
        event.other_ends.at(end.stage - 1U).meaning == settings::EndMeaning::Cancelled;
    return cancelled ? LAGTRAP_END_CANCELLED : LAGTRAP_END_FAILED;
}

}  // namespace

bool wants_arguments(const settings::Event& event) {
    return event.key == settings::KeyKind::Argument || event.begin_time || event.trace_id;
}

MonitorNeeds monitor_needs(const std::vector<settings::Event>& events, bool times_wanted) {
    using settings::MarkerKind;
    MonitorNeeds needs;
    for (const settings::Event& event : events) {
        const bool records_runs = event.record == settings::RecordMode::Runs;
        needs.functions = needs.functions || has_kind(event, MarkerKind::Function);
        needs.sites = needs.sites || has_kind(event, MarkerKind::Usdt) ||
                      has_kind(event, MarkerKind::Library);
        needs.tracepoints = needs.tracepoints || has_kind(event, MarkerKind::Tracepoint);
        needs.run_queue = needs.run_queue || has_kind(event, MarkerKind::RunQueue);
        needs.times = needs.times || (times_wanted && counts_times(event));
        needs.runs = needs.runs || records_runs;
        needs.stacks =
            needs.stacks || (records_runs && event.stacks == settings::StackMode::Markers);
        needs.argument_map = needs.argument_map || wants_arguments(event);
        needs.groups = needs.groups || !event.scope.groups.empty();
        needs.exits = needs.exits || ends_at_function(event);
    }
    needs.arguments = needs.sites && needs.argument_map;
    return needs;
}

std::vector<const settings::Marker*> markers_of(const std::vector<settings::Event>& events) {
    std::vector<const settings::Marker*> markers;
    for (const settings::Event& event : events) {
        markers.push_back(&event.end);
        for (const settings::Stage& stage : event.stages) markers.push_back(&stage.marker);
        markers.push_back(&event.begin);
        for (const settings::OtherEnd& end : event.other_ends) markers.push_back(&end.marker);
    }
    return markers;
}

std::uint32_t marker_number_of(const std::vector<settings::Event>& events, std::uint32_t event,
                               const MarkerPlan& plan) {
    std::size_t first = 0;
    for (std::uint32_t before = 0; before < event; ++before)
        first += 2 + events[before].stages.size() + events[before].other_ends.size();
    const std::size_t begin = first + 1 + events[event].stages.size();
    std::size_t number = begin;
    if (plan.role == LAGTRAP_ROLE_END) number = plan.stage == 0 ? first : begin + plan.stage;
    if (plan.role == LAGTRAP_ROLE_STAGE) number = first + 1 + plan.stage;
    return static_cast<std::uint32_t>(number);
}

std::vector<std::uint32_t> run_queue_events(const std::vector<settings::Event>& events) {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t event = 0; event < events.size(); ++event)
        if (events[event].begin.kind == settings::MarkerKind::RunQueue &&
            numbers.size() < LAGTRAP_RUN_QUEUE_EVENTS)
            numbers.push_back(event + 1);
    numbers.resize(LAGTRAP_RUN_QUEUE_EVENTS);
    return numbers;
}

lagtrap_event_config event_config(const settings::Event& event, bool counts_times) {
    lagtrap_event_config config{};
    config.threshold_ns = static_cast<std::uint64_t>(event.threshold.count());
    config.nesting = nesting_of(event.nesting);
    config.look_after_ns = look_after_ns(event.breach, config.threshold_ns, LAGTRAP_NEVER_NS);
    if (event.key == settings::KeyKind::Argument) config.flags |= LAGTRAP_EVENT_KEY_ARGUMENT;
    if (event.key_scope == settings::KeyScope::Machine) config.flags |= LAGTRAP_EVENT_KEY_MACHINE;
    if (counts_times) config.flags |= LAGTRAP_EVENT_TIMES;
    if (event.trace_id) config.flags |= LAGTRAP_EVENT_TRACE_TEXT;
    if (pairs_calls(event)) config.flags |= LAGTRAP_EVENT_MATCH_STACK;
    if (keeps_stack_order(event)) config.flags |= LAGTRAP_EVENT_STACK_ORDER;
    if (event.record == settings::RecordMode::Runs) {
        config.flags |= LAGTRAP_EVENT_RECORD_RUNS;
        if (event.stacks == settings::StackMode::Markers) config.flags |= LAGTRAP_EVENT_STACKS;
    }
    if (event.scope.pid) {
        config.flags |= LAGTRAP_EVENT_SCOPE_PID;
        if (event.scope.descendants) config.flags |= LAGTRAP_EVENT_SCOPE_DESCENDANTS;
        config.scope_pid = *event.scope.pid;
    }
    if (!event.scope.groups.empty()) config.flags |= LAGTRAP_EVENT_SCOPE_GROUP;
    if (event.scope.uid) {
        config.flags |= LAGTRAP_EVENT_SCOPE_UID;
        config.scope_uid = *event.scope.uid;
    }
    return config;
}

std::uint64_t run_interval_ns(std::uint32_t limit_per_second) {
    return LAGTRAP_RUN_BURST_NS / std::max<std::uint32_t>(limit_per_second, 1);
}

lagtrap_marker_config marker_config(std::uint32_t event, const settings::Event& of,
                                    const MarkerPlan& plan) {
    lagtrap_marker_config config{};
    config.event = event;
    config.role = static_cast<std::uint16_t>(plan.role);
    config.stage = plan.role == LAGTRAP_ROLE_END ? static_cast<std::uint16_t>(meaning_of(of, plan))
                                                 : plan.stage;
    config.key_argument = plan.key.argument;
    config.key_bytes = static_cast<std::uint8_t>(plan.key.bytes);
    config.second_key_argument = plan.second_key.argument;
    config.second_key_bytes = static_cast<std::uint8_t>(plan.second_key.bytes);
    config.begin_time_argument = plan.begin_time.argument;
    config.begin_time_bytes = plan.begin_time.bytes;
    config.trace_argument = plan.trace.argument;
    config.goid_offset = static_cast<std::uint16_t>(plan.places.goid_offset);
    config.go_frame_offset = static_cast<std::uint16_t>(plan.places.frame_offset);
    return config;
}

void configure_for_plan(lagtrap_event_config& config, const EventPlan& plan, bool stages_wanted) {
    config.flags &=
        ~(LAGTRAP_EVENT_KEY_GOROUTINE | LAGTRAP_EVENT_SCOPE_PROGRAM | LAGTRAP_EVENT_WITHOUT_STAGES);
    if (!stages_wanted) config.flags |= LAGTRAP_EVENT_WITHOUT_STAGES;
    if (plan.by_goroutine) config.flags |= LAGTRAP_EVENT_KEY_GOROUTINE;
    if (!plan.scope) return;
    config.flags |= LAGTRAP_EVENT_SCOPE_PROGRAM;
    config.scope_inode = plan.scope->inode;
    config.scope_device = plan.scope->device;
}

void let_hits_count(lagtrap_event_config& config, bool wanted) {
    config.flags &= ~(LAGTRAP_EVENT_OFF | LAGTRAP_EVENT_COUNTED);
    if (!wanted) config.flags |= LAGTRAP_EVENT_OFF;
}

std::uint64_t look_after_ns(settings::BreachMode breach, std::uint64_t threshold_ns,
                            std::uint64_t age_ns) {
    return breach == settings::BreachMode::Deadline ? std::min(threshold_ns, age_ns) : age_ns;
}

}  // namespace lagtrap::daemon
