#include "cli/status/threshold_text.hpp"

#include "cli/control/status_fields.hpp"

namespace lagtrap::cli {
namespace {

using boost::json::object;

// "30 hours"
std::string long_time(double seconds) {
    constexpr double minute_s = 60, hour_s = 3600, day_s = 86400;
    if (seconds >= 2 * day_s)
        return counted(static_cast<std::uint64_t>(seconds / day_s + 0.5), "day", "days");
    if (seconds >= 2 * hour_s)
        return counted(static_cast<std::uint64_t>(seconds / hour_s + 0.5), "hour", "hours");
    return counted(static_cast<std::uint64_t>(seconds / minute_s + 0.5), "minute", "minutes");
}

// What has to happen before the first threshold.
std::string learning_text(const object& threshold) {
    const std::uint64_t runs = number(threshold, "runs"), min_runs = number(threshold, "min_runs");
    const double seconds_left = real(threshold, "learn_seconds_left");
    std::string text;
    if (runs < min_runs || seconds_left <= 0)
        text = with_commas(runs) + " of " + with_commas(min_runs) + " runs";
    if (seconds_left > 0)
        text += (text.empty() ? "" : ", and ") + long_time(seconds_left) + " of watching left";
    return "is not known yet: " + text + ". Until then only runs longer than an hour are delays";
}

std::string known_text(const object& event, const object& threshold) {
    const std::string reason = text(threshold, "reason"), rule = text(threshold, "rule");
    const std::string runs = counted(number(threshold, "runs"), "run", "runs") + " in " +
                             long_time(real(threshold, "watched_seconds"));
    const std::string percentile = rule.substr(0, rule.find(' ')) + " of " + runs + " is " +
                                   duration(number(threshold, "percentile_ns"));
    std::string text = "is " + duration(number(event, "threshold_ns")) + ": ";
    if (reason == "percentile") return text + percentile;
    if (reason == "capture-rate")
        return text + percentile + ", but a smaller threshold would have been exceeded more than " +
               with_commas(number(threshold, "captures_per_day")) + " times a day";
    if (reason == "floor") return text + "its floor; " + percentile;
    if (reason == "longest") return text + "the longest possible; " + percentile;
    if (reason == "raised")
        return text + "delays raised it from " + duration(number(threshold, "base_ns")) +
               ". It is halved after each quiet time";
    return text + "on its way to " + duration(number(threshold, "target_ns")) +
           ", by at most a factor of 2 per hour";
}

}  // namespace

bool learns_threshold(const object& event) {
    return text(part(event, "auto_threshold"), "reason") == "learning";
}

std::string threshold_cell(const object& event) {
    return learns_threshold(event) ? "learning" : duration(number(event, "threshold_ns"));
}

std::string threshold_sentence(const object& event) {
    const object& threshold = part(event, "auto_threshold");
    if (threshold.empty()) return {};
    std::string sentence = "Its threshold (" + text(threshold, "rule") + ") ";
    sentence += learns_threshold(event) ? learning_text(threshold) : known_text(event, threshold);
    return sentence + ". Its delays started " + with_commas(number(threshold, "captures")) +
           " of at most " +
           counted(number(threshold, "captures_per_day"), "recording", "recordings") +
           " in the last 24 h.";
}

}  // namespace lagtrap::cli
