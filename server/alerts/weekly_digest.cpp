#include "server/alerts/weekly_digest.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "core/clock.hpp"
#include "core/duration.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint64_t day_length_ns = 86'400ULL * 1'000'000'000ULL;
constexpr std::uint64_t week_length_ns = 7 * day_length_ns;
constexpr std::uint64_t first_monday_ns = 4 * day_length_ns;  // 5 January 1970
constexpr std::uint32_t digest_causes_limit = 10'000;
// Together they keep a digest below the 8 KiB of a finding.
constexpr std::size_t lines_of_kind = 4;
constexpr std::size_t line_limit_bytes = 240;
constexpr std::size_t path_limit_bytes = 120;

std::string shortened_line(const std::string& text) {
    if (text.size() <= line_limit_bytes) return text;
    std::size_t end = line_limit_bytes - 3;
    // Do not cut within a character: continuation bytes begin with the bits 10.
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
    return text.substr(0, end) + "...";
}

std::string counted(std::size_t count, const char* one, const char* many) {
    if (count == 0) return std::string("no ") + many;
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

FactLine line_about(const std::string& title, std::string path) {
    FactLine line;
    line.title = shortened_line(title);
    line.path = path.size() <= path_limit_bytes ? std::move(path) : "/";
    return line;
}

bool is_within(const Week& week, std::uint64_t time_ns) {
    return time_ns >= week.from_ns && time_ns < week.to_ns;
}

std::vector<FactLine> worse_lines(const Week& week,
                                  const std::vector<reports::EventTrend>& trends) {
    std::vector<FactLine> lines;
    for (const reports::EventTrend& trend : trends)
        if (trend.verdict == reports::Verdict::Worse && trend.lasting &&
            is_within(week, trend.lasting->step.from_ns))
            lines.push_back(line_about(worsening_title(trend), event_path(trend.event)));
    return lines;
}

std::vector<FactLine> cause_lines(const std::vector<CauseRecord>& causes, const char* words,
                                  const std::function<bool(const CauseRecord&)>& is_wanted) {
    std::vector<const CauseRecord*> wanted;
    for (const CauseRecord& cause : causes)
        if (cause.root == cause.id && is_wanted(cause)) wanted.push_back(&cause);
    std::ranges::stable_sort(wanted, std::ranges::greater(),
                             [](const CauseRecord* cause) { return cause->delays; });
    std::vector<FactLine> lines;
    for (const CauseRecord* cause : wanted)
        lines.push_back(
            line_about(fmt::format("{} of {}: {}; {}.", words, cause->event, cause->title,
                                   extent_text(cause->delays, cause->hosts)),
                       cause_path(cause->id)));
    return lines;
}

std::vector<FactLine> cost_lines(const std::vector<CauseCost>& costs) {
    std::vector<FactLine> lines;
    for (const CauseCost& cost : costs)
        lines.push_back(
            line_about(fmt::format("Most costly: {} ({}): {} in {} recorded delay{}.", cost.title,
                                   cost.event, format_duration_ns(cost.excess_ns), cost.delays,
                                   cost.delays == 1 ? "" : "s"),
                       cause_path(cost.cause)));
    return lines;
}

void add_first(const std::vector<FactLine>& lines, std::vector<FactLine>& into) {
    const std::size_t count = std::min(lines.size(), lines_of_kind);
    into.insert(into.end(), lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

std::string Week::subject() const { return "week " + format_utc(from_ns).substr(0, 10); }

Week last_week(std::uint64_t now_ns) {
    if (now_ns < first_monday_ns + week_length_ns) return {};
    const std::uint64_t to_ns = now_ns - (now_ns - first_monday_ns) % week_length_ns;
    return {to_ns - week_length_ns, to_ns};
}

Finding digest_of(const Week& week, const WeekReport& report) {
    const auto worse = worse_lines(week, report.trends);
    const auto fresh = cause_lines(
        report.causes, "New cause of delays",
        [&](const CauseRecord& cause) { return is_within(week, cause.noticed_realtime_ns); });
    const auto resolved =
        cause_lines(report.causes, "Resolved cause of delays", [&](const CauseRecord& cause) {
            return cause.status == CauseStatus::Resolved &&
                   is_within(week, cause.resolved_realtime_ns);
        });
    Facts facts;
    facts.title = fmt::format(
        "Week of {}: {} got worse, {}, {}.", format_utc(week.from_ns).substr(0, 10),
        counted(worse.size(), "event", "events"), counted(fresh.size(), "new cause", "new causes"),
        counted(resolved.size(), "resolved cause", "resolved causes"));
    facts.path = "/?span=7d";
    for (const auto& lines : {worse, fresh, resolved, cost_lines(report.costs)})
        add_first(lines, facts.lines);
    return {week.subject(), facts.text()};
}

Result<std::vector<Finding>> look_at_week(Store& store, const Rule& rule, std::uint64_t since_ns,
                                          std::uint64_t now_ns) {
    const Week week = last_week(now_ns);
    if (since_ns >= week.to_ns) return std::vector<Finding>();
    Filter filter;
    if (!rule.event.empty()) filter.event = rule.event;
    const std::optional<std::string> event = filter.event;
    filter.from_ns = week.from_ns;
    filter.to_ns = week.to_ns;
    WeekReport report;
    TRY_ASSIGN(report.trends, read_trends(store, std::move(filter), week.to_ns));
    TRY_ASSIGN(report.causes, store.everything().causes().list(event, digest_causes_limit));
    TRY_ASSIGN(report.costs,
               store.everything().causes().costs(event, week.from_ns, week.to_ns, lines_of_kind));
    return std::vector<Finding>{digest_of(week, report)};
}

}  // namespace lagtrap::server
