#include "daemon/events/goroutine_frame.hpp"

#include <cstring>
#include <optional>
#include <string>

#include "bpf/event_monitor.h"

namespace lagtrap::daemon {
namespace {

// Fields of struct g in Go's src/runtime/runtime2.go. They are the same in all supported versions.
constexpr std::size_t stack_high_at = 8;
constexpr std::size_t stack_pointer_at = 56;  // in `sched`: where it stopped last
constexpr std::size_t largest_bytes = 4096;

constexpr std::uint32_t runnable = 1, in_system_call = 3, waiting_for_event = 4, dead = 6,
                        copying_stack = 8, preempted = 9;
constexpr std::uint32_t scanned = 0x1000;  // combined with another status

struct Goroutine {
    std::uint64_t number = 0;
    std::uint64_t stack_high = 0;
    std::uint64_t stack_pointer = 0;
    std::uint64_t frame_pointer = 0;
    std::uint32_t status = 0;

    bool operator==(const Goroutine&) const = default;
};

template <typename Number>
Number number_at(const std::string& bytes, std::size_t at) {
    Number number{};
    std::memcpy(&number, bytes.data() + at, sizeof(number));
    return number;
}

std::optional<Goroutine> read_goroutine(const GoroutineFrame& frame, ProcessInspector& inspector) {
    const std::size_t size = frame.number_offset + sizeof(std::uint64_t);
    if (frame.frame_offset < stack_pointer_at ||
        frame.number_offset < frame.frame_offset + 2 * sizeof(std::uint64_t) ||
        size > largest_bytes)
        return std::nullopt;
    const auto bytes = inspector.read_memory(frame.pid, frame.goroutine, size);
    if (!bytes) return std::nullopt;
    return Goroutine{
        number_at<std::uint64_t>(*bytes, frame.number_offset),
        number_at<std::uint64_t>(*bytes, stack_high_at),
        number_at<std::uint64_t>(*bytes, stack_pointer_at),
        number_at<std::uint64_t>(*bytes, frame.frame_offset),
        number_at<std::uint32_t>(*bytes, frame.number_offset - sizeof(std::uint64_t)) & ~scanned};
}

// True if the state that it saved when it stopped is still valid.
bool is_stopped(std::uint32_t status) {
    return status == runnable || status == in_system_call || status == waiting_for_event ||
           status == preempted;
}

// Follows the frame pointers to find the call whose return address is at `place`. Each points to
// the previous one and lies just below the return address of its call.
FrameState find_call(const GoroutineFrame& frame, const Goroutine& goroutine, std::uint64_t place,
                     ProcessInspector& inspector) {
    if (place - goroutine.stack_pointer > inspected_memory_limit_bytes) return FrameState::Alive;
    const auto stack =
        inspector.read_memory(frame.pid, goroutine.stack_pointer, place - goroutine.stack_pointer);
    if (!stack) return FrameState::Unknown;
    std::uint64_t pointer = goroutine.frame_pointer;
    while (pointer >= goroutine.stack_pointer && pointer < place &&
           place - pointer > sizeof(pointer)) {
        const auto next = number_at<std::uint64_t>(*stack, pointer - goroutine.stack_pointer);
        if (next <= pointer) break;
        pointer = next;
    }
    return pointer < place && place - pointer == sizeof(pointer) ? FrameState::Alive
                                                                 : FrameState::Gone;
}

FrameState state_of_call(const GoroutineFrame& frame, const Goroutine& goroutine,
                         ProcessInspector& inspector) {
    const std::uint64_t depth = LAGTRAP_GO_STACK_TOP - frame.stack_place;
    const std::uint64_t place = goroutine.stack_high - depth;
    if (place > goroutine.stack_high || goroutine.stack_pointer > goroutine.stack_high)
        return FrameState::Unknown;
    if (goroutine.stack_pointer > place) return FrameState::Gone;
    return goroutine.status == in_system_call ? FrameState::Alive
                                              : find_call(frame, goroutine, place, inspector);
}

FrameState state_of(const GoroutineFrame& frame, bool is_call, ProcessInspector& inspector) {
    if (frame.number == 0) return FrameState::Alive;
    const auto now = read_goroutine(frame, inspector);
    if (!now) return FrameState::Unknown;
    if (now->number != frame.number || now->status == dead) return FrameState::Gone;
    if (now->status == copying_stack) return FrameState::Unknown;
    if (!is_call || !is_stopped(now->status)) return FrameState::Alive;
    const FrameState state = state_of_call(frame, *now, inspector);
    // It may have run and stopped again during the reads.
    return state != FrameState::Gone || read_goroutine(frame, inspector) == now
               ? state
               : FrameState::Unknown;
}

}  // namespace

FrameState state_of_goroutine(const GoroutineFrame& frame, ProcessInspector& inspector) {
    return state_of(frame, false, inspector);
}

FrameState state_of_frame(const GoroutineFrame& frame, ProcessInspector& inspector) {
    return state_of(frame, true, inspector);
}

}  // namespace lagtrap::daemon
