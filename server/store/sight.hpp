// The part of the machines' data that a person may see: the events and units of their teams.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
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

// What a query may show. There is no default, so that whoever asks has decided it.
class Visibility {
  public:
    [[nodiscard]] static Visibility everything() { return Visibility(nullptr); }
    // Null: everything.
    explicit Visibility(SightRef sight) : sight_(std::move(sight)) {}

    [[nodiscard]] bool sees_everything() const { return sight_ == nullptr; }
    // Null: everything.
    [[nodiscard]] const Sight* sight() const { return sight_.get(); }
    [[nodiscard]] bool sees(std::string_view event, std::string_view unit) const {
        return sight_ == nullptr || sight_->sees(event, unit);
    }

  private:
    SightRef sight_;
};

[[nodiscard]] bool fits_pattern(std::string_view pattern, std::string_view text);

}  // namespace lagtrap::server
