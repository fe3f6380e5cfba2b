#include "cli/status/live_view.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include <boost/json.hpp>

#include "cli/console/name_column.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/status/status_events.hpp"
#include "cli/status/threshold_text.hpp"

namespace lagtrap::cli {

namespace {

using boost::json::object;

constexpr std::uint64_t window_ns = 10'000'000'000;
constexpr std::size_t notes_kept = 200;
// Lines besides events: two about the daemon, a blank, the table's head, a blank, the log's head,
// the message and the keys.
constexpr std::size_t other_lines = 8;
constexpr std::size_t min_notes = 4;
constexpr std::size_t event_number_columns = 2 + 4 * 9 + 3 * 8;  // of the table of events

LiveFigures figures_of(const object& event) {
    const object& timed = part(event, "timed");
    return {number(event, "runs"),      number(event, "delays"),      number(timed, "ns"),
            number(timed, "on_cpu_ns"), number(timed, "runnable_ns"), histogram_of(event)};
}

// After a reload, an event's counts restart at zero.
LiveFigures since(const LiveFigures& now, const LiveFigures& before) {
    if (now.runs < before.runs || now.delays < before.delays) return now;
    const auto less = [](std::uint64_t a, std::uint64_t b) { return a - std::min(a, b); };
    LiveFigures recent{now.runs - before.runs,
                       now.delays - before.delays,
                       less(now.timed_ns, before.timed_ns),
                       less(now.on_cpu_ns, before.on_cpu_ns),
                       less(now.runnable_ns, before.runnable_ns),
                       {}};
    std::map<std::uint64_t, std::uint64_t> earlier;
    for (const HistogramBucket& bucket : before.histogram) earlier[bucket.from_ns] = bucket.count;
    for (HistogramBucket bucket : now.histogram) {
        bucket.count = less(bucket.count, earlier[bucket.from_ns]);
        if (bucket.count > 0) recent.histogram.push_back(bucket);
    }
    return recent;
}

std::string rate(double per_second) {
    char text[32];
    if (per_second >= 100) return with_commas(static_cast<std::uint64_t>(per_second + 0.5));
    std::snprintf(text, sizeof text, "%.1f", per_second);
    return text;
}

std::string event_row(const LiveEvent& event, const NameColumn& names, const Paint& paint,
                      bool chosen) {
    const LiveFigures& recent = event.recent;
    const auto time = [&](double share) {
        return pad_left(recent.runs > 0 ? duration(percentile_ns(recent.histogram, share)) : "-",
                        9);
    };
    const std::uint64_t on_cpu_ns = std::min(recent.on_cpu_ns, recent.timed_ns);
    const std::uint64_t runnable_ns = std::min(recent.runnable_ns, recent.timed_ns - on_cpu_ns);
    const auto share = [&](std::uint64_t part_ns) {
        return pad_left(recent.timed_ns == 0 ? "-"
                                             : percent(static_cast<double>(part_ns) /
                                                       static_cast<double>(recent.timed_ns)),
                        8);
    };
    const Colour name = !event.trouble.empty() ? Colour::Yellow
                        : chosen               ? Colour::Bold
                                               : Colour::None;
    return std::string(chosen ? "> " : "  ") + paint(name, names.cell(event.name)) +
           pad_left(event.threshold, 9) +
           pad_left(event.trouble.empty() ? rate(event.runs_per_second) : event.trouble, 9) +
           paint(recent.delays > 0 ? Colour::Red : Colour::None,
                 pad_left(with_commas(event.delays), 8)) +
           time(0.5) + time(0.99) + share(on_cpu_ns) +
           share(recent.timed_ns - on_cpu_ns - runnable_ns);
}

std::string state_of(const object& answer, const std::string& problem, const Paint& paint) {
    if (!problem.empty()) return paint(Colour::Red, problem);
    if (const object& pending = part(answer, "pending"); !pending.empty())
        return paint(Colour::Yellow,
                     "asks whether to keep a recording of " + text(pending, "event")) +
               ", " + seconds_text(pending, "seconds_left") + " left: a approve, d decline";
    if (const object& capture = part(answer, "capture"); !capture.empty())
        return paint(Colour::Yellow, text(answer, "state") + " for " + recorded_for(capture)) +
               ", " + seconds_text(capture, "seconds_left") + " left";
    if (!text(part(answer, "settings"), "reload_error").empty())
        return paint(Colour::Yellow, "reloading the settings failed; see \"lagtrap status\"");
    return text(answer, "state") + ", " +
           counted(number(part(answer, "captures"), "done"), "recording", "recordings") + " made";
}

// `text` may contain colours; cuts it at `width` characters.
std::string fitted(std::string_view text, std::size_t width) {
    std::string line;
    std::size_t shown = 0;
    bool painted = false;
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] == '\x1b') {
            const std::size_t end = std::min(text.find('m', i), text.size() - 1);
            line += text.substr(i, end + 1 - i);
            painted = true;
            i = end + 1;
            continue;
        }
        std::size_t end = i + 1;
        while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
        if (shown == width) break;
        line += text.substr(i, end - i);
        ++shown;
        i = end;
    }
    return painted ? line + "\x1b[0m" : line;
}

}  // namespace

