#include "cli/calls/function_rows.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "cli/console/text_layout.hpp"

namespace lagtrap::cli {
namespace {

constexpr std::size_t max_shown = 5;
constexpr std::size_t function_figures_width = 54;

std::size_t room_beside(std::size_t width, const CallsLook& look) {
    return look.columns - std::min(look.columns - 1, width);
}

// The place follows the name if it fits.
std::string named(const FunctionRow& row, std::size_t room, const CallsLook& look) {
    const std::string name = cut_end(row.name, room);
    if (row.source.empty() || width_of(name) + 2 + width_of(row.source) > room) return name;
    return name + "  " + look.paint(Colour::Dim, row.source);
}

}  // namespace

std::string source_place(const std::string& path, std::uint32_t line) {
    if (path.empty() || line == 0) return "";
    return path.substr(path.rfind('/') + 1) + ":" + std::to_string(line);
}

std::string own_time_rows(std::vector<FunctionRow> rows, std::uint64_t whole_ns, std::size_t top,
                          const CallsLook& look) {
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        return a.own_ns != b.own_ns ? a.own_ns > b.own_ns : a.calls > b.calls;
    });
    std::string text =
        look.paint(Colour::Bold, "  share   own time       calls       mean    longest  function") +
        "\n";
    for (std::size_t i = 0; i < std::min(rows.size(), top); ++i) {
        const FunctionRow& one = rows[i];
        const double share =
            whole_ns == 0 ? 0 : static_cast<double>(one.own_ns) / static_cast<double>(whole_ns);
        const auto time = [&](std::uint64_t ns) {
            return pad_left(one.timed ? duration(ns) : "-", 10);
        };
        text += fmt::format("{} {} {} {} {}  {}\n", pad_left(one.timed ? percent(share) : "-", 7),
                            time(one.own_ns), pad_left(with_commas(one.calls), 11),
                            time(one.own_ns / std::max<std::uint64_t>(one.calls, 1)),
                            time(one.longest_ns),
                            named(one, room_beside(function_figures_width, look), look));
    }
    return text;
}

// Each from a different place: among nested calls, the innermost is the interesting one, but all
// are long.
std::string longest_rows(std::vector<FunctionRow> rows, const CallsLook& look) {
    std::erase_if(rows, [](const FunctionRow& one) { return !one.timed; });
    if (rows.empty()) return "";
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.longest_ns > b.longest_ns; });
    std::string text =
        "\n" + look.paint(Colour::Bold, "Longest calls, with their call paths") + "\n";
    for (std::size_t i = 0; i < std::min(rows.size(), max_shown); ++i) {
        std::vector<std::string> path = std::move(rows[i].path);
        path.push_back(rows[i].name);
        text += fmt::format("  {}  {}\n", pad_left(duration(rows[i].longest_ns), 10),
                            join_path(path, room_beside(14, look)));
    }
    return text;
}

}  // namespace lagtrap::cli
