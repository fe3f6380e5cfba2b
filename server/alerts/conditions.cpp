#include "server/alerts/conditions.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "core/clock.hpp"
#include "core/duration.hpp"
#include "server/alerts/weekly_digest.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

constexpr std::uint64_t hour_length_ns = 3600ULL * 1'000'000'000ULL;
constexpr std::uint64_t week_ns = 168 * hour_length_ns;
constexpr std::uint32_t causes_read = 10'000;
constexpr std::size_t title_limit_bytes = 1000;

std::string span_text(std::uint32_t hours) {
    return hours == 1 ? "in the current hour" : fmt::format("in the last {} hours", hours);
}

std::string silence_text(std::uint64_t silent_ns) {
    constexpr std::uint64_t minute_ns = 60ULL * 1'000'000'000ULL;
    if (silent_ns < 2 * hour_length_ns) return fmt::format("{} minutes", silent_ns / minute_ns);
    if (silent_ns < 48 * hour_length_ns) return fmt::format("{} hours", silent_ns / hour_length_ns);
    return fmt::format("{} days", silent_ns / (24 * hour_length_ns));
}

std::string escaped(std::string_view text) {
    std::string address;
    for (const char letter : text) {
        const bool plain = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                           (letter >= 'A' && letter <= 'Z') || letter == '-' || letter == '_' ||
                           letter == '.';
        if (plain) {
            address += letter;
        } else {
            address += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
        }
    }
    return address;
}

std::string host_path(const std::string& host) { return "/?span=24h&host=" + escaped(host); }

std::string text_member(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string())
                                                  : std::string();
}

Finding finding_of(std::string subject, Facts facts) {
    if (facts.title.size() > title_limit_bytes) {
        facts.title.resize(title_limit_bytes);
        // Do not cut within a UTF-8 character.
        while (!facts.title.empty() &&
               (static_cast<unsigned char>(facts.title.back()) & 0x80U) != 0)
            facts.title.pop_back();
        facts.title += "...";
    }
    return {std::move(subject), facts.text()};
}

Finding cause_finding(const CauseRecord& cause, bool came_back) {
    const std::string extent = extent_text(cause.delays, cause.hosts);
    Facts facts;
    facts.title = came_back ? fmt::format("A cause of delays of {} came back: {}; {}.", cause.event,
                                          cause.title, extent)
                            : fmt::format("New cause of delays of {}: {}; {}.", cause.event,
                                          cause.title, extent);
    facts.event = cause.event;
    facts.cause = std::to_string(cause.id);
    facts.path = cause_path(cause.id);
    // Each return of a cause is a new finding.
    return finding_of(came_back
                          ? fmt::format("cause {} back {}", cause.id, cause.regressed_realtime_ns)
                          : fmt::format("cause {}", cause.id),
                      std::move(facts));
}

Result<std::map<std::string, Stretch>> read_stretches(Store& store, const Rule& rule,
                                                      std::uint64_t to_ns) {
    ActivityQuestion question;
    if (!rule.event.empty()) question.filter.event = rule.event;
    question.filter.from_ns = to_ns - std::min(to_ns, rule.hours * hour_length_ns);
    question.filter.to_ns = to_ns;
    question.hosts_from_ns = to_ns;
    std::map<std::string, Stretch> stretches;
    const Status read =
        store.everything().activity().visit(question, [&](EventActivity&& activity) {
            stretches[activity.event].add(activity);
            return success();
        });
    if (!read) return read.error();
    return stretches;
}

Result<std::vector<Finding>> look_at_events(Store& store, const Rule& rule, std::uint64_t now_ns) {
    const std::uint64_t to_ns = (now_ns / hour_length_ns + 1) * hour_length_ns;
    TRY_ASSIGN(const auto now, read_stretches(store, rule, to_ns));
    std::map<std::string, Stretch> before;
    if (rule.factor && to_ns > week_ns) {
        TRY_ASSIGN(before, read_stretches(store, rule, to_ns - week_ns));
    }
    std::vector<Finding> found;
    for (const auto& [event, stretch] : now)
        if (auto finding = judge(rule, event, stretch, before[event]))
            found.push_back(std::move(*finding));
    return found;
}

std::string level_text(const reports::EventTrend& trend, reports::Figure figure, double value) {
    if (figure != reports::Figure::Delays)
        return format_duration_ns(static_cast<std::uint64_t>(value));
    return trend.runs_recorded ? fmt::format("{:.2g} %", value * 100)
                               : fmt::format("{:.2g} per hour", value);
}

Result<std::vector<Finding>> look_at_trends(Store& store, const Rule& rule, std::uint64_t now_ns) {
    Filter filter;
    if (!rule.event.empty()) filter.event = rule.event;
    TRY_ASSIGN(const auto trends, read_trends(store, std::move(filter), now_ns));
    return judge_worsening(trends, now_ns);
}

