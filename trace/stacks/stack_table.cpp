#include "trace/stacks/stack_table.hpp"

#include <algorithm>
#include <array>

#include "bpf/python.h"

namespace lagtrap::trace {
namespace {

// Rough sizes of an entry, including hash table overhead.
constexpr std::size_t stack_entry_bytes = 64;
constexpr std::size_t frame_entry_bytes = 88;

bool begins_threads(std::string_view function) {
    constexpr std::array<std::string_view, 7> known{
        "_start", "start_thread", "clone", "clone3", "__clone", "__clone3", "_dl_start_user"};
    return std::find(known.begin(), known.end(), function) != known.end() ||
           function.starts_with("__libc_start");
}

}  // namespace

FrameId StackTable::intern_frame(const CodePlace& place, std::uint64_t at_ns) {
    const auto [known, added] =
        frame_of_place_.try_emplace(place, static_cast<FrameId>(frames_.size()));
    if (added) {
        CodeFrame& frame = frames_.emplace_back();
        frame.module = place.module;
        frame.offset = place.offset;
        used_bytes_ += frame_entry_bytes;
        if (place.pid != 0) {
            run_time_frames_.push_back({known->second, place.pid, at_ns});
            used_bytes_ += sizeof(RunTimeFrame);
        }
    }
    return known->second;
}

bool StackTable::has_room() {
    if (used_bytes_ <= limit_bytes_) return true;
    ++dropped_;
    return false;
}

void StackTable::append_user_frame(std::uint32_t pid, std::uint64_t address, std::uint64_t at_ns) {
    const bool is_python = LAGTRAP_IS_PYTHON_FRAME(address);
    const CodePlace place =
        is_python ? CodePlace{unknown_module, pid, address} : spaces_.find(pid, address, at_ns);
    frame_ids_.push_back(intern_frame(place, at_ns));
}

// Its frames are at the end of the list.
void StackTable::put(std::uint64_t stack_id, CallStack stack, std::uint8_t end) {
    stack.frame_count = static_cast<std::uint16_t>(frame_ids_.size() - stack.first_frame);
    stack.end = end & ~LAGTRAP_STACK_BY_FRAME_POINTER;
    stack.by_frame_pointers = (end & LAGTRAP_STACK_BY_FRAME_POINTER) != 0;
    stack.complete = stack.end == LAGTRAP_STACK_END_COMPLETE;
    used_bytes_ += stack_entry_bytes + stack.frame_count * sizeof(FrameId);
    stacks_.emplace(stack_id, stack);
}

void StackTable::add(const lagtrap_stack& stack) {
    if (stack.stack_id == 0 || stack.frame_count == 0 || stacks_.contains(stack.stack_id) ||
        !has_room())
        return;
    CallStack known;
    known.first_frame = static_cast<std::uint32_t>(frame_ids_.size());
    for (std::uint16_t i = 0; i < stack.frame_count; ++i) {
        // All but the innermost are return addresses. The call precedes them, possibly at the very
        // end of a function.
        const bool is_return_address =
            i > 0 && stack.frames[i] > 0 && !LAGTRAP_IS_PYTHON_FRAME(stack.frames[i]);
        const std::uint64_t address = is_return_address ? stack.frames[i] - 1 : stack.frames[i];
        if (stack.kind == LAGTRAP_STACK_KERNEL)
            frame_ids_.push_back(intern_frame({kernel_module, 0, address}, stack.header.at_ns));
        else
            append_user_frame(stack.pid, address, stack.header.at_ns);
    }
    put(stack.stack_id, known, stack.end);
}

void StackTable::add_copied(const lagtrap_stack_copy& copy, std::span<const std::uint64_t> further,
                            std::uint8_t end) {
    if (copy.stack_id == 0 || stacks_.contains(copy.stack_id) || !has_room()) return;
    CallStack known;
    known.first_frame = static_cast<std::uint32_t>(frame_ids_.size());
    known.late = true;
    if (const CallStack* const inner = find(copy.inner_id)) {
        for (std::uint16_t i = 0; i < inner->frame_count; ++i) {
            const FrameId frame = frame_ids_[inner->first_frame + i];
            frame_ids_.push_back(frame);
        }
    } else {
        append_user_frame(copy.pid, copy.pc, copy.header.at_ns);
    }
    for (const std::uint64_t address : further)
        append_user_frame(copy.pid, address > 0 ? address - 1 : address, copy.header.at_ns);
    put(copy.stack_id, known, end);
}

const CallStack* StackTable::find(std::uint64_t stack_id) const {
    const auto found = stacks_.find(stack_id);
    return found == stacks_.end() ? nullptr : &found->second;
}

void StackTable::count_use(std::uint64_t stack_id) {
    if (const auto found = stacks_.find(stack_id); found != stacks_.end()) ++found->second.uses;
}

std::vector<std::uint64_t> StackTable::uses_of_frames() const {
    std::vector<std::uint64_t> uses(frames_.size());
    for (const auto& [id, stack] : stacks_)
        for (const FrameId frame : frames_of(stack)) uses[frame] += stack.uses;
    return uses;
}

std::vector<std::uint64_t> StackTable::innermost_uses() const {
    std::vector<std::uint64_t> uses(frames_.size());
    for (const auto& [id, stack] : stacks_)
        if (stack.frame_count > 0) uses[frames_of(stack).front()] += stack.uses;
    return uses;
}

FunctionName StackTable::intern_name(std::string_view name) {
    if (name.empty()) return no_name;
    const auto [known, added] =
        name_ids_.try_emplace(std::string(name), static_cast<FunctionName>(names_.size()));
    if (added) {
        names_.emplace_back(name);
        name_bytes_ += 2 * (name.size() + sizeof(std::string));
    }
    return known->second;
}

// A stack taken by a BPF program at a tracepoint starts inside that program; those frames say
// nothing about the thread.
void StackTable::drop_tracing_frames(CallStack& stack) const {
    constexpr std::size_t deepest = 8;
    const auto ids = frames_of(stack);
    for (std::size_t i = std::min(deepest, ids.size()); i-- > 0;) {
        const CodeFrame& frame = frames_[ids[i]];
        const std::string_view name = names_[frame.name];
        const bool tracing = name.starts_with("bpf_trace_run") ||
                             name.starts_with("__bpf_trace_") || name.starts_with("__traceiter_");
        if (frame.module != kernel_module || !tracing || i + 1 == ids.size()) continue;
        stack.first_frame += static_cast<std::uint32_t>(i + 1);
        stack.frame_count = static_cast<std::uint16_t>(stack.frame_count - (i + 1));
        return;
    }
}

// Counts the functions. If the walk did not report how it ended, judges that by the outermost
// function.
void StackTable::count_functions(CallStack& stack) const {
    const CodeFrame* outermost = nullptr;
    for (const FrameId place : frames_of(stack)) {
        for (FrameId id = place; id != no_frame; id = frames_[id].inlined_into) {
            outermost = &frames_[id];
            ++stack.function_count;
            if (outermost->name != no_name) ++stack.named_count;
            if (outermost->source != no_name) ++stack.located_count;
        }
    }
    if (stack.end == LAGTRAP_STACK_END_UNKNOWN && outermost->module != kernel_module &&
        begins_threads(names_[outermost->name]))
        stack.complete = true;
}

void StackTable::finish() {
    frame_of_place_.clear();
    name_ids_.clear();
    run_time_frames_ = {};
    for (auto& [id, stack] : stacks_) {
        drop_tracing_frames(stack);
        count_functions(stack);
    }
}

}  // namespace lagtrap::trace