std::string clock_of(std::uint64_t realtime_ns) {
    const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    std::array<char, 16> clock{};
    return std::strftime(clock.data(), clock.size(), "%H:%M:%S", &parts) > 0 ? clock.data() : "";
}

void LiveState::note(std::uint64_t realtime_ns, std::string text) {
    notes_.push_front(clock_of(realtime_ns) + "  " + std::move(text));
    if (notes_.size() > notes_kept) notes_.pop_back();
}

void LiveState::note_changes(const object& before, std::uint64_t realtime_ns) {
    const auto& previous = kept_[kept_.size() - 2].figures;
    for (const LiveEvent& event : events_) {
        const auto earlier = previous.find(event.name);
        if (earlier == previous.end() || event.delays <= earlier->second.delays) continue;
        note(realtime_ns, event.name + ": " +
                              counted(event.delays - earlier->second.delays, "run", "runs") +
                              " over " + event.threshold);
    }
    const std::string session = text(part(answer_, "capture"), "session");
    if (!session.empty() && session != text(part(before, "capture"), "session"))
        note(realtime_ns, "recording for " + recorded_for(part(answer_, "capture")));
}

bool LiveState::take(object answer, std::uint64_t now_ns, std::uint64_t realtime_ns) {
    const object before = std::move(answer_);
    answer_ = std::move(answer);
    problem_.clear();
    realtime_ns_ = realtime_ns;
    const std::string name = chosen();
    Kept now{now_ns, {}};
    events_.clear();
    for (const auto& entry : list(answer_, "events")) {
        if (!entry.is_object()) continue;
        LiveEvent event;
        event.name = text(entry.as_object(), "name");
        event.trouble = trouble_of(entry.as_object());
        event.threshold = threshold_cell(entry.as_object());
        event.delays = number(entry.as_object(), "delays");
        now.figures[event.name] = figures_of(entry.as_object());
        events_.push_back(std::move(event));
    }
    kept_.push_back(std::move(now));
    while (kept_.size() > 2 && now_ns - kept_[1].at_ns >= window_ns) kept_.pop_front();
    const Kept& oldest = kept_.front();
    for (LiveEvent& event : events_) {
        const auto found = oldest.figures.find(event.name);
        if (kept_.size() < 2 || found == oldest.figures.end()) continue;
        event.recent = since(kept_.back().figures[event.name], found->second);
        const double seconds = static_cast<double>(now_ns - oldest.at_ns) / 1e9;
        if (seconds > 0) event.runs_per_second = static_cast<double>(event.recent.runs) / seconds;
    }
    for (std::size_t i = 0; i < events_.size(); ++i)
        if (events_[i].name == name) chosen_ = i;
    choose(0);
    if (before.empty()) return false;
    note_changes(before, realtime_ns);
    const std::string bundle = text(part(answer_, "last_bundle"), "session");
    return !bundle.empty() && bundle != text(part(before, "last_bundle"), "session");
}

