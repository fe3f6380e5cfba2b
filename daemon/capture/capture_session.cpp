#include "daemon/capture/capture_session.hpp"

#include <unistd.h>

#include <cstring>
#include <utility>

#include "core/clock.hpp"
#include "core/text.hpp"

namespace lagtrap::daemon {
namespace {

std::string text_of(const settings::Marker& marker) {
    switch (marker.kind) {
        case settings::MarkerKind::Usdt: return "usdt " + marker.provider + ":" + marker.name;
        case settings::MarkerKind::Tracepoint:
            return "tracepoint " + marker.provider + ":" + marker.name;
        case settings::MarkerKind::Library: return "library " + marker.name;
        case settings::MarkerKind::RunQueue: return "wait for a CPU " + marker.name;
        case settings::MarkerKind::Function: break;
    }
    return (marker.side == settings::FunctionSide::Return ? "return " : "function ") + marker.name;
}

std::string comm_of(const lagtrap_run& run) {
    return printable({run.comm, ::strnlen(run.comm, sizeof(run.comm))});
}

}  // namespace

trace::Session make_session(std::string id, const settings::Settings& settings,
                            const EventThresholds& thresholds, std::uint32_t event,
                            trace::TriggerReason reason, const Breach* breach,
                            CaptureLengths lengths) {
    trace::Session session;
    session.id = std::move(id);
    session.lagtrap_version = LAGTRAP_VERSION;
    session.clocks = ClockSnapshot::take();
    session.planned_length_ns = static_cast<std::uint64_t>(lengths.planned.count());
    session.longest_length_ns = static_cast<std::uint64_t>(lengths.longest.count());
    session.sample_interval_ns =
        static_cast<std::uint64_t>(settings.recording.sample_interval.count());
    session.cpu_count = static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
    session.stack_method = "eh-frame";
    session.boot_id = trace::running_boot_id();
    for (const settings::Event& known : settings.events) {
        trace::SessionEvent described;
        described.name = known.name;
        described.threshold_ns =
            thresholds.of_ns(static_cast<std::uint32_t>(session.events.size()));
        described.trace_length_ns = static_cast<std::uint64_t>(known.trace_length.count());
        described.trace_length_limit_ns =
            static_cast<std::uint64_t>(known.trace_length_limit.count());
        for (const settings::Stage& stage : known.stages) described.stages.push_back(stage.name);
        described.program = known.begin.binary;
        described.markers.push_back(text_of(known.begin));
        for (const settings::Stage& stage : known.stages)
            described.markers.push_back(text_of(stage.marker));
        described.markers.push_back(text_of(known.end));
        session.events.push_back(std::move(described));
    }
    session.trigger.reason = reason;
    session.trigger.event = event;
    session.trigger.reported_ns = breach ? breach->noticed_ns : monotonic_ns();
    session.trigger.breach_ns = breach ? breach->run.end_ns : session.trigger.reported_ns;
    if (breach) {
        session.trigger.pid = breach->run.begin_pid;
        session.trigger.tid = breach->run.begin_tid;
        session.trigger.comm = comm_of(breach->run);
        session.trigger.begin_ns = breach->run.begin_ns;
        session.trigger.of_goroutine = (breach->run.flags & LAGTRAP_RUN_OF_GOROUTINE) != 0;
    }
    return session;
}

}  // namespace lagtrap::daemon
