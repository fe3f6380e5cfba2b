#include "cli/reports/delay_list.hpp"

#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/reports/report_html.hpp"
#include "tests/unit/cli/cli_test.hpp"
#include "trace/bundle/bundle.hpp"

namespace lagtrap::delay_list_test {
namespace {

using test::TraceBuilder;
using testing::HasSubstr;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr std::uint64_t day_ns = 86'400'000'000'000;

// A spool with a bundle per recording.
class DelayList : public testing::Test {
  protected:
    DelayList() { std::filesystem::create_directories(folder_.path() / "spool/sent"); }

    // A recording of `days` later, in which the app computed for `length` in `function`.
    void record(int days, std::uint64_t length, const std::string& function,
                std::uint64_t delays = 1) {
        TraceBuilder builder(3000 * ms, 1);
        builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
        builder.samples(10 * ms, 2000 * ms, 0, 10, 10, {"main", function});
        for (std::uint64_t i = 0; i < delays; ++i) {
            auto delay =
                TraceBuilder::delay(i + 1, "request", static_cast<std::int64_t>(10 * ms * (i + 1)),
                                    length + i, 5 * ms, 10, 10);
            delay.process = delay.thread = "app";
            builder.run(delay);
        }
        builder.system.started_realtime_ns += static_cast<std::uint64_t>(days) * day_ns;
        builder.system.session_id = std::to_string(days + 1) + builder.system.session_id.substr(1);
        const auto capture = folder_.path() / "capture";
        test::write_capture(builder, capture);
        const auto made =
            trace::write_bundle(capture, builder.system.session_id, folder_.path() / "spool/sent");
        ASSERT_TRUE(made) << made.error().message;
        bundles_.push_back(made->path.string());
    }
    [[nodiscard]] std::string spool() const { return folder_.string("spool"); }