Result<std::vector<Finding>> look_at_losses(Store& store, const Rule& rule, std::uint64_t now_ns) {
    Filter filter;
    const std::uint64_t to_ns = (now_ns / hour_length_ns + 1) * hour_length_ns;
    filter.from_ns = to_ns - std::min(to_ns, rule.hours * hour_length_ns);
    if (!rule.host.empty()) filter.host = {rule.host};
    TRY_ASSIGN(const Losses losses, store.everything().events().losses(filter));
    return judge_losses(rule, losses);
}

Result<std::vector<Finding>> look_everywhere(Store& store, const Rule& rule, std::uint64_t since_ns,
                                             std::uint64_t now_ns) {
    switch (rule.condition) {
        case Condition::NewCause:
        case Condition::CauseCameBack: {
            const auto event = rule.event.empty() ? std::nullopt : std::optional(rule.event);
            TRY_ASSIGN(const auto causes, store.everything().causes().list(event, causes_read));
            return judge_causes(rule, causes, since_ns, now_ns);
        }
        case Condition::P99:
        case Condition::DelayShare: return look_at_events(store, rule, now_ns);
        case Condition::HostSilent: {
            TRY_ASSIGN(const auto signs, store.batches().signs_of_hosts(now_ns));
            return judge_silence(rule, signs, now_ns);
        }
        case Condition::RunsLost: return look_at_losses(store, rule, now_ns);
        case Condition::GotWorse: return look_at_trends(store, rule, now_ns);
        case Condition::WeeklyDigest: return look_at_week(store, rule, since_ns, now_ns);
    }
    return std::vector<Finding>();
}

}  // namespace

std::string utc_minute(std::uint64_t realtime_ns) {
    std::string text = format_utc(realtime_ns).substr(0, 16);
    text[10] = ' ';
    return text;
}

std::string event_path(const std::string& event) {
    return "/event/" + escaped(event) + "?span=24h";
}

std::string cause_path(std::uint64_t cause) { return "/cause/" + std::to_string(cause); }

std::string extent_text(std::uint64_t delays, std::uint64_t hosts) {
    return fmt::format("{} delay{} on {} host{}", delays, delays == 1 ? "" : "s", hosts,
                       hosts == 1 ? "" : "s");
}

std::string worsening_title(const reports::EventTrend& trend) {
    constexpr std::array names{"p50", "p99", "delays"};  // by reports::Figure
    const reports::Step& step = trend.lasting->step;
    const std::string build =
        trend.lasting->build.empty() ? "" : ", with build " + trend.lasting->build;
    return fmt::format(
        "{} got worse at {} UTC{}: {} {}, before {}.", trend.event, utc_minute(step.from_ns), build,
        names.at(static_cast<std::size_t>(step.figure)), level_text(trend, step.figure, step.after),
        level_text(trend, step.figure, step.before));
}

Result<std::vector<reports::EventTrend>> read_trends(Store& store, Filter filter,
                                                     std::uint64_t now_ns) {
    TRY_ASSIGN(const reports::TrendSpan span, reports::trend_span(filter, now_ns));
    std::vector<reports::EventTrend> trends;
    TRY(store.everything().activity().visit(reports::activity_question(std::move(filter), span),
                                            [&](EventActivity&& activity) {
                                                trends.push_back(reports::trend_of(activity, span));
                                                return success();
                                            }));
    reports::judge_trends(trends);
    return trends;
}

std::string Facts::text() const {
    json::object object{
        {"title", title}, {"event", event}, {"host", host}, {"cause", cause}, {"path", path}};
    json::array list;
    for (const FactLine& line : lines)
        list.push_back({{"title", line.title},
                        {"event", line.event},
                        {"cause", line.cause},
                        {"path", line.path}});
    if (!list.empty()) object["lines"] = std::move(list);
    return json::serialize(object);
}

Facts Facts::parse(const std::string& text) {
    json::error_code error;
    const json::value value = json::parse(text, error);
    if (error || !value.is_object()) return {};
    const json::object& object = value.get_object();
    Facts facts{text_member(object, "title"), text_member(object, "event"),
                text_member(object, "host"),  text_member(object, "cause"),
                text_member(object, "path"),  {}};
    const json::value* lines = object.if_contains("lines");
    if (lines == nullptr || !lines->is_array()) return facts;
    for (const json::value& entry : lines->get_array()) {
        if (!entry.is_object()) continue;
        const json::object& line = entry.get_object();
        facts.lines.push_back({text_member(line, "title"), text_member(line, "event"),
                               text_member(line, "cause"), text_member(line, "path")});
    }
    return facts;
}

void Stretch::add(const EventActivity& activity) {
    for (const UnitActivity& unit : activity.units) {
        runs += unit.runs;
        delays += unit.delays;
        durations_.merge(unit.durations);
    }
    p99_ns = durations_.quantile_ns(0.99);
}

