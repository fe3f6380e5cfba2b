// Where markers stand, of those that stand in one place alone: known without a stack.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "daemon/events/event_plan.hpp"

namespace lagtrap::daemon {

struct SolePlace {
    std::string binary;
    std::string build_id;      // raw bytes; of the file that was read
    std::uint64_t offset = 0;  // in the file
    bool operator==(const SolePlace&) const = default;
};

// nullopt: the marker is in several places, at the ends of a function, or in the kernel.
[[nodiscard]] std::optional<SolePlace> sole_place_of(const MarkerPlan& plan);

// Of the markers of a listener, as they were attached last. From any thread.
class MarkerPlaces {
  public:
    void note(std::uint32_t event, const EventPlan& plan);
    // Markers of the event were attached in a further file: where that is another place, theirs is no longer the only one.
    void note_another(std::uint32_t event, const EventPlan& plan);
    // `stage` counts with LAGTRAP_ROLE_STAGE alone.
    [[nodiscard]] std::optional<SolePlace> find(std::uint32_t event, lagtrap_marker_role role,
                                                std::uint16_t stage) const;

  private:
    mutable std::mutex mutex_;
    using Name = std::tuple<std::uint32_t, lagtrap_marker_role, std::uint16_t>;
    std::map<Name, SolePlace> places_;
    std::set<Name> in_several_;
};

}  // namespace lagtrap::daemon