    test::TemporaryFolder folder_;
    std::vector<std::string> bundles_;
};

TEST_F(DelayList, CountsCausesAndShowsTheNewestInFull) {
    record(0, 100 * ms, "parse");
    record(1, 900 * ms, "compress", 2);
    record(2, 200 * ms, "parse\x1b[2J");
    record(3, 150 * ms, "parse");
    const auto outcome = test::run_lagtrap({"report", spool()});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::size_t end = outcome.out.find("\nFunctions");
    test::expect_text(outcome.out.substr(0, end), "report_several.txt");
    EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80) << line;
    // The same bundles by name, one of them twice.
    const auto named = test::run_lagtrap(
        {"report", bundles_[3], bundles_[0], bundles_[1], bundles_[2], bundles_[0]});
    EXPECT_EQ(named.out, outcome.out);
}

TEST_F(DelayList, ShowsTheLongestOrAChosenOne) {
    record(0, 900 * ms, "compress");
    record(1, 100 * ms, "parse");
    const auto slowest = test::run_lagtrap({"report", "--slowest", "--spool", spool()});
    EXPECT_THAT(slowest.out, HasSubstr("The longest delay\nrequest took 900 ms"));
    EXPECT_THAT(test::run_lagtrap({"report", spool(), "--delay", "2"}).out,
                testing::StartsWith("request took 900 ms"));
    EXPECT_EQ(test::run_lagtrap({"report", spool(), "--delay", "3"}).err,
              "lagtrap: there is no delay 3; the list has 2\n");
}

TEST_F(DelayList, PrintsJson) {
    record(0, 100 * ms, "parse");
    record(1, 900 * ms, "compress");
    const auto printed =
        boost::json::parse(test::run_lagtrap({"report", "--json", spool()}).out).as_object();
    EXPECT_EQ(printed.at("recordings").to_number<int>(), 2);
    const auto& newest = printed.at("delays").at(0);
    EXPECT_EQ(newest.at("file").as_string(), bundles_[1]);
    EXPECT_EQ(newest.at("cause").as_string(), "Computed in compress");
    EXPECT_EQ(newest.at("duration_ns").to_number<std::uint64_t>(), 900 * ms);
    EXPECT_EQ(printed.at("causes").at(0).at("cause").as_string(), "Computed in compress");
    EXPECT_EQ(printed.at("report").at("session").as_string(), newest.at("session").as_string());
}

TEST_F(DelayList, EachRowOfJsonIsWhole) {
    cli::DelayList list;
    const std::string summary =
        R"({"session":"s1","left_out":7,"delays":[{"number":3,"event":"buy","process":"shop",)"
        R"("pid":42,"began_realtime_ns":1700000000000000000,"duration_ns":5000000,"open":true,)"
        R"("cause":"Computed","sentence":"It computed."},3]})";
    ASSERT_TRUE(cli::add_summary(summary, "/spool/a", list));
    list.recordings_left = 1;
    list.unreadable = {{"/spool/b", "it is damaged"}};
    EXPECT_EQ(cli::delay_list_json(list),
              boost::json::parse(
                  R"({"recordings":1,"recordings_left_out":1,"delays_left_out":7,)"
                  R"("unreadable":[{"file":"/spool/b","reason":"it is damaged"}],)"
                  R"("causes":[{"cause":"Computed","delays":1,"total_ns":5000000}],)"
                  R"("delays":[{"number":1,"file":"/spool/a","session":"s1",)"
                  R"("number_in_recording":3,"event":"buy","process":"shop","pid":42,)"
                  R"("began":"2023-11-14T22:13:20.000000Z",)"
                  R"("began_realtime_ns":1700000000000000000,"duration_ns":5000000,"open":true,)"
                  R"("cause":"Computed","sentence":"It computed."}]})"));
    const cli::ReportLook look{cli::Paint(false), 80, false};
    EXPECT_THAT(cli::delay_list_text(list, look),
                testing::EndsWith("\nNot read: /spool/b: it is damaged\n"
                                  "1 older recording was not read.\n"));
    list.recordings_left = 2;
    EXPECT_THAT(cli::delay_list_text(list, look),
                testing::EndsWith("2 older recordings were not read.\n"));
}

TEST_F(DelayList, NamesWhatItCouldNotRead) {
    record(0, 100 * ms, "parse");
    std::ofstream(folder_.path() / "spool/damaged.lagtrap.tar.zst") << "no archive";
    const auto outcome = test::run_lagtrap({"report", spool()});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.out, HasSubstr("1 delay in 1 recording"));
    EXPECT_THAT(outcome.out, HasSubstr("Not read: "));
    EXPECT_THAT(outcome.out, HasSubstr("damaged.lagtrap.tar.zst"));
    std::filesystem::create_directories(folder_.path() / "empty");
    EXPECT_EQ(test::run_lagtrap({"report", folder_.string("empty")}).err,
              "lagtrap: no bundle in the folder " + folder_.string("empty") +
                  "; bundles are files named *.lagtrap.tar.zst\n");
}

TEST_F(DelayList, KeepsTheLongestOfARecordingWithManyDelays) {
    record(0, 10 * ms, "parse", 150);
    record(1, 10 * ms, "parse", 230);
    const auto outcome = test::run_lagtrap({"report", spool()});
    EXPECT_THAT(outcome.out, testing::StartsWith("380 delays in 2 recordings"));
    EXPECT_THAT(outcome.out, HasSubstr("  and 330 more; --all shows all\n"));
    EXPECT_THAT(outcome.out,
                HasSubstr("and 30 shorter ones of recordings with more than 200 delays\n"));
}

TEST(DelayListText, SaysHowManyAreNotShown) {
    cli::DelayList list;
    list.files = {"a"};
    list.delays.resize(21);
    const auto end_of = [&](const std::string& hint) {
        const std::string text = cli::causes_and_delays(list, {cli::Paint(false)}, "all", hint);
        return text.substr(text.rfind("  and "));
    };
    EXPECT_EQ(end_of(""), "  and 1 more\n");
    EXPECT_EQ(end_of("; --all"), "  and 1 more; --all\n");
}

