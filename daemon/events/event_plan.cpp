#include "daemon/events/event_plan.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

#include <fmt/core.h>

#include "core/timed_call.hpp"
#include "daemon/events/event_traits.hpp"
#include "settings/program_name.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::chrono::seconds scope_timeout{5};

bool is_of_go(const MarkerPlan& plan) { return plan.places.goid_offset != 0; }

// Return probes end the calls of a thread innermost first, and the kernel drops those that are
// nested too deeply. So events with return probes are not keyed by frame.
void key_by_frame(const settings::Event& event, std::vector<MarkerPlan>& markers) {
    const bool possible =
        pairs_frames(event) && std::none_of(markers.begin(), markers.end(), [](const auto& plan) {
            return plan.places.return_probe || is_of_go(plan);
        });
    for (MarkerPlan& plan : markers) plan.by_frame = possible;
}

// True if goroutines are the event's keys.
Result<bool> is_keyed_by_goroutine(const settings::Event& event,
                                   const std::vector<MarkerPlan>& markers) {
    if (event.key != settings::KeyKind::Thread) return false;
    const MarkerPlan* of_go = nullptr;
    const MarkerPlan* other = nullptr;
    for (const MarkerPlan& plan : markers) (is_of_go(plan) ? of_go : other) = &plan;
    if (of_go == nullptr || other == nullptr) return of_go != nullptr;
    return make_error(
        ErrorKind::Unsupported,
        fmt::format("{} is a Go function, whose goroutines change threads, and {} is not, so they "
                    "cannot be paired; expected only Go functions, or a key on all markers",
                    of_go->marker.name, other->marker.name));
}

Result<ProgramFile> file_of_scope(const std::string& path) {
    return call_within<ProgramFile>(scope_timeout, "the event's program " + path,
                                    [path] { return program_file_at(path); });
}

}  // namespace

std::string MarkerPlan::doing() const {
    switch (marker.kind) {
        case settings::MarkerKind::Usdt:
        case settings::MarkerKind::Library:
            return "attach to USDT probe " + marker.provider + ":" + marker.name + " of " +
                   marker.binary;
        case settings::MarkerKind::Function:
            return "attach to function " + marker.name + " of " + marker.binary;
        case settings::MarkerKind::RunQueue: return "attach to the scheduler's tracepoints";
        case settings::MarkerKind::Tracepoint: break;
    }
    return "attach to tracepoint " + marker.provider + ":" + marker.name;
}

void EventPlanner::expect(const std::vector<settings::Event>& events) {
    for (const settings::Event& event : events) places_.expect(event);
}

Result<settings::TraceFs*> EventPlanner::tracefs() {
    if (!tracefs_) {
        TRY_ASSIGN(settings::TraceFs opened, settings::TraceFs::open());
        tracefs_ = std::make_unique<settings::TraceFs>(std::move(opened));
    }
    return tracefs_.get();
}

Result<MarkerPlan::Value> EventPlanner::value_of(const settings::Marker& marker,
                                                 const settings::ArgumentRef& reference) {
    if (marker.kind != settings::MarkerKind::Tracepoint)
        return MarkerPlan::Value{static_cast<std::uint16_t>(reference.index), 0};
    TRY_ASSIGN(settings::TraceFs* const names, tracefs());
    TRY_ASSIGN(const settings::TracepointField field,
               names->field(marker.provider, marker.name, reference.field));
    return MarkerPlan::Value{field.offset, field.bytes};
}

Result<ProbePlaces> EventPlanner::places_of(const MarkerPlan& plan) {
    if (plan.marker.kind != settings::MarkerKind::Function)
        return places_.usdt_places(
            plan.marker, {plan.key.argument, plan.begin_time.argument, plan.trace.argument});
    TRY_ASSIGN(ProbePlaces places, places_.function_places(plan.marker));
    if (places.arguments_on_stack && plan.marker.key)
        return make_error(ErrorKind::Unsupported,
                          "it is written in assembly, with arguments on the stack, so none can be "
                          "the key; expected a function written in Go");
    if (places.goid_offset != 0 && plan.trace.argument != LAGTRAP_NO_ARGUMENT)
        return make_error(ErrorKind::Unsupported,
                          "it is a Go function, whose strings have no terminator; expected "
                          "trace-id on a function or USDT probe in another language");
    return places;
}

