#include "analysis/switch_decoder.hpp"

#include <protozero/pbf_reader.hpp>

#include "analysis/interning.hpp"
#include "analysis/trace_fields.hpp"

namespace lagtrap::analysis {

namespace {

using protozero::data_view;
using protozero::pbf_reader;

// Bits of prev_state as the tracepoint reports it. Exited is EXIT_DEAD, EXIT_ZOMBIE and TASK_DEAD
// of the kernel's linux/sched.h after TASK_REPORT; 0x80 is an idle kernel thread. Preempted is the
// bit above all of these.
constexpr std::uint64_t state_exited = 0x10 | 0x20;
constexpr std::uint64_t state_preempted = 0x100;

constexpr std::uint32_t policy_idle = 5;  // SCHED_IDLE of the kernel's linux/sched.h

std::int16_t priority_of(std::int64_t value) {
    constexpr std::int64_t highest = 139;
    return value >= 0 && value <= highest ? static_cast<std::int16_t>(value) : std::int16_t{-1};
}

SwitchOut switch_out_of(std::uint64_t prev_state) {
    if ((prev_state & 0xff) == 0 || (prev_state & state_preempted) != 0) return SwitchOut::Runnable;
    return (prev_state & state_exited) != 0 ? SwitchOut::Exited : SwitchOut::Blocked;
}

void take_switch_facts(data_view message, RawSwitch& event, RawTrace& trace) {
    namespace field = fields::lagtrap_switch;
    RawThrottling throttling;
    pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case field::next_policy:
                if (reader.get_uint32() == policy_idle) event.next_priority = idle_priority;
                break;
            case field::prev_throttled: event.prev_throttled = reader.get_bool(); break;
            case field::throttled_from: throttling.from_ns = reader.get_uint64(); break;
            case field::throttled_to: throttling.to_ns = reader.get_uint64(); break;
            case field::prev_yielded: event.prev_yielded = reader.get_bool(); break;
            case field::concluded: event.concluded = reader.get_bool(); break;
            default: reader.skip();
        }
    }
    if (throttling.to_ns == 0) return;
    trace.throttlings.push_back(throttling);
    event.throttling = static_cast<std::uint32_t>(trace.throttlings.size());
}

void take_wake_cause(data_view message, RawWaking& event, RawTrace& trace) {
    std::uint64_t cause = 0;
    pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::lagtrap_waking::cause: cause = reader.get_uint64(); break;
            case fields::lagtrap_waking::device:
                event.device = interned(view_of(reader.get_view()), device_length_limit, trace);
                break;
            default: reader.skip();
        }
    }
    // A cause from a later version: as far as known here, not a thread.
    const bool known = cause <= static_cast<std::uint64_t>(WakeCause::Killed);
    event.cause = known ? static_cast<WakeCause>(cause) : WakeCause::Interrupt;
    const bool by_thread = event.cause == WakeCause::Unknown || event.cause == WakeCause::Thread ||
                           event.cause == WakeCause::Packet || event.cause == WakeCause::Signal ||
                           event.cause == WakeCause::Killed;
    if (!by_thread) event.by_interrupt = true;
}

}  // namespace

void take_switch(data_view message, std::uint64_t at_ns, std::uint32_t cpu, data_view facts,
                 RawTrace& trace) {
    RawSwitch event;
    std::uint64_t state = 0;
    event.at_ns = at_ns;
    pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::sched_switch::prev_tid: event.prev_tid = reader.get_uint32(); break;
            case fields::sched_switch::prev_state: state = reader.get_uint64(); break;
            case fields::sched_switch::next_tid: event.next_tid = reader.get_uint32(); break;
            case fields::sched_switch::prev_priority:
                event.prev_priority = priority_of(reader.get_int64());
                break;
            case fields::sched_switch::next_priority:
                event.next_priority = priority_of(reader.get_int64());
                break;
            default: reader.skip();
        }
    }
    if (event.prev_tid >= tid_limit || event.next_tid >= tid_limit) {
        ++trace.unreadable;
        return;
    }
    event.out = switch_out_of(state);
    if (facts.size() > 0) take_switch_facts(facts, event, trace);
    trace.switches[cpu].push_back(event);
    ++trace.records;
}

void take_waking(data_view message, RawWaking event, data_view facts, RawTrace& trace) {
    pbf_reader reader(message);
    while (reader.next()) {
        if (reader.tag_and_type() == fields::sched_waking::tid) {
            event.wakee_tid = reader.get_uint32();
        } else {
            reader.skip();
        }
    }
    if (event.waker_tid >= tid_limit || event.wakee_tid >= tid_limit) {
        ++trace.unreadable;
        return;
    }
    if (facts.size() > 0) take_wake_cause(facts, event, trace);
    trace.wakings.push_back(event);
    ++trace.records;
}

}  // namespace lagtrap::analysis
