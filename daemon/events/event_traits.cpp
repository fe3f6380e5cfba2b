#include "daemon/events/event_traits.hpp"

#include <algorithm>

namespace lagtrap::daemon {

bool pairs_calls(const settings::Event& event) {
    const settings::Marker& begin = event.begin;
    const settings::Marker& end = event.end;
    return event.key == settings::KeyKind::Thread && event.nesting != settings::Nesting::Restart &&
           event.other_ends.empty() && begin.kind == settings::MarkerKind::Function &&
           end.kind == settings::MarkerKind::Function &&
           begin.side == settings::FunctionSide::Entry &&
           end.side == settings::FunctionSide::Return && begin.name == end.name &&
           begin.binary == end.binary;
}

bool pairs_frames(const settings::Event& event) {
    return pairs_calls(event) && event.nesting == settings::Nesting::Each && event.stages.empty();
}

bool keeps_stack_order(const settings::Event& event) {
    const auto in_program = [](const settings::Marker& marker) {
        return marker.kind != settings::MarkerKind::Tracepoint &&
               marker.kind != settings::MarkerKind::RunQueue;
    };
    return event.key == settings::KeyKind::Thread && event.nesting != settings::Nesting::Restart &&
           !pairs_calls(event) && in_program(event.begin) && in_program(event.end);
}

bool waits_for_cpu(const settings::Event& event) {
    return event.begin.kind == settings::MarkerKind::RunQueue;
}

bool counts_times(const settings::Event& event) {
    if (waits_for_cpu(event)) return false;  // each run consists of one kind of time
    if (event.key == settings::KeyKind::Thread) return true;
    // A tracepoint may be hit by any thread that an interrupt arrives on, and the threads of a
    // goroutine run others between its markers.
    const auto in_kernel = [](const settings::Marker& marker) {
        return marker.kind == settings::MarkerKind::Tracepoint;
    };
    return !in_kernel(event.begin) && !in_kernel(event.end) &&
           std::none_of(event.stages.begin(), event.stages.end(),
                        [&](const auto& stage) { return in_kernel(stage.marker); });
}

bool keyed_by_argument(const settings::Event& event) {
    return event.key == settings::KeyKind::Argument;
}

bool keyed_for_machine(const settings::Event& event) {
    return keyed_by_argument(event) && event.key_scope == settings::KeyScope::Machine;
}

}  // namespace lagtrap::daemon