Result<MarkerPlan> EventPlanner::plan_marker(const settings::Event& event,
                                             const settings::Marker& marker,
                                             lagtrap_marker_role role, std::uint16_t stage) {
    last_file_ = marker.binary;
    MarkerPlan plan;
    plan.marker = marker;
    plan.role = role;
    plan.stage = stage;
    if (marker.kind == settings::MarkerKind::RunQueue) return plan;
    if (marker.key) {
        TRY_ASSIGN(plan.key, value_of(marker, *marker.key));
        if (!marker.key->second_field.empty()) {
            TRY_ASSIGN(plan.second_key, value_of(marker, {0, marker.key->second_field, {}}));
        }
    }
    if (role == LAGTRAP_ROLE_BEGIN && event.begin_time) {
        TRY_ASSIGN(plan.begin_time, value_of(marker, *event.begin_time));
    }
    if (role == LAGTRAP_ROLE_BEGIN && event.trace_id) {
        TRY_ASSIGN(plan.trace, value_of(marker, *event.trace_id));
    }
    if (marker.kind == settings::MarkerKind::Tracepoint) {
        auto id = tracefs();
        if (!id) return id.error().within(plan.doing());
        TRY_ASSIGN(plan.tracepoint_id, (*id)->tracepoint_id(marker.provider, marker.name));
        return plan;
    }
    auto places = places_of(plan);
    if (!places) return places.error().within(plan.doing());
    plan.places = std::move(*places);
    return plan;
}

namespace {

// In attach order.
using PlanOne = std::function<Status(const settings::Marker&, lagtrap_marker_role, std::uint16_t)>;
Status for_each_marker(const settings::Event& event, const PlanOne& plan) {
    TRY(plan(event.end, LAGTRAP_ROLE_END, 0));
    for (std::size_t other = 0; other < event.other_ends.size(); ++other)
        TRY(plan(event.other_ends[other].marker, LAGTRAP_ROLE_END,
                 static_cast<std::uint16_t>(other + 1)));
    for (std::size_t stage = 0; stage < event.stages.size(); ++stage)
        TRY(plan(event.stages[stage].marker, LAGTRAP_ROLE_STAGE,
                 static_cast<std::uint16_t>(stage)));
    return plan(event.begin, LAGTRAP_ROLE_BEGIN, 0);
}

}  // namespace

bool EventPlanner::is_found_when_mapped(const settings::Marker& marker) const {
    if (settings::kind_of_program(marker.binary) != settings::ProgramName::Path) return true;
    return follows_ && !marker.binary.empty() && follows_(marker.binary);
}

Result<EventPlan> EventPlanner::plan(const settings::Event& event,
                                     const binaries::ReadBudget& budget) {
    places_.use(budget);
    EventPlan plan;
    TRY(for_each_marker(event, [&](const auto& marker, auto role, auto stage) -> Status {
        if (is_found_when_mapped(marker)) return success();
        TRY_ASSIGN(MarkerPlan planned, plan_marker(event, marker, role, stage));
        plan.markers.push_back(std::move(planned));
        return success();
    }));
    TRY_ASSIGN(plan.by_goroutine, is_keyed_by_goroutine(event, plan.markers));
    key_by_frame(event, plan.markers);
    if (!event.scope.binary.empty()) {
        TRY_ASSIGN(plan.scope, file_of_scope(event.scope.binary));
    }
    return plan;
}

Result<EventPlan> EventPlanner::plan_copy(const settings::Event& event,
                                          const std::set<std::string>& names,
                                          const std::string& path,
                                          const binaries::ReadBudget& budget) {
    places_.use(budget);
    EventPlan plan;
    TRY(for_each_marker(event, [&](settings::Marker marker, auto role, auto stage) -> Status {
        if (!names.contains(marker.binary)) return success();
        marker.binary = path;
        TRY_ASSIGN(MarkerPlan planned, plan_marker(event, marker, role, stage));
        plan.markers.push_back(std::move(planned));
        return success();
    }));
    TRY_ASSIGN(plan.by_goroutine, is_keyed_by_goroutine(event, plan.markers));
    key_by_frame(event, plan.markers);
    return plan;
}

}  // namespace lagtrap::daemon
