// Offers of `lagtrap add` as elements of the settings: for trials that measure them, and to keep.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/add/add_offers.hpp"
#include "cli/add/add_target.hpp"

namespace lagtrap::cli {

// Settings elements for a trial that measures all offers. They never trigger a recording: their
// thresholds are one hour.
[[nodiscard]] std::string trial_elements(const std::vector<Offer>& offers, const AddTarget& target);
// The name in that trial of an event of the offer at `i`.
[[nodiscard]] std::string trial_event_name(std::size_t i, OfferKind kind,
                                           const OfferedEvent& event);

// A trial of the stages of these offers, which records their runs. The event of the offer at `i`
// is named stage_trial_name(i).
[[nodiscard]] std::string stage_trial_elements(const std::vector<Offer>& offers,
                                               const AddTarget& target);
[[nodiscard]] std::string stage_trial_name(std::size_t i);

struct OfferChoice {
    std::string threshold;  // overrides the proposed one; for a preset, for all its events
    std::string prefix;     // prepended to event names
    std::string unit;       // only its runs count; empty: all
};
// The elements for the settings, indented by two spaces.
[[nodiscard]] std::string settings_elements(const Offer& offer, const OfferChoice& choice);

}  // namespace lagtrap::cli
