#include "cli/calls/calls_text.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "cli/calls/function_rows.hpp"
#include "cli/console/ratio.hpp"
#include "cli/console/text_layout.hpp"
#include "core/clock.hpp"

namespace lagtrap::cli {
namespace {

using calls::Function;
using calls::Times;

constexpr double shown_share = 0.01;       // of the outermost call
constexpr double outstanding_share = 0.5;  // of the caller
constexpr std::size_t deepest_indent = 24;
constexpr std::size_t max_named = 3;

std::string module_of(const Function& function) {
    return std::filesystem::path(function.module).filename().string();
}

// "on CPU 1.20 ms, waiting for a CPU 3.00 us, blocked 8.00 ms"; omits zero times.
std::string parts_of(const Times& times) {
    std::string text;
    const auto add = [&](const char* name, std::uint64_t time_ns) {
        if (time_ns == 0) return;
        text += (text.empty() ? "" : ", ") + std::string(name) + " " + duration(time_ns);
    };
    add("on CPU", times.on_cpu_ns);
    add("waiting for a CPU", times.runnable_ns);
    add("blocked", times.blocked_ns);
    return text;
}

const char* end_of(calls::CallEnd end) {
    switch (end) {
        case calls::CallEnd::Left: return "left by an exception, longjmp or stack switch";
        case calls::CallEnd::ThreadEnd: return "its thread or goroutine exited";
        default: return "";
    }
}

// The calls below one call that are not shown individually.
struct Rest {
    std::uint64_t calls = 0, time_ns = 0, unknown = 0;
    std::map<std::uint32_t, std::uint64_t> of;  // calls by function
};

class TreeText {
  public:
    TreeText(const calls::Tree& tree, std::vector<Times> times,
             const std::vector<Function>& functions, const CallsLook& look)
        : tree_(tree), functions_(functions), look_(look), times_(std::move(times)) {
        children_.resize(tree.calls.size());
        for (std::uint32_t number = 1; number < tree.calls.size(); ++number)
            children_[tree.calls[number].parent].push_back(number);
    }

    std::string run() {
        const Times& whole = times_[0];
        const std::string whose = tree_.goroutine == 0
                                      ? fmt::format("{} ({})", tree_.thread, tree_.tid)
                                      : fmt::format("goroutine {}", tree_.goroutine);
        text_ = fmt::format("{}  {}  {}\n", format_utc(tree_.began_realtime_ns), whose,
                            look_.paint(Colour::Bold, duration(whole.wall_ns)));
        const std::string parts =
            tree_.goroutine == 0 ? parts_of(whole) : "CPU time unknown: goroutines change threads";
        text_ += fmt::format("  {}{}{} below it\n", parts, parts.empty() ? "" : "; ",
                             counted(tree_.calls.size() - 1, "call", "calls"));
        const std::string head = text_;
        return head + rows();
    }

    std::string rows() {
        text_.clear();
        // Uses its own stack: trees can be deeper than this program's.
        std::vector<std::pair<std::uint32_t, std::size_t>> open{{0, 0}};
        while (!open.empty()) {
            const auto [number, depth] = open.back();
            open.pop_back();
            if (number >= rest_mark) {
                add_rest(rests_[number - rest_mark], depth);
                continue;
            }
            add_line(number, depth);
            add_below(number, depth + 1, open);
        }
        return std::move(text_);
    }

  private:
    static constexpr std::uint32_t rest_mark = 1U << 30;

    [[nodiscard]] bool is_shown(std::uint32_t number) const {
        return look_.all || ratio(times_[number].wall_ns, times_[0].wall_ns) >= shown_share ||
               tree_.calls[number].end == calls::CallEnd::Left;
    }

    void count_all(std::uint32_t number, Rest& rest) const {
        std::vector<std::uint32_t> open{number};
        while (!open.empty()) {
            const std::uint32_t one = open.back();
            open.pop_back();
            ++rest.calls;
            ++rest.of[tree_.calls[one].function];
            rest.unknown += tree_.calls[one].left_out;
            open.insert(open.end(), children_[one].begin(), children_[one].end());
        }
    }