std::optional<Finding> judge(const Rule& rule, const std::string& event, const Stretch& now,
                             const Stretch& week_before) {
    if (now.runs < rule.min_runs || (rule.factor && week_before.runs < rule.min_runs))
        return std::nullopt;
    Facts facts;
    facts.event = event;
    facts.path = event_path(event);
    const std::string span = span_text(rule.hours), runs = fmt::format("{} runs", now.runs);
    if (rule.condition == Condition::P99) {
        const double before_ns = static_cast<double>(week_before.p99_ns);
        const double bound_ns =
            rule.over_ns ? static_cast<double>(*rule.over_ns) : rule.factor.value_or(1) * before_ns;
        if (static_cast<double>(now.p99_ns) <= bound_ns) return std::nullopt;
        facts.title = fmt::format("The p99 of {} is {} {} ({}), ", event,
                                  format_duration_ns(now.p99_ns), span, runs);
        facts.title +=
            rule.over_ns
                ? fmt::format("above the limit of {}.", format_duration_ns(*rule.over_ns))
                : fmt::format("{:.1f} times the {} of a week ago; the limit is {:g} times.",
                              static_cast<double>(now.p99_ns) / std::max(before_ns, 1.0),
                              format_duration_ns(week_before.p99_ns), *rule.factor);
    } else {
        const double share = static_cast<double>(now.delays) / static_cast<double>(now.runs);
        const double before = static_cast<double>(week_before.delays) /
                              static_cast<double>(std::max<std::uint64_t>(week_before.runs, 1));
        const double bound = rule.over_share ? *rule.over_share : rule.factor.value_or(1) * before;
        if (share <= bound) return std::nullopt;
        facts.title = fmt::format("{:.2g} % of the runs of {} were delays {} ({} of {}), ",
                                  share * 100, event, span, now.delays, runs);
        facts.title += rule.over_share
                           ? fmt::format("above the limit of {:g} %.", *rule.over_share * 100)
                           : fmt::format("{:.2g} % a week ago; the limit is {:g} times that.",
                                         before * 100, *rule.factor);
    }
    return finding_of("event " + event, std::move(facts));
}

std::vector<Finding> judge_causes(const Rule& rule, const std::vector<CauseRecord>& causes,
                                  std::uint64_t since_ns, std::uint64_t now_ns) {
    const bool back = rule.condition == Condition::CauseCameBack;
    const std::uint64_t from_ns = std::max(since_ns, now_ns - std::min(now_ns, news_lasts_ns));
    std::vector<Finding> found;
    for (const CauseRecord& cause : causes) {
        if (cause.root != cause.id || (!rule.event.empty() && cause.event != rule.event)) continue;
        if (cause.status != (back ? CauseStatus::Regressed : CauseStatus::New)) continue;
        if ((back ? cause.regressed_realtime_ns : cause.noticed_realtime_ns) < from_ns) continue;
        found.push_back(cause_finding(cause, back));
    }
    return found;
}

std::vector<Finding> judge_worsening(const std::vector<reports::EventTrend>& trends,
                                     std::uint64_t now_ns) {
    std::vector<Finding> found;
    for (const reports::EventTrend& trend : trends) {
        if (trend.verdict != reports::Verdict::Worse || !trend.lasting) continue;
        if (trend.lasting->step.from_ns + news_lasts_ns < now_ns) continue;
        Facts facts;
        facts.title = worsening_title(trend);
        facts.event = trend.event;
        facts.path = event_path(trend.event);
        found.push_back(finding_of("worse " + trend.event, std::move(facts)));
    }
    return found;
}

std::vector<Finding> judge_silence(const Rule& rule, const std::vector<HostSign>& signs,
                                   std::uint64_t now_ns) {
    std::vector<Finding> found;
    for (const auto& sign : signs) {
        if (!rule.host.empty() && sign.host != rule.host) continue;
        const std::uint64_t silent_ns = now_ns - std::min(now_ns, sign.last_realtime_ns);
        if (silent_ns < rule.silent_ns) continue;
        Facts facts;
        facts.title =
            fmt::format("No data from host {} for {}; the last came at {} UTC.", sign.host,
                        silence_text(silent_ns), utc_minute(sign.last_realtime_ns));
        facts.host = sign.host;
        facts.path = host_path(sign.host);
        found.push_back(finding_of("host " + sign.host, std::move(facts)));
    }
    return found;
}

std::vector<Finding> judge_losses(const Rule& rule, const Losses& losses) {
    std::vector<Finding> found;
    for (const HostLosses& host : losses.hosts) {
        if (host.runs <= rule.over_runs) continue;
        Facts facts;
        facts.title = fmt::format(
            "{} lost on host {} {}; lagtrap status there says why.",
            host.runs == 1 ? std::string("1 run was") : fmt::format("{} runs were", host.runs),
            host.host, span_text(rule.hours));
        facts.host = host.host;
        facts.path = host_path(host.host);
        found.push_back(finding_of("host " + host.host, std::move(facts)));
    }
    return found;
}

Result<std::vector<Finding>> look(Store& store, const Rule& rule, std::uint64_t since_ns,
                                  std::uint64_t now_ns) {
    TRY_ASSIGN(auto found, look_everywhere(store, rule, since_ns, now_ns));
    if (found.size() > findings_of_look_limit) found.resize(findings_of_look_limit);
    return found;
}

}  // namespace lagtrap::server
