// The addresses of markers that have only one address, which are known without a stack.
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
    std::string build_id;      // raw bytes, from the file that was read
    std::uint64_t offset = 0;  // in the file
    bool operator==(const SolePlace&) const = default;
};

// nullopt if the marker has several addresses, is at function exits, or is in the kernel.
[[nodiscard]] std::optional<SolePlace> sole_place_of(const MarkerPlan& plan);

// The addresses of an event monitor's markers, as last attached. Thread-safe.
class MarkerPlaces {
  public:
    void note(std::uint32_t event, const EventPlan& plan);
    // Call it when markers of the event were attached in another file. A marker with another
    // address there has no single address any more.
    void note_another(std::uint32_t event, const EventPlan& plan);
    // `stage` is used only with LAGTRAP_ROLE_STAGE.
    [[nodiscard]] std::optional<SolePlace> find(std::uint32_t event, lagtrap_marker_role role,
                                                std::uint16_t stage) const;

  private:
    mutable std::mutex mutex_;
    using Name = std::tuple<std::uint32_t, lagtrap_marker_role, std::uint16_t>;
    std::map<Name, SolePlace> places_;
    std::set<Name> in_several_;
};

}  // namespace lagtrap::daemon
