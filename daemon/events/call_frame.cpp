#include "daemon/events/call_frame.hpp"

#include <charconv>
#include <cstring>
#include <string_view>

#include "core/files.hpp"
#include "core/timed_call.hpp"
#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t maps_limit_bytes = 16 << 20;

struct Mapping {
    std::uint64_t begin = 0, end = 0;
    bool is_guard = false;  // no access allowed
    std::string_view name;

    [[nodiscard]] bool holds(std::uint64_t address) const {
        return begin <= address && address < end;
    }
};

// A line "begin-end rwxp offset device inode name".
Mapping mapping_of(std::string_view line) {
    Mapping mapping;
    const char* const end = line.data() + line.size();
    const auto [dash, no_begin] = std::from_chars(line.data(), end, mapping.begin, 16);
    if (no_begin != std::errc{} || dash == end) return {};
    const auto [space, no_end] = std::from_chars(dash + 1, end, mapping.end, 16);
    if (no_end != std::errc{}) return {};
    const std::string_view rest(space, static_cast<std::size_t>(end - space));
    mapping.is_guard = rest.starts_with(" ---");
    if (const auto bracket = rest.rfind(" ["); bracket != std::string_view::npos)
        mapping.name = rest.substr(bracket + 1);
    return mapping;
}

// Calls `each` with every mapping and its predecessor, until it returns true.
template <typename Each>
bool any_mapping(const std::string& maps, Each each) {
    Mapping before;
    for (std::string_view left = maps; !left.empty();) {
        const auto newline = left.find('\n');
        const Mapping mapping = mapping_of(left.substr(0, newline));
        if (each(mapping, before)) return true;
        if (newline == std::string_view::npos) return false;
        left.remove_prefix(newline + 1);
        before = mapping;
    }
    return false;
}

// /proc shows the stack pointer of a sleeping thread ("nr arguments... sp pc", proc(5)), but not of
// a running one.
std::optional<std::uint64_t> stack_pointer_of(const ThreadCall& call) {
    const auto text = read_file(
        "/proc/" + std::to_string(call.pid) + "/task/" + std::to_string(call.tid) + "/syscall",
        4096);
    if (!text) return std::nullopt;
    const auto before_last = text->rfind(' ');
    const auto before_sp =
        before_last == std::string::npos ? before_last : text->rfind(" 0x", before_last - 1);
    if (before_sp == std::string::npos) return std::nullopt;
    std::uint64_t stack_pointer = 0;
    std::from_chars(text->data() + before_sp + 3, text->data() + before_last, stack_pointer, 16);
    return stack_pointer == 0 ? std::nullopt : std::optional(stack_pointer);
}

std::optional<std::uint64_t> word_at(std::uint32_t pid, std::uint64_t address) {
    DirectInspector here;
    ProcessInspector* inspector = process_inspector();
    if (inspector == nullptr) inspector = &here;
    const auto bytes = inspector->read_memory(pid, address, sizeof(std::uint64_t));
    if (!bytes) return std::nullopt;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes->data(), sizeof(word));
    return word;
}

CallEvidence evidence_of(const ThreadCall& call) {
    CallEvidence evidence;
    evidence.stack_pointer = stack_pointer_of(call);
    if (call.return_address != 0) evidence.word_at_frame = word_at(call.pid, call.frame);
    const bool is_above = evidence.stack_pointer && *evidence.stack_pointer > call.frame;
    const bool differs = evidence.word_at_frame && *evidence.word_at_frame != call.return_address;
    if (!is_above && !differs) return evidence;
    const auto maps = read_file("/proc/" + std::to_string(call.pid) + "/maps", maps_limit_bytes);
    if (!maps) return {};
    evidence.word_is_trampoline = differs && lies_in_trampoline(*maps, *evidence.word_at_frame);
    evidence.on_one_stack =
        is_above && lie_on_one_stack(*maps, call.frame, *evidence.stack_pointer);
    return evidence;
}

}  // namespace

FrameState state_of_call(const ThreadCall& call, const CallEvidence& evidence) {
    const bool has_other_word = call.return_address != 0 && evidence.word_at_frame &&
                                *evidence.word_at_frame != call.return_address &&
                                !evidence.word_is_trampoline;
    const bool is_below_stack =
        evidence.stack_pointer && *evidence.stack_pointer > call.frame && evidence.on_one_stack;
    return has_other_word || is_below_stack ? FrameState::Gone : FrameState::Alive;
}

bool lie_on_one_stack(const std::string& maps, std::uint64_t one, std::uint64_t other) {
    return any_mapping(maps, [&](const Mapping& mapping, const Mapping& before) {
        if (!mapping.holds(one) || !mapping.holds(other)) return false;
        return mapping.name == "[stack]" || (before.is_guard && before.end == mapping.begin);
    });
}

bool lies_in_trampoline(const std::string& maps, std::uint64_t address) {
    return any_mapping(maps, [&](const Mapping& mapping, const Mapping&) {
        return mapping.holds(address) && mapping.name == "[uprobes]";
    });
}

FrameState CallFrames::state_of(const ThreadCall& call) const {
    if (is_asking_->exchange(true)) return FrameState::Alive;  // an earlier question is unanswered
    const auto state =
        call_within<FrameState>(timeout_, "inspect a frame", [call, is_asking = is_asking_] {
            const FrameState seen = state_of_call(call, evidence_of(call));
            is_asking->store(false);
            return Result<FrameState>(seen);
        });
    if (!state && state.error().kind == ErrorKind::Busy) is_asking_->store(false);
    return state ? *state : FrameState::Alive;
}

}  // namespace lagtrap::daemon
