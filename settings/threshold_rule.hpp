// Thresholds that follow from an event's runs, as settings write them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "settings/settings.hpp"

namespace lagtrap::settings {

// The rule that "auto" or "p99.9 x 3" means. nullopt for other texts, percentiles outside p50 to
// p99.999, and factors outside 1 to 1000.
[[nodiscard]] std::optional<ThresholdRule> threshold_rule_of(std::string_view text);

// How long to record after a delay of an event whose settings do not say: four times its threshold,
// from 2 s to 20 s, and 4 s with a rule.
[[nodiscard]] std::chrono::nanoseconds default_trace_length(std::chrono::nanoseconds threshold,
                                                            bool has_rule);

// "p99.9 x 3"
[[nodiscard]] std::string threshold_rule_text(const ThresholdRule& rule);

}  // namespace lagtrap::settings
