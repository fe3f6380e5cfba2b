// The part of the machines' data that a person may see: the events and units of their teams.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lagtrap::server {

// Patterns, where '*' matches any text including none. An event that matches is visible completely;
// of other events only what ran in a matching unit.
struct Sight {
    std::vector<std::string> events, units;

    [[nodiscard]] bool sees_event(std::string_view event) const;
    // False for an unknown unit.
    [[nodiscard]] bool sees_unit(std::string_view unit) const;
    [[nodiscard]] bool sees(std::string_view event, std::string_view unit) const {
        return sees_event(event) || sees_unit(unit);
    }
};

// Null: everything is visible.
using SightRef = std::shared_ptr<const Sight>;

[[nodiscard]] bool fits_pattern(std::string_view pattern, std::string_view text);

}  // namespace lagtrap::server
