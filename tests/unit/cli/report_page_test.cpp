// The page of a report, and the list of delays of several recordings.
#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/reports/delay_list.hpp"
#include "cli/reports/report_html.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::report_page_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t hour_ns = 3'600'000 * ms;
constexpr std::uint64_t begin_ns = 1'795'235'000'000 * ms;  // 2026-11-21T04:23:20Z

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

// What differs between pages, without the version at the end.
std::string body_of(const std::string& page) {
    const std::size_t begin = page.find("<title>");
    return page.substr(begin, page.find("<p class=\"small\">Made by") - begin);
}

boost::json::object delay_with_everything() {
    return boost::json::parse(
               R"json({"event":"buy","duration_ns":90000000,"threshold_ns":50000000,"open":true,
        "process":"shop","begin_pid":10,"thread":"seller","begin_tid":11,"program":"/usr/bin/shop",
        "program_version":"1.2","command_line":"shop --fast","unit":"shop.service","user":"mia",
        "open_note":"was still open","trace_id":"abc","request":{"route":"/checkout"},
        "begin_boottime_ns":7000000000,
        "cause":{"sentences":["Computed.",5,"Then waited."]},
        "split":{"wall_ns":100000000,"on_cpu_ns":25000000,"runnable_ns":5000000,
          "blocked":[{"reason":"for a lock","total_ns":30000000},{"reason":"never","total_ns":0},7],
          "between_threads_ns":1000000,"in_goroutine_ns":2000000,"not_recorded_ns":3000000},
        "stages":[{"name":"","offset_ns":0,"duration_ns":20000000},
          {"name":"pay","offset_ns":90000000,"duration_ns":20000000},8],
        "calls":[{"share":0.5,"depth":2,"functions":["main","shop::buy(int)"],"source":"shop.cpp",
            "line":7},
          {"share":0.0049,"depth":1,"functions":["hidden"]},9,
          {"share":0.005,"depth":41,"functions":["deep"],"reason":"for a lock"}]})json")
        .as_object();
}

