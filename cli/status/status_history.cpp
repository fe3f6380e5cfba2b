#include "cli/status/status_history.hpp"

#include "cli/control/status_fields.hpp"
#include "core/duration.hpp"

namespace lagtrap::cli {
namespace {

using boost::json::object;

constexpr std::size_t max_events = 6;
constexpr const char* indent = "              ";

std::string points_text(const object& early) {
    std::string points;
    std::size_t shown = 0;
    const auto& events = list(early, "points");
    for (const auto& entry : events) {
        if (!entry.is_object()) continue;
        if (++shown > max_events) break;
        const object& event = entry.as_object();
        const std::uint64_t point_ns = number(event, "point_ns");
        points += points.empty() ? indent : ", ";
        points += text(event, "event") + (point_ns > 0 ? " at " + duration(point_ns) : " at none");
    }
    if (events.size() > max_events)
        points += " and " + counted(events.size() - max_events, "more", "more");
    return points.empty() ? points : points + "\n";
}

std::string window_lines(const object& window, const Paint& paint) {
    if (window.empty()) return {};
    std::string lines = "  history     keeps the last " + duration(number(window, "length_ns")) +
                        " before a breach, now " + format_byte_size(number(window, "size_bytes")) +
                        "\n";
    const std::uint64_t lost = number(window, "lost") + number(window, "cut");
    if (lost > 0)
        lines +=
            indent + paint(Colour::Yellow, "parts lost, buffer full: " + with_commas(lost)) + "\n";
    return lines;
}

std::string early_lines(const object& history, const Paint& paint) {
    const object& early = part(history, "early");
    if (early.empty()) return {};
    const std::uint64_t watched_ns = number(early, "watched_ns");
    std::string lines = "  early       " +
                        counted(number(early, "begun"), "recording", "recordings") +
                        " begun before a breach, " + with_commas(number(early, "kept")) +
                        " kept, " + with_commas(number(early, "dropped")) + " dropped";
    if (watched_ns > 0)
        lines += "; " +
                 percent(static_cast<double>(number(early, "time_ns")) /
                         static_cast<double>(watched_ns)) +
                 " of the time";
    lines += "\n" + points_text(early);
    if (const std::uint64_t outgrown = number(early, "outgrown"); outgrown > 0)
        lines +=
            indent +
            paint(Colour::Yellow, counted(outgrown, "was", "were") + " dropped: out of memory") +
            "\n";
    if (const std::uint64_t held_back = number(early, "held_back"); held_back > 0)
        lines += indent + counted(held_back, "was", "were") +
                 " not begun: early-share of <history> used up\n";
    return lines;
}

}  // namespace

std::string history_lines(const object& answer, const Paint& paint) {
    const object& history = part(answer, "history");
    const auto given_up = [&](const char* label, const char* what, const char* until) {
        return label + paint(Colour::Yellow, what + std::string(", to stay within the budget")) +
               "; retry in " + seconds_text(history, until) + "\n";
    };
    const std::string times =
        real(history, "times_again_in_seconds") > 0
            ? given_up("  times       ", "the time of runs is not broken down",
                       "times_again_in_seconds")
            : "";
    if (real(history, "again_in_seconds") > 0)
        return given_up("  history     ", "the time before a breach is not kept",
                        "again_in_seconds") +
               times;
    return window_lines(part(history, "window"), paint) + early_lines(history, paint) + times;
}

}  // namespace lagtrap::cli
