#include "daemon/runs/batch_stacks.hpp"

#include <utility>

#include "core/text.hpp"

namespace lagtrap::daemon {
namespace {

// The marker's key among those of stacks, which are hashes.
std::uint64_t key_of(const EventMarker& marker) {
    constexpr std::uint64_t begin = 0xfffe, end = 0xffff;
    const std::uint64_t place = marker.role == LAGTRAP_ROLE_BEGIN ? begin
                                : marker.role == LAGTRAP_ROLE_END ? end
                                                                  : marker.stage;
    return 0xffff'0000'0000'0000ULL | std::uint64_t{marker.event} << 16 | place;
}

}  // namespace

void BatchStacks::use(std::vector<bool> without_stacks,
                      std::shared_ptr<const MarkerPlaces> places) {
    without_stacks_ = std::move(without_stacks);
    places_ = std::move(places);
    stacks_.clear();
    begin_batch();
}

void BatchStacks::begin_batch() {
    numbers_.clear();
    modules_taken_.clear();
}

bool BatchStacks::forget_if_full() {
    if (!stacks_.full()) return false;
    stacks_.clear();
    begin_batch();
    return true;
}

std::optional<SolePlace> BatchStacks::sole_place(const EventMarker& marker) const {
    if (!places_ || marker.event >= without_stacks_.size() || !without_stacks_[marker.event])
        return std::nullopt;
    return places_->find(marker.event, marker.role, marker.stage);
}

trace::RunStack BatchStacks::stack_of(const std::vector<MarkerPlace>& places, OpenBatch& batch) {
    trace::RunStack stack;
    for (const MarkerPlace& place : places) {
        trace::RunFrame frame;
        frame.offset = place.offset;
        if (place.module != trace::unknown_module) {
            const trace::RecordedModule& module = stacks_.module(place.module);
            frame.module = module.path;
            frame.build_id = hexadecimal(module.build_id);
            if (modules_taken_.emplace(place.module, true).second) batch.add_module(module);
        }
        stack.push_back(std::move(frame));
    }
    return stack;
}

std::uint32_t BatchStacks::number_of(std::uint64_t stack_id, const EventMarker& marker,
                                     OpenBatch& batch) {
    const std::uint64_t key = stack_id == 0 ? key_of(marker) : stack_id;
    if (const auto known = numbers_.find(key); known != numbers_.end()) return known->second;
    trace::RunStack stack;
    if (stack_id == 0) {
        const auto sole = sole_place(marker);
        if (!sole) return 0;
        batch.add_module_once({sole->binary, sole->build_id, 0, 0, 0, {}});
        stack = {{sole->binary, hexadecimal(sole->build_id), sole->offset, {}, {}, 0}};
    } else {
        const std::vector<MarkerPlace>* places = stacks_.find(stack_id);
        if (!places || places->empty()) return 0;
        stack = stack_of(*places, batch);
    }
    const std::uint32_t number = batch.add_stack(std::move(stack));
    numbers_.emplace(key, number);
    return number;
}

}  // namespace lagtrap::daemon