boost::json::object report_of(boost::json::object delay) {
    boost::json::object report{{"host", "oak"},
                               {"session", "5e55"},
                               {"started_realtime_ns", begin_ns},
                               {"started_boottime_ns", 6'000'000'000}};
    report["delays"] = boost::json::array{std::move(delay)};
    return report;
}

DelaySummary summary(std::size_t index) {
    DelaySummary delay;
    delay.number = index + 1;
    delay.session = "5e55";
    delay.event = "buy";
    delay.process = "shop";
    delay.pid = 10;
    delay.began_realtime_ns = begin_ns - index * hour_ns;
    delay.duration_ns = (90 + index) * ms;
    delay.cause = "on a CPU in parse";
    delay.sentence = "Computed in parse.";
    return delay;
}

DelayList list_with(std::size_t delays) {
    DelayList list;
    list.files = {"one.lagtrap.tar.zst", "two.lagtrap.tar.zst"};
    for (std::size_t i = 0; i < delays; ++i) list.delays.push_back(summary(i));
    return list;
}

TEST(ReportPage, HasWhatIsKnownOfTheDelayAndNothingElse) {
    std::string pages = body_of(report_html(report_of(delay_with_everything()), "first\nlast", {}));
    pages += body_of(report_html(report_of({{"event", "buy"}, {"duration_ns", 5 * ms}}), "", {}));
    pages += body_of(report_html({{"host", "oak"}, {"delays", {1}}}, "line\n\n", {}));
    DelayList list = list_with(2);
    list.delays[1].cause = "for a lock";
    list.delays_left = 3;
    list.unreadable = {{"three", "is damaged"}};
    pages += body_of(report_html({{"host", "oak"}}, "", list));
    pages += body_of(report_html({{"host", "oak"}}, "", list_with(0)));
    test::expect_text(pages, "report_pages.html");
}

TEST(ReportPage, ForbidsScriptsAndLoadingAndNamesItsProgram) {
    const std::string page = report_html(report_of(delay_with_everything()), "", {});
    EXPECT_THAT(page, StartsWith("<!doctype html>\n<html lang=\"en\">\n<head>\n"
                                 "<meta charset=\"utf-8\">\n"));
    EXPECT_THAT(page, HasSubstr("<meta http-equiv=\"Content-Security-Policy\" "
                                "content=\"default-src 'none'; style-src 'unsafe-inline'\">"));
    EXPECT_THAT(page, EndsWith("<p class=\"small\">Made by lagtrap " LAGTRAP_VERSION
                               ".</p>\n</body>\n</html>\n"));
    EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(ReportPage, NamesFromElsewhereAreNoMarkup) {
    EXPECT_EQ(escape_html("<b> & \"c\" 'd'\x1b"), "&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;\\x1b");
    boost::json::object delay = delay_with_everything();
    for (const char* name : {"event", "process", "thread", "program", "program_version",
                             "command_line", "unit", "user", "open_note", "trace_id"})
        delay[name] = "<i>&";
    delay["cause"] = boost::json::parse(R"({"sentences":["<i>&"]})");
    const std::string page = report_html(report_of(delay), "<i>&", {});
    EXPECT_THAT(page, Not(HasSubstr("<i>")));
    EXPECT_GE(count_of(page, "&lt;i&gt;&amp;"), 13U);
}

TEST(ReportPage, IsBounded) {
    boost::json::array calls;
    for (int i = 0; i < 31; ++i)
        calls.push_back(boost::json::object{{"share", 0.5}, {"functions", {"parse"}}});
    const auto functions = [&] {
        return count_of(report_html(report_of({{"event", "buy"}, {"calls", calls}}), "", {}),
                        "<code>parse</code>");
    };
    EXPECT_EQ(functions(), 30U);
    calls.resize(30);
    EXPECT_EQ(functions(), 30U);
    const auto delays = [](std::size_t count) {
        return count_of(report_html({}, "", list_with(count)), "Computed in parse.");
    };
    EXPECT_EQ(delays(500), 500U);
    EXPECT_EQ(delays(501), 500U);
    DelayList one = list_with(3);
    one.files.pop_back();
    EXPECT_THAT(report_html({}, "", one), Not(HasSubstr("Computed in parse.")));
}

std::string text_of(const DelayList& list, bool all = false, std::size_t columns = 80) {
    return delay_list_text(list, {Paint(false), columns, all});
}

TEST(DelayListText, SaysFromWhenToWhen) {
    EXPECT_EQ(text_of({}), "0 delays in 0 recordings\n");
    EXPECT_THAT(text_of(list_with(1)),
                StartsWith("1 delay in 2 recordings, 2026-11-21 04:23:20 UTC\n"));
    EXPECT_THAT(text_of(list_with(2)),
                StartsWith("2 delays in 2 recordings, 2026-11-21 03:23:20 to 04:23:20 UTC\n"));
    EXPECT_THAT(
        text_of(list_with(6)),
        StartsWith("6 delays in 2 recordings, 2026-11-20 23:23:20 to 2026-11-21 04:23:20 UTC\n"));
}

TEST(DelayListText, ShowsTwentyDelaysAndEightCauses) {
    DelayList list = list_with(20);
    EXPECT_THAT(text_of(list), Not(HasSubstr("--all shows all")));
    for (std::size_t i = 0; i < 8; ++i) list.delays[i].cause = "cause " + std::to_string(i);
    EXPECT_THAT(text_of(list), HasSubstr("  and 1 more\n"));
    EXPECT_THAT(text_of(list, true), Not(HasSubstr("  and 1 more\n")));
    list.delays[0].cause = "cause 1";
    EXPECT_THAT(text_of(list), Not(HasSubstr("  and 1 more\n")));
    list.delays.push_back(summary(20));
    EXPECT_THAT(text_of(list), EndsWith("  and 1 more; --all shows all\n"));
    EXPECT_THAT(text_of(list), Not(HasSubstr("  21  ")));
    EXPECT_THAT(text_of(list, true), HasSubstr("  21  "));
    EXPECT_THAT(text_of(list, true), Not(HasSubstr("more; --all")));
}

TEST(DelayListText, IsWhole) {
    DelayList list = list_with(8);
    list.delays[2].event = "a-very-long-name-of-an-event-that-no-column-holds";
    list.delays[3].cause =
        "for a lock in a_function_whose_name_is_so_long that it has to continue "
        "on the next line";
    list.delays[4].cause = list.delays[3].cause;
    list.delays_left = 1;
    list.recordings_left = 1;
    list.unreadable = {{"/var/spool/three.lagtrap.tar.zst", "is damaged"},
                       {"/var/spool/four.lagtrap.tar.zst", "four.lagtrap.tar.zst: no archive"}};
    std::string shown = text_of(list) + "# all\n" + text_of(list, true);
    list.delays_left = list.recordings_left = 2;
    shown += "# narrow\n" + text_of(list, false, 40);
    test::expect_text(shown, "delay_lists.txt");
}

TEST(DelayListText, CountsMostFrequentCausesFirstAndThenTheLongest) {
    DelayList list = list_with(5);
    list.delays[0].cause = list.delays[1].cause = "twice";
    list.delays[2].cause = "short";
    list.delays[3].cause = "long";
    list.delays[4].cause = "medium";
    list.delays[3].duration_ns = 500 * ms;
    std::string order;
    for (const CauseCount& count : count_causes(list))
        order += count.cause + " " + std::to_string(count.delays) + " " +
                 std::to_string(count.total_ns / ms) + ", ";
    EXPECT_EQ(order, "twice 2 181, long 1 500, medium 1 94, short 1 92, ");
    EXPECT_EQ(slowest_delay(list), 3U);
    EXPECT_EQ(slowest_delay({}), std::nullopt);
    std::swap(list.delays[0], list.delays[4]);
    sort_newest_first(list);
    EXPECT_EQ(list.delays[0].began_realtime_ns, begin_ns);
    EXPECT_EQ(list.delays[4].cause, "medium");
}

}  // namespace
}  // namespace lagtrap::cli::report_page_test
