// Whole answers of the routes that only read, compared with the files of tests/data/server.
#include "server/alerts/conditions.hpp"
#include "server/api/bundle_routes.hpp"
#include "server/api/cause_routes.hpp"
#include "server/api/change_json.hpp"
#include "server/api/change_report.hpp"
#include "server/api/compare_routes.hpp"
#include "server/api/delay_routes.hpp"
#include "server/api/edge_routes.hpp"
#include "server/api/export_routes.hpp"
#include "server/api/json_reply.hpp"
#include "server/api/overview_routes.hpp"
#include "server/api/report_routes.hpp"
#include "server/api/run_routes.hpp"
#include "server/api/search_routes.hpp"
#include "tests/unit/expected_file.hpp"
#include "tests/unit/server/readable_json.hpp"
#include "tests/unit/server/whole_answers_shop.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::server::whole_answers_test {
namespace {

template <typename Parameter>
decltype(auto) part_of(const Evidence& evidence, const Route& route) {
    using Part = std::remove_cvref_t<Parameter>;
    if constexpr (std::is_same_v<Part, Route>)
        return (route);
    else if constexpr (std::is_same_v<Part, Evidence>)
        return (evidence);
    else
        return evidence.get<Part>();
}

template <typename... Parameters>
Reply call(Reply (*function)(Parameters...), const Evidence& evidence, const Route& route) {
    return function(part_of<Parameters>(evidence, route)...);
}

template <auto function>
Reply answer(const Evidence& evidence, const Route& route) {
    return call(function, evidence, route);
}

struct Question {
    const char* file;  // of tests/data/server
    std::string target;
    Reply (*answer)(const Evidence& evidence, const Route& route);
};

class Answers : public RecordedShopTest, public testing::WithParamInterface<Question> {};

TEST_P(Answers, AreAsExpected) {
    const auto route = find_route(Method::Get, GetParam().target);
    ASSERT_TRUE(std::holds_alternative<Route>(route)) << std::get<Refusal>(route).message;
    const Reply reply = GetParam().answer(evidence(), std::get<Route>(route));
    ASSERT_EQ(reply.status, 200U) << reply.body;
    std::string text = reply.body;
    if (reply.source) {
        std::string buffer(5000, '\0');
        while (const std::size_t got = reply.source->read(buffer.data(), buffer.size()).value())
            text.append(buffer, 0, got);
    } else {
        text = readable(json::parse(text)) + "\n";
    }
    expect_text_of_file(test_data_folder() + "/server/" + GetParam().file, text);
}

// The last hours of what was recorded.
std::string hours(std::uint64_t count) {
    return "from=" + std::to_string(RecordedShop::end_ns - count * RecordedShop::hour) +
           "&to=" + std::to_string(RecordedShop::end_ns);
}

const std::string checkout = "/api/v1/events/checkout/";
const std::string at_change = std::to_string(RecordedShop::changed_ns);

const Question questions[] = {
    {"overview.json", "/api/v1/overview?" + hours(6), answer<get_overview>},
    {"overview_of_days.json", "/api/v1/overview?order=name&limit=2&" + hours(240),
     answer<get_overview>},
    {"overview_of_a_search.json", "/api/v1/overview?search=EARCH&host=find-9&" + hours(4),
     answer<get_overview>},
    {"trend.json", checkout + "trend?" + hours(36), answer<get_trend>},
    {"trend_of_an_unknown_event.json", "/api/v1/events/none/trend?" + hours(2), answer<get_trend>},
    {"trend_of_delays.json", "/api/v1/events/print/trend?" + hours(96), answer<get_trend>},
    {"change.json", checkout + "change?" + hours(24), answer<get_change>},
    {"change_of_a_build.json", checkout + "change?build=v3&build=v1&" + hours(24),
     answer<get_change>},
    {"change_of_a_steady_event.json", "/api/v1/events/login/change?" + hours(24),
     answer<get_change>},
    {"split_by_host.json", "/api/v1/events/search/split?by=host&" + hours(4), answer<get_split>},
    {"split_by_build.json", "/api/v1/events/search/split?by=build&" + hours(4), answer<get_split>},
    {"split_by_unit.json", "/api/v1/events/search/split?by=unit&" + hours(4), answer<get_split>},
    {"split_of_an_hour.json",
     "/api/v1/events/search/split?by=build&from=" +
         std::to_string(RecordedShop::end_ns - 3 * RecordedShop::hour) +
         "&to=" + std::to_string(RecordedShop::end_ns - 2 * RecordedShop::hour),
     answer<get_split>},
    {"split_of_nothing.json", "/api/v1/events/none/split?by=unit&" + hours(4), answer<get_split>},
    {"compared_sets.json",
     checkout + "compare?a=from%3D" +
         std::to_string(RecordedShop::changed_ns - 168 * RecordedShop::hour) + "%26to%3D" +
         at_change + "&b=from%3D" + at_change,
     answer<compare_sets>},
    {"compared_causes.json",
     checkout + "compare?a=from%3D" + at_change + "&b=from%3D" + at_change + "%26host%3Dams-1",
     answer<compare_sets>},
    {"compared_flame.json", checkout + "compare/flame?a=host%3Dfra-1&b=host%3Dams-*&state=on-cpu",
     answer<get_set_flame>},
    {"causes_found.json", checkout + "causes?" + hours(100), answer<get_causes>},
    {"causes_not_found.json", checkout + "causes?host=fra-1", answer<get_causes>},
    {"causes.json", "/api/v1/causes?limit=3", answer<list_causes>},
    {"cause_flame.json", "/api/v1/causes/2/flame", answer<get_cause_flame>},
    {"delays.json", "/api/v1/delays?event=checkout&order=oldest&limit=2", answer<list_all_delays>},
    {"delay_summary.json", "/api/v1/events/print/delays?" + hours(200), answer<get_delay_summary>},
    {"who_delays_whom.json", "/api/v1/who-delays-whom?" + hours(200), answer<get_who_delays_whom>},
    {"who_delays_whom_of_a_host.json", "/api/v1/who-delays-whom?culprit=print&host=ams-1&limit=1",
     answer<get_who_delays_whom>},
    {"who_delays_whom_by_tenant.json",
     "/api/v1/who-delays-whom?by=attribute:tenant&host=ams-1&" + hours(200),
     answer<get_who_delays_whom>},
    {"bundles.json", "/api/v1/bundles?limit=3", answer<list_bundles>},
    {"runs.json", checkout + "runs?order=slowest&limit=2", answer<list_runs>},
    {"stages.json", checkout + "stages?stage=loaded&" + hours(6), answer<get_stage_stacks>},
    {"times.json", checkout + "times?" + hours(60), answer<get_time_shift>},
    {"summary.json", "/api/v1/events/search/summary?" + hours(4), answer<get_summary>},
    {"events.json", "/api/v1/events", answer<list_events>},
    {"choices.json", "/api/v1/choices?event=search", answer<get_choices>},
    {"search.json", "/api/v1/search?search=shop", answer<search_everything>},
    {"runs.csv", "/api/v1/events/search/runs/export?host=find-3", answer<export_runs>},
    {"runs.ndjson", "/api/v1/events/checkout/runs/export?format=ndjson&host=fra-1&" + hours(2),
     answer<export_runs>},
    {"delays.csv", "/api/v1/delays/export?host=ams-2", answer<export_delays>},
    {"delays.ndjson", "/api/v1/delays/export?format=ndjson&host=ams-2", answer<export_delays>},
};

INSTANTIATE_TEST_SUITE_P(Of, Answers, testing::ValuesIn(questions), [](const auto& one) {
    std::string name = one.param.file;
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
});

class Overview : public RecordedShopTest {};

TEST_F(Overview, EventsStandInTheAskedOrder) {
    std::string text;
    for (const char* order :
         {"change", "p50", "p99", "runs", "delays", "hosts", "newest", "name"}) {
        const auto route = find_route(
            Method::Get, "/api/v1/overview?order=" + std::string(order) + "&" + hours(24));
        const json::value found =
            json::parse(get_overview(evidence(), std::get<Route>(route)).body);
        text += std::string(order) + ":";
        for (const json::value& event : found.at("events").as_array())
            text += " " + json::value_to<std::string>(event.at("event"));
        text += "\n";
    }
    expect_text_of_file(test_data_folder() + "/server/overview_orders.txt", text);
}

TEST_F(Overview, WrongQuestionsAreNamed) {
    const auto error_of = [&](Reply (*asked)(const Evidence&, const Route&),
                              const std::string& target) {
        const auto route = find_route(Method::Get, target);
        const Reply reply = asked(evidence(), std::get<Route>(route));
        EXPECT_EQ(reply.status, 400U) << target;
        return json::value_to<std::string>(json::parse(reply.body).at("error").at("message"));
    };
    EXPECT_EQ(error_of(answer<get_overview>, "/api/v1/overview?order=loudest"),
              "\"order\": expected change, p50, p99, runs, delays, hosts, newest or name");
    EXPECT_EQ(error_of(answer<get_overview>, "/api/v1/overview?from=5&to=5"),
              "\"from\": expected a time before \"to\"");
    EXPECT_EQ(error_of(answer<get_overview>, "/api/v1/overview?limit=0"),
              "\"limit\": expected 1 to 1000");
    EXPECT_EQ(error_of(answer<get_who_delays_whom>, "/api/v1/who-delays-whom?limit=0"),
              "\"limit\": expected 1 to 1000");
    for (const std::string by : {"build", "attribute:", "units"})
        EXPECT_EQ(error_of(answer<get_who_delays_whom>, "/api/v1/who-delays-whom?by=" + by),
                  "\"by\": expected unit, host or attribute:NAME");
    const std::string no_time = "\"from\": expected a time before \"to\"";
    EXPECT_EQ(error_of(answer<get_trend>, checkout + "trend?from=5&to=5"), no_time);
    EXPECT_EQ(error_of(answer<get_change>, checkout + "change?from=5&to=5"), no_time);
    EXPECT_EQ(error_of(answer<get_split>, checkout + "split?by=host&from=5&to=5"), no_time);
    EXPECT_EQ(error_of(answer<get_split>, checkout + "split?by=user"),
              "\"by\": expected host, build or unit");
    EXPECT_EQ(error_of(answer<compare_sets>, checkout + "compare?a=x%3D5&b="),
              "\"a\": the query has \"x\", which this address does not know");
    EXPECT_EQ(
        error_of(answer<get_set_flame>, checkout + "compare/flame?a=&b=" + std::string(2001, 'x')),
        "\"b\": expected at most 2000 bytes");
    EXPECT_EQ(error_of(answer<get_set_flame>, checkout + "compare/flame?a=&b=&state=x"),
              "\"state\": expected all, on-cpu or off-cpu");
}

TEST_F(Overview, ASplitHasAThousandParts) {
    SplitReport report;
    report.split.changed = 7;
    report.split.pattern = "h-*";
    report.split.concentrated = true;
    report.split.parts.resize(1001);
    report.split.parts[0].name = "h-1";
    const json::object found = split_report_json(report);
    EXPECT_EQ(found.at("total"), 1001);
    EXPECT_EQ(found.at("changed"), 7);
    EXPECT_EQ(found.at("pattern"), "h-*");
    EXPECT_EQ(found.at("concentrated"), true);
    EXPECT_EQ(found.at("parts").as_array().size(), 1000U);
}

TEST_F(Overview, AChangeIsSplitByItsFigure) {
    using reports::Figure;
    Filter filter;
    reports::LastingChange change;
    change.step.from_ns = RecordedShop::changed_ns;
    std::string text;
    const auto add = [&](const char* event, Figure figure, bool runs_recorded,
                         std::uint32_t limit) {
        filter.event = event;
        change.step.figure = figure;
        const auto report =
            report_change(evidence(), filter, change, runs_recorded, RecordedShop::end_ns, limit);
        ASSERT_TRUE(report.ok()) << report.error().message;
        text += fmt::format("== {} {} {} from {} to {}, causes {}\n", event,
                            reports::figure_name(figure), limit, report->before_ns, report->to_ns,
                            report->causes.size()) +
                readable(split_report_json(report->hosts)) + "\n";
    };
    add("checkout", Figure::P50, true, 100'000);
    add("checkout", Figure::P99, true, 100'000);
    add("checkout", Figure::Delays, true, 200);
    add("print", Figure::Delays, false, 100'000);
    expect_text_of_file(test_data_folder() + "/server/changes_by_figure.txt", text);
}

class Causes : public RecordedShopTest {};

// Rates and builds of days are those of the last 400 days, and have tests of their own.
TEST_F(Causes, HaveAWholeLife) {
    std::string text;
    for (const char* id : {"1", "4"}) {
        const auto route = find_route(Method::Get, "/api/v1/causes/" + std::string(id));
        const Reply reply = get_cause(evidence(), std::get<Route>(route));
        ASSERT_EQ(reply.status, 200U) << reply.body;
        json::object life = json::parse(reply.body).as_object();
        life.erase("builds");
        for (json::value& day : life.at("days").as_array()) day.as_object().erase("rate");
        text += readable(life) + "\n";
    }
    expect_text_of_file(test_data_folder() + "/server/cause_lives.json", text);
}

class Findings : public RecordedShopTest {};

TEST_F(Findings, OfEachConditionAreAsExpected) {
    const std::uint64_t end_ns = RecordedShop::end_ns;
    const std::uint64_t monday_ns = RecordedShop::begin_ns + 14 * 24 * RecordedShop::hour;
    struct Asked {
        const char* condition;
        std::uint64_t since_ns, now_ns;
    };
    std::string text;
    for (const Asked& asked : {
             Asked{R"("new_cause")", 0, end_ns},
             Asked{R"("new_cause","event":"print")", 0, end_ns},
             Asked{R"("new_cause")", end_ns - 9 * RecordedShop::hour, end_ns},
             Asked{R"("cause_came_back")", 0, end_ns},
             Asked{R"("p99","over_ns":30000000,"min_runs":10)", 0, end_ns - 1},
             Asked{R"("p99","over_ns":30000000,"event":"search","min_runs":10)", 0, end_ns - 1},
             Asked{R"("p99","factor":1.5,"hours":4)", 0, end_ns - 1},
             Asked{R"("delay_share","over_share":0.01,"hours":1)", 0, end_ns - 1},
             Asked{R"("delay_share","over_share":0.5)", 0, end_ns - 1},
             Asked{R"("delay_share","factor":2,"hours":3)", 0, end_ns - 1},
             Asked{R"("host_silent","silent_ns":5400000000000,"host":"ams-1")", 0,
                   end_ns + RecordedShop::hour},
             Asked{R"("host_silent","silent_ns":3600000000000,"host":"fra-2")", 0,
                   end_ns + 50 * RecordedShop::hour},
             Asked{R"("runs_lost","hours":2)", 0, end_ns},
             Asked{R"("runs_lost","over_runs":5)", 0, end_ns},
             Asked{R"("runs_lost","host":"fra-3")", 0, end_ns},
             Asked{R"("runs_lost","hours":2)", 0, end_ns + 2 * RecordedShop::hour},
             Asked{R"("got_worse")", 0, end_ns - 1},
             Asked{R"("got_worse","event":"login")", 0, end_ns - 1},
             Asked{R"("weekly_digest")", 0, monday_ns + 7 * 24 * RecordedShop::hour},
             Asked{R"("weekly_digest","event":"print")", 0,
                   monday_ns + 7 * 24 * RecordedShop::hour},
             Asked{R"("weekly_digest")", monday_ns, monday_ns + 3 * RecordedShop::hour},
         }) {
        const auto rule = parse_rule(R"({"way":"webhook","address":"https://a","condition":)" +
                                     std::string(asked.condition) + "}");
        ASSERT_TRUE(rule.ok()) << asked.condition << rule.error().message;
        const auto found = look(store(), *rule, asked.since_ns, asked.now_ns);
        ASSERT_TRUE(found.ok()) << found.error().message;
        text += "== " + std::string(asked.condition) + "\n";
        for (const Finding& finding : *found)
            text += finding.subject + "\n" + readable(json::parse(finding.facts)) + "\n";
    }
    expect_text_of_file(test_data_folder() + "/server/alert_findings.txt", text);
}

}  // namespace
}  // namespace lagtrap::server::whole_answers_test