TEST_F(DelayList, WritesAPage) {
    record(0, 100 * ms, "parse<script>alert(1)</script>");
    const std::string file = folder_.string("page.html");
    const auto content = [&] {
        std::ifstream page(file);
        std::ostringstream text;
        text << page.rdbuf();
        return text.str();
    };
    const auto one = test::run_lagtrap({"report", bundles_[0], "--html", file});
    EXPECT_EQ(one.code, 0) << one.err;
    EXPECT_EQ(one.out, "");
    test::expect_text(
        content().substr(content().find("<title>"),
                         content().find("<h2>The whole report") - content().find("<title>")),
        "report.html");
    EXPECT_THAT(content(), testing::Not(HasSubstr("<script")));
    record(1, 900 * ms, "compress");
    EXPECT_EQ(test::run_lagtrap({"report", spool(), "--html", file}).code, 0);
    EXPECT_THAT(content(), HasSubstr("<h1>2 delays in 2 recordings</h1>\n<h2>Causes</h2>"));
    EXPECT_THAT(content(), HasSubstr("<h1>request took 900 ms</h1>"));
    EXPECT_EQ(test::run_lagtrap({"report", spool(), "--html", "/none/page.html"}).code, 1);
    EXPECT_EQ(test::run_lagtrap({"report", spool(), "--html", file, "--json"}).code, 2);
    EXPECT_EQ(test::run_lagtrap({"report", spool(), "--html", file, "--delay", "3"}).code, 1);
}

TEST(ReportPage, EscapesWhateverARecordingContains) {
    const auto report =
        boost::json::parse(R"({"host": "<i>", "delays": [{"event": "\"><b>", "duration_ns": 5,
        "process": "</td>", "command_line": "a & 'b'", "cause": {"sentences": ["<img src=x>"]},
        "split": {"wall_ns": 4, "on_cpu_ns": 400, "blocked": [{"reason": "<u>", "total_ns": 2}, 7]},
        "stages": [{"name": "<s>", "offset_ns": 900, "duration_ns": 1}, null],
        "calls": [{"share": 0.5, "depth": 4000000000, "functions": ["<p>", 3],
        "source": "<q>"}]}]})");
    const std::string page = cli::report_html(report.as_object(), "<script>\n\x1b\n", {});
    const std::string body = page.substr(page.find("<body>"));
    for (const char* hostile :
         {"<i>", "<b>", "</td></td>", "<img", "<u>", "<s>", "<p>", "<q>", "<script", "\x1b"})
        EXPECT_THAT(body, testing::Not(HasSubstr(hostile)));
    EXPECT_THAT(body, HasSubstr("&lt;img src=x&gt;"));
    EXPECT_THAT(body, HasSubstr("a &amp; &#39;b&#39;"));
    EXPECT_THAT(cli::report_html({}, "", {}), HasSubstr("Recording of"));
}

TEST(DelaySummaries, AreOfTheLongestDelaysAmongVeryMany) {
    TraceBuilder builder(1000 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app");
    for (std::uint64_t i = 1; i <= 201; ++i)
        builder.run(TraceBuilder::delay(i, "request", 10 * ms, i * ms, 1, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording) << recording.error().message;
    cli::DelayList list;
    ASSERT_TRUE(cli::add_summary(cli::summarize_delays(*recording), "a", list));
    EXPECT_EQ(list.delays_left, 1U);
    ASSERT_EQ(list.delays.size(), 200U);
    EXPECT_EQ(list.delays.front().duration_ns, 201 * ms);
    EXPECT_EQ(list.delays.front().number, 201U);
    EXPECT_EQ(list.delays.back().duration_ns, 2 * ms) << "the shortest one is left out";
}

TEST(DelaySummaries, RefusesAnotherText) {
    cli::DelayList list;
    EXPECT_FALSE(cli::add_summary("no JSON", "a", list));
    EXPECT_FALSE(cli::add_summary("[]", "a", list));
    EXPECT_TRUE(list.files.empty());
    ASSERT_TRUE(
        cli::add_summary(R"({"delays": [1, {"event": "e\u001b", "duration_ns": -4}]})", "a", list));
    ASSERT_EQ(list.delays.size(), 1);
    EXPECT_EQ(list.delays.front().event, "e\\x1b");
    EXPECT_EQ(list.delays.front().duration_ns, 0);
}

}  // namespace
}  // namespace lagtrap::delay_list_test