    void add_below(std::uint32_t number, std::size_t depth,
                   std::vector<std::pair<std::uint32_t, std::size_t>>& open) {
        Rest rest;
        rest.unknown = tree_.calls[number].left_out;
        std::vector<std::uint32_t> shown;
        for (const std::uint32_t child : children_[number]) {
            if (is_shown(child)) {
                shown.push_back(child);
                continue;
            }
            count_all(child, rest);
            rest.time_ns += times_[child].wall_ns;
        }
        if (rest.calls != 0 || rest.unknown != 0) {
            open.emplace_back(rest_mark + static_cast<std::uint32_t>(rests_.size()), depth);
            rests_.push_back(std::move(rest));
        }
        for (auto child = shown.rbegin(); child != shown.rend(); ++child)
            open.emplace_back(*child, depth);
    }

    [[nodiscard]] static std::string indent_of(std::size_t depth) {
        if (depth <= deepest_indent) return std::string(2 * depth, ' ');
        return std::string(2 * deepest_indent, ' ') + fmt::format("[{}] ", depth);
    }

    void add_line(std::uint32_t number, std::size_t depth) {
        const calls::Call& call = tree_.calls[number];
        const Times& times = times_[number];
        const Function& function = functions_[call.function];
        const bool outstanding =
            number != 0 && ratio(times.wall_ns, times_[call.parent].wall_ns) >= outstanding_share &&
            is_shown_anyway(number);
        std::string columns =
            fmt::format("{} {}  {}  ", outstanding ? "!" : " ",
                        pad_left(percent(ratio(times.wall_ns, times_[0].wall_ns)), 5),
                        pad_left(duration(times.wall_ns), 7));
        std::string name = indent_of(depth) + function.name;
        std::string note;
        if (function.module != functions_[tree_.calls[0].function].module)
            note += "  " + module_of(function);
        if (ratio(times.blocked_ns, times.wall_ns) >= 0.1)
            note += "  blocked " + percent(ratio(times.blocked_ns, times.wall_ns));
        if (ratio(times.runnable_ns, times.wall_ns) >= 0.1)
            note += "  waiting for a CPU " + percent(ratio(times.runnable_ns, times.wall_ns));
        if (function.seen) note += "  seen, not read";
        if (const std::string end = end_of(call.end); !end.empty()) note += "  " + end;
        if (function.line != 0)
            note += "  " + (look_.all ? fmt::format("{}:{}", function.source, function.line)
                                      : source_place(function.source, function.line));
        const std::string own =
            children_[number].empty() ? "      -" : pad_left(duration(times.own_ns), 7);
        columns += own + "  ";
        if (look_.cut) {
            const std::size_t room = look_.columns - std::min(look_.columns - 1, width_of(columns));
            name = cut_end(name, room);
            note = cut_end(note, room - width_of(name));
        }
        text_ += columns + (outstanding ? look_.paint(Colour::Bold, name) : name) +
                 look_.paint(Colour::Dim, note) + "\n";
    }

    // Half of almost nothing is not worth showing.
    [[nodiscard]] bool is_shown_anyway(std::uint32_t number) const {
        return ratio(times_[number].wall_ns, times_[0].wall_ns) >= 10 * shown_share;
    }

    void add_rest(const Rest& rest, std::size_t depth) {
        std::vector<std::pair<std::uint64_t, std::uint32_t>> most;
        for (const auto& [function, count] : rest.of) most.emplace_back(count, function);
        std::sort(most.begin(), most.end(), std::greater<>());
        std::string names;
        for (std::size_t i = 0; i < std::min(most.size(), max_named); ++i)
            names += (i == 0 ? "" : ", ") + functions_[most[i].second].name;
        if (most.size() > max_named)
            names += " and " + counted(most.size() - max_named, "other", "others");
        std::string line;
        if (rest.calls != 0)
            line = fmt::format("  {}  {}           {}+ {} of {}",
                               pad_left(percent(ratio(rest.time_ns, times_[0].wall_ns)), 5),
                               pad_left(duration(rest.time_ns), 7), indent_of(depth),
                               counted(rest.calls, "shorter call", "shorter calls"), names);
        if (rest.unknown != 0) {
            if (!line.empty()) line += "\n";
            line += fmt::format("                           {}+ {} not kept: the tree was full",
                                indent_of(depth), counted(rest.unknown, "call", "calls"));
        }
        if (look_.cut && rest.unknown == 0) line = cut_end(line, look_.columns);
        text_ += look_.paint(Colour::Dim, line) + "\n";
    }

