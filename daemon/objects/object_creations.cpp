#include "daemon/objects/object_creations.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "bpf/objects.h"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t oldest_of_class = 10;
constexpr std::size_t stacks_reported = 200;
constexpr std::size_t frame_bytes = 256;

}  // namespace

void ObjectCreations::add_to(calls::ObjectsEnded& ended, ObjectEngine& engine,
                             std::size_t classes) {
    // reported numbers of stacks, by the engine's numbers
    std::map<std::uint64_t, std::uint32_t> reported;
    for (ObjectEngine::Old& old : engine.oldest(oldest_of_class)) {
        if (old.object.class_number >= classes) continue;
        old.object.caller = name_of_caller(old.caller);
        const auto known = reported.find(old.stack);
        if (known != reported.end()) {
            old.object.stack = known->second;
        } else if (const auto stack = ended.stacks.size() < stacks_reported
                                          ? engine.stack(old.stack)
                                          : std::nullopt) {
            ended.stacks.push_back(describe(*stack));
            old.object.stack = reported[old.stack] =
                static_cast<std::uint32_t>(ended.stacks.size());
        }
        ended.oldest.push_back(std::move(old.object));
    }
}

// From the caller of the creation outwards.
calls::CreationStack ObjectCreations::describe(const lagtrap_object_stack& stack) {
    calls::CreationStack described;
    described.alive = stack.objects;
    const std::size_t frames = std::min<std::size_t>(stack.frame_count, std::size(stack.frames));
    for (std::size_t at = 1; at < std::min(frames, described.frames_limit + 1); ++at)
        described.frames.push_back(name_of_caller(stack.frames[at]));
    described.cut = frames > described.frames_limit + 1 ||
                    (stack.end & ~LAGTRAP_STACK_BY_FRAME_POINTER) != LAGTRAP_STACK_END_COMPLETE;
    return described;
}

// The byte before a return address belongs to the call, even if the call is the last
// instruction of its function.
const std::string& ObjectCreations::name_of_caller(std::uint64_t return_address) {
    auto [known, is_new] = names_.try_emplace(return_address);
    if (is_new && return_address != 0)
        known->second = planner_.name_of(return_address - 1).substr(0, frame_bytes);
    return known->second;
}

}  // namespace lagtrap::daemon
