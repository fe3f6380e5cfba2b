// What somebody may see of what machines sent: the events and units of their teams.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lagtrap::server {

// Patterns; '*' stands for any letters, none too. Of an event that fits, all is seen; of others, what ran in a unit that fits.
struct Sight {
    std::vector<std::string> events, units;

    [[nodiscard]] bool sees_event(std::string_view event) const;
    // Never what ran in an unknown unit.
    [[nodiscard]] bool sees_unit(std::string_view unit) const;
    [[nodiscard]] bool sees(std::string_view event, std::string_view unit) const {
        return sees_event(event) || sees_unit(unit);
    }
};

// Nothing: everything is seen.
using SightRef = std::shared_ptr<const Sight>;

[[nodiscard]] bool fits_pattern(std::string_view pattern, std::string_view text);

}  // namespace lagtrap::server
