#include "settings/threshold_rule.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/core.h>

namespace lagtrap::settings {
namespace {

constexpr std::uint32_t min_percentile_ppm = 500'000, max_percentile_ppm = 999'990;
constexpr std::uint32_t min_factor_hundredths = 100, max_factor_hundredths = 100'000;

// A decimal number as a multiple of 1/10^`places`. At most `digits` digits before the point.
std::optional<std::uint32_t> scaled(std::string_view text, std::size_t digits, std::size_t places) {
    const std::string_view whole = text.substr(0, text.find('.'));
    std::string_view fraction = text.substr(whole.size());
    if (!fraction.empty()) fraction.remove_prefix(1);
    if (whole.empty() || whole.size() > digits || fraction.size() > places || text.ends_with('.'))
        return {};
    const std::string all =
        std::string(whole) + std::string(fraction) + std::string(places - fraction.size(), '0');
    std::uint32_t value = 0;
    const char* end = all.data() + all.size();
    const auto [rest, failure] = std::from_chars(all.data(), end, value);
    if (failure != std::errc{} || rest != end) return {};
    return value;
}

std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

// The number that is `value` / 10^`places`, without zeros at the end.
std::string decimal(std::uint32_t value, int places) {
    std::string text = fmt::format("{:0{}}", value, places + 1);
    text.insert(text.size() - static_cast<std::size_t>(places), ".");
    while (text.ends_with('0')) text.pop_back();
    if (text.ends_with('.')) text.pop_back();
    return text;
}

}  // namespace

std::optional<ThresholdRule> threshold_rule_of(std::string_view text) {
    if (text == "auto") return ThresholdRule{};
    const std::size_t times = text.find('x');
    if (!text.starts_with('p') || times == std::string_view::npos) return {};
    const auto percentile_ppm = scaled(trimmed(text.substr(1, times - 1)), 2, 4);
    const auto factor_hundredths = scaled(trimmed(text.substr(times + 1)), 4, 2);
    if (!percentile_ppm || *percentile_ppm < min_percentile_ppm ||
        *percentile_ppm > max_percentile_ppm)
        return {};
    if (!factor_hundredths || *factor_hundredths < min_factor_hundredths ||
        *factor_hundredths > max_factor_hundredths)
        return {};
    return ThresholdRule{*percentile_ppm, *factor_hundredths, std::nullopt};
}

std::chrono::nanoseconds default_trace_length(std::chrono::nanoseconds threshold, bool has_rule) {
    using namespace std::chrono_literals;
    if (has_rule) return 4s;
    return std::clamp<std::chrono::nanoseconds>(4 * threshold, 2s, 20s);
}

std::string threshold_rule_text(const ThresholdRule& rule) {
    return fmt::format("p{} x {}", decimal(rule.percentile_ppm, 4),
                       decimal(rule.factor_hundredths, 2));
}

}  // namespace lagtrap::settings
