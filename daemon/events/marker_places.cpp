#include "daemon/events/marker_places.hpp"

namespace lagtrap::daemon {
namespace {

std::string from_hexadecimal(const std::string& text) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
    return bytes;
}

}  // namespace

std::optional<SolePlace> sole_place_of(const MarkerPlan& plan) {
    const bool at_ends = plan.marker.kind == settings::MarkerKind::Function &&
                         plan.marker.side != settings::FunctionSide::Entry;
    if (!plan.places.file || at_ends || plan.places.offsets.size() != 1) return std::nullopt;
    return SolePlace{plan.marker.binary, from_hexadecimal(plan.places.build_id),
                     plan.places.offsets.front()};
}

void MarkerPlaces::note(std::uint32_t event, const EventPlan& plan) {
    const std::lock_guard lock(mutex_);
    for (const MarkerPlan& marker : plan.markers) {
        const std::tuple name(event, marker.role, marker.stage);
        places_.erase(name);
        in_several_.erase(name);
        if (auto place = sole_place_of(marker)) places_.emplace(name, std::move(*place));
    }
}

void MarkerPlaces::note_another(std::uint32_t event, const EventPlan& plan) {
    const std::lock_guard lock(mutex_);
    for (const MarkerPlan& marker : plan.markers) {
        const std::tuple name(event, marker.role, marker.stage);
        const auto place = sole_place_of(marker);
        const auto known = places_.find(name);
        if (known == places_.end() && place && !in_several_.contains(name)) {
            places_.emplace(name, *place);
        } else if (known == places_.end() || !place || known->second != *place) {
            places_.erase(name);
            in_several_.insert(name);
        }
    }
}

std::optional<SolePlace> MarkerPlaces::find(std::uint32_t event, lagtrap_marker_role role,
                                            std::uint16_t stage) const {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find({event, role, stage});
    return found == places_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace lagtrap::daemon