    const calls::Tree& tree_;
    const std::vector<Function>& functions_;
    const CallsLook& look_;
    std::vector<Times> times_;
    std::vector<std::vector<std::uint32_t>> children_;
    std::vector<Rest> rests_;
    std::string text_;
};

std::string cost_text(const std::vector<Function>& functions) {
    std::uint64_t min_ns = UINT64_MAX, max_ns = 0;
    for (const Function& function : functions) {
        const std::uint64_t cost_ns = function.cost.inside_ns + function.cost.around_ns;
        min_ns = std::min(min_ns, cost_ns);
        max_ns = std::max(max_ns, cost_ns);
    }
    if (min_ns == max_ns) return duration(min_ns);
    return duration(min_ns) + " to " + duration(max_ns);
}

}  // namespace

std::string started_text(const calls::Started& started, const std::string& function,
                         const CallsLook& look) {
    std::string text = look.paint(Colour::Bold, fmt::format("Calls of {}", function)) +
                       fmt::format(" in {} ({}): {} watched", started.process, started.pid,
                                   counted(started.functions.size(), "function", "functions"));
    if (started.refused_count != 0)
        text += fmt::format(", {} cannot be probed (--all says why)",
                            with_commas(started.refused_count));
    if (started.beyond_limit != 0)
        text += fmt::format(", {} over the limit; narrow with --match or a smaller --depth",
                            with_commas(started.beyond_limit));
    text += fmt::format(
        "\nFound in {}, attached in {}. Probes cost {} per call, which is subtracted from all "
        "times.\n",
        duration(started.plan_ns), duration(started.attach_ns), cost_text(started.functions));
    if (look.all)
        for (const calls::LeftOutFunction& one : started.refused)
            text += fmt::format("  not watched: {}: {}\n", one.name, one.reason);
    text += look.paint(Colour::Dim,
                       "Columns: share of the call, time, own time; \"!\": at least half of its "
                       "caller's time.") +
            "\n\n";
    return text;
}

std::string more_text(const std::vector<Function>& more, const CallsLook& look) {
    std::string names;
    std::size_t seen = 0;
    for (const Function& function : more)
        if (function.seen && seen++ < max_named)
            names += (names.empty() ? "" : ", ") + function.name;
    if (seen > max_named) names += " and " + counted(seen - max_named, "other", "others");
    std::string text = fmt::format("also probed: {}, called indirectly", names);
    if (more.size() > seen)
        text += fmt::format(", and {} of their callees", with_commas(more.size() - seen));
    return look.paint(Colour::Dim, text) + "\n";
}

std::string tree_text(const calls::Tree& tree, const std::vector<Function>& functions,
                      const CallsLook& look) {
    return TreeText(tree, calls::net_times(tree, functions), functions, look).run() + "\n";
}

std::string tree_rows(const calls::Tree& tree, const std::vector<Times>& times,
                      const std::vector<Function>& functions, const CallsLook& look) {
    return TreeText(tree, times, functions, look).rows();
}

std::string summary_text(const calls::Summary& summary, const std::vector<Function>& functions,
                         const CallsLook& look) {
    const auto& all = summary.calls();
    if (all.empty()) return "";
    std::vector<std::vector<std::uint32_t>> children(all.size());
    std::vector<std::pair<std::uint32_t, std::size_t>> open;
    std::uint64_t whole_ns = 0;
    for (std::uint32_t number = 0; number < all.size(); ++number) {
        if (all[number].parent == calls::no_parent) {
            open.emplace_back(number, 0);
            whole_ns += all[number].sum.wall_ns;
        } else {
            children[all[number].parent].push_back(number);
        }
    }
    std::string text =
        look.paint(Colour::Bold, "   share      calls      min     mean      max  function") + "\n";
    while (!open.empty()) {
        const auto [number, depth] = open.back();
        open.pop_back();
        const calls::SummedCall& call = all[number];
        const double share = ratio(call.sum.wall_ns, whole_ns);
        if (!look.all && share < shown_share) continue;
        const bool outstanding =
            call.parent != calls::no_parent && share >= 10 * shown_share &&
            ratio(call.sum.wall_ns, all[call.parent].sum.wall_ns) >= outstanding_share;
        std::string name =
            std::string(2 * std::min(depth, deepest_indent), ' ') + functions[call.function].name;
        std::string note;
        if (ratio(call.sum.blocked_ns, call.sum.wall_ns) >= 0.1)
            note = "  blocked " + percent(ratio(call.sum.blocked_ns, call.sum.wall_ns));
        if (call.not_returned != 0)
            note += fmt::format("  {} left without returning", with_commas(call.not_returned));
        text += fmt::format(
            "{} {} {} {} {} {}  {}{}\n", outstanding ? "!" : " ", pad_left(percent(share), 6),
            pad_left(with_commas(call.count), 10), pad_left(duration(call.min_ns), 8),
            pad_left(duration(call.sum.wall_ns / call.count), 8),
            pad_left(duration(call.max_ns), 8), outstanding ? look.paint(Colour::Bold, name) : name,
            look.paint(Colour::Dim, note));
        std::vector<std::uint32_t>& below = children[number];
        std::sort(below.begin(), below.end(), [&](std::uint32_t one, std::uint32_t other) {
            return all[one].sum.wall_ns < all[other].sum.wall_ns;
        });
        for (const std::uint32_t child : below) open.emplace_back(child, depth + 1);
    }
    return text + "\n";
}

std::string detached_text(const std::vector<calls::DetachedFunction>& detached,
                          const std::vector<Function>& functions, const CallsLook& look) {
    std::string text;
    std::size_t shown = 0;
    std::uint64_t others = 0;
    for (const calls::DetachedFunction& one : detached) {
        if (look.all || shown < max_named) {
            ++shown;
            text += fmt::format(
                "detached: {}, {} calls per second; its time now counts as its callers'\n",
                functions[one.function].name, with_commas(one.calls_per_second));
        } else {
            others += one.calls_per_second;
        }
    }
    if (shown < detached.size())
        text += fmt::format("detached: {} other functions, {} calls per second in total\n",
                            detached.size() - shown, with_commas(others));
    return look.paint(Colour::Yellow, text);
}

std::string ended_text(const calls::Ended& ended, const std::string& function,
                       std::uint64_t reported) {
    std::string text = fmt::format("Ended: {}. {} of {} ended", ended.reason,
                                   counted(ended.calls, "call", "calls"), function);
    text += reported == ended.calls ? "" : fmt::format(", {} shown", with_commas(reported));
    if (ended.short_calls != 0)
        text += fmt::format(", {} shorter than --min", with_commas(ended.short_calls));
    text += fmt::format("; probes removed in {}.\n", duration(ended.detach_ns));
    if (ended.not_kept != 0)
        text += fmt::format("{} not recorded: too many ran, or ended, at once.\n",
                            counted(ended.not_kept, "call was", "calls were"));
    if (ended.not_sent != 0)
        text += fmt::format("{} not shown: this terminal was too slow.\n",
                            counted(ended.not_sent, "call was", "calls were"));
    if (ended.calls == 0)
        text += fmt::format(
            "Either {} was not called, or its calls have not returned. A call is shown when it "
            "ends; inlined calls are not seen.\n",
            function);
    return text;
}

}  // namespace lagtrap::cli