void LiveState::add_delays(const trace::SystemFile& system) {
    for (const trace::Delay& delay : system.delays) {
        const std::uint64_t began_ns =
            system.started_realtime_ns + (delay.begin_ns - system.started_boottime_ns);
        note(began_ns, printable(delay.event) + " took " + duration(delay.duration_ns) +
                           (delay.open ? " so far" : "") + ": " + printable(delay.process) + " (" +
                           std::to_string(delay.begin_tid) + ")");
    }
    note(realtime_ns_,
         "recorded " + counted(system.delays.size(), "delay", "delays") + "; r opens the report");
}

void LiveState::choose(int step) {
    const auto last = static_cast<long>(events_.empty() ? 0 : events_.size() - 1);
    chosen_ = static_cast<std::size_t>(std::clamp(static_cast<long>(chosen_) + step, 0L, last));
}

std::string LiveState::chosen() const {
    return chosen_ < events_.size() ? events_[chosen_].name : std::string();
}

std::vector<std::string> LiveState::screen(const Paint& paint, ScreenSize size,
                                           std::string_view message) const {
    std::vector<std::string> lines;
    const object& cost = part(answer_, "cost");
    const double used = static_cast<double>(number(part(answer_, "budget"), "used_ppm")) / 1e6;
    const std::uint64_t running_ns =
        realtime_ns_ - std::min(realtime_ns_, number(answer_, "started_realtime_ns"));
    lines.push_back(paint(Colour::Bold, "lagtrap " + text(answer_, "version")) + "  up " +
                    duration(running_ns) + "  watching takes " + percent(used) + " of a CPU, " +
                    with_commas(number(cost, "memory_bytes") >> 20) + " MiB  " +
                    clock_of(realtime_ns_));
    lines.push_back(state_of(answer_, problem_, paint));
    lines.emplace_back();
    std::vector<std::string> all_names;
    for (const LiveEvent& event : events_) all_names.push_back(event.name);
    const NameColumn names(all_names, usual_name_width,
                           size.columns - std::min(size.columns, event_number_columns));
    lines.push_back(
        paint(Colour::Bold, "  " + pad_right("event", names.width()) +
                                "threshold   runs/s  delays      p50      p99  on CPU blocked"));
    const std::size_t room =
        size.rows > other_lines + min_notes ? size.rows - other_lines - min_notes : 1;
    const std::size_t shown = std::min(events_.size(), room);
    // Keeps the selected event visible.
    const std::size_t first = chosen_ < shown ? 0 : chosen_ + 1 - shown;
    for (std::size_t i = first; i < first + shown; ++i)
        lines.push_back(event_row(events_[i], names, paint, i == chosen_));
    if (events_.empty()) lines.emplace_back("  no events in the settings");
    lines.emplace_back();
    std::string head = "What happened";
    if (shown < events_.size())
        head += "  (" + counted(events_.size() - shown, "event", "events") + " more: up and down)";
    lines.push_back(paint(Colour::Bold, head));
    for (const std::string& note : notes_) {
        if (lines.size() + 2 >= size.rows) break;
        lines.push_back("  " + note);
    }
    if (notes_.empty() && lines.size() + 2 < size.rows)
        lines.emplace_back("  no delays since start");
    lines.resize(size.rows >= 2 ? size.rows - 2 : 0);
    lines.push_back(paint(Colour::Yellow, message));
    lines.push_back(paint(
        Colour::Dim, "q quit  up/down choose  t record now  e explain  r last report  p pause"));
    lines.resize(size.rows);
    for (std::string& line : lines) line = fitted(line, size.columns);
    return lines;
}

}  // namespace lagtrap::cli
