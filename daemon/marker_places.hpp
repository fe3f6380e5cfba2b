// Where a marker stands, of markers that stand in one place alone: known without a stack.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "settings/settings.hpp"

namespace lagtrap::daemon {

struct SolePlace {
    std::string binary;
    std::string build_id;      // raw bytes
    std::uint64_t offset = 0;  // in the file
};

// nullopt: the marker is in several places, at the ends of a function, in the kernel, or its file can not be read.
[[nodiscard]] std::optional<SolePlace> sole_place_of(const settings::Marker& marker);

}  // namespace lagtrap::daemon
