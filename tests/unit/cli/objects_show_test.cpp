#include "cli/objects/objects_show.hpp"

#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/reports/report_objects.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::objects_show_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string line_of(const boost::json::object& reply) { return boost::json::serialize(reply); }

std::string started_line(std::uint32_t pid = 42, const std::string& memory = "") {
    calls::ObjectsStarted started;
    started.pid = pid;
    started.process = "shop";
    started.classes = {"page"};
    started.memory = memory;
    started.functions.resize(12);
    for (std::size_t i = 0; i < 12; ++i)
        started.functions[i].function.name = "use_" + std::to_string(i);
    return line_of(calls::to_json(started));
}

std::string call_line() {
    calls::ObjectCall call;
    call.begin_ns = 1000;
    call.end_ns = 3000;
    call.object = 5;
    call.tid = 43;
    call.thread = "worker";
    return line_of(calls::to_json(std::vector<calls::ObjectCall>{call}));
}

std::string detached_line(std::size_t functions = 1) {
    return line_of(calls::to_json(std::vector<calls::DetachedFunction>(functions, {1, 2000})));
}

std::string ended_line() {
    calls::ObjectsEnded ended;
    ended.reason = "the time is over";
    ended.length_ns = 2'000'000'000;
    ended.classes.resize(1);
    for (std::uint32_t i = 0; i < 11; ++i) ended.totals.push_back({i, 1, 0, 1000});
    return line_of(calls::to_json(ended));
}

class ObjectsShowTest : public testing::Test {
  protected:
    // What it prints for the lines.
    std::string shown(const std::vector<std::string>& lines, bool so_far = false) {
        out_.str("");
        Console console{out_, out_, Paint(false)};
        ObjectsShow show(options_, console, 0);
        EXPECT_TRUE(show.prepare());
        for (const std::string& line : lines) {
            EXPECT_FALSE(show.ended());
            EXPECT_TRUE(show.show(line));
        }
        EXPECT_EQ(show.ended(), !lines.empty() && lines.back() == ended_line());
        if (so_far) show.show_so_far();
        return out_.str();
    }
    ObjectsOptions options_;
    std::ostringstream out_;
};

TEST_F(ObjectsShowTest, ShowsBeginAndEndAndTreesIfWanted) {
    EXPECT_THAT(shown({started_line()}), StartsWith("Objects of shop (42)\n"));
    const std::string begun = shown({started_line()});
    EXPECT_EQ(shown({started_line(), call_line()}), begun);
    EXPECT_THAT(shown({started_line(), call_line(), ended_line()}),
                HasSubstr("Ended after 2.00 s: the time is over"));
    EXPECT_EQ(shown({started_line(), detached_line()}),
              begun + "  detached: use_1, 2,000 calls per second\n");
    options_.tree = true;
    EXPECT_EQ(shown({started_line(), call_line()}),
              begun + "worker (43)\n   2.00 us                use_0  5\n");
}

TEST_F(ObjectsShowTest, JsonIsTheLinesThemselves) {
    options_.json = options_.tree = true;
    const std::vector<std::string> lines{started_line(), call_line(), detached_line(),
                                         ended_line()};
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    EXPECT_EQ(shown(lines), all);
    EXPECT_EQ(shown({lines[0]}, true), lines[0] + "\n");
}

TEST_F(ObjectsShowTest, RecordsTheLinesInAFile) {
    const test::TemporaryFolder folder;
    options_.record = folder.string("trace");
    std::ofstream(options_.record) << "old";
    EXPECT_THAT(shown({started_line(), ended_line()}), StartsWith("Objects of shop"));
    std::ostringstream text;
    text << std::ifstream(options_.record).rdbuf();
    EXPECT_EQ(text.str(), started_line() + "\n" + ended_line() + "\n");
    options_.record = folder.string("none/trace");
    Console console{out_, out_, Paint(false)};
    EXPECT_FALSE(ObjectsShow(options_, console, 0).prepare());
}

TEST_F(ObjectsShowTest, OfAWatchThatGoesOnShowsTheResultsSoFar) {
    EXPECT_EQ(shown({}, true), "");
    EXPECT_THAT(shown({started_line(), call_line()}, true),
                EndsWith("\nInterrupted here after 0 ns; the watch continues there.\n"));
    EXPECT_THAT(shown({started_line(), call_line()}, true), Not(HasSubstr("Ended after")));
}

TEST_F(ObjectsShowTest, RefusesWhatIsNoLineOfATrace) {
    Console console{out_, out_, Paint(false)};
    ObjectsShow show(options_, console, 0);
    EXPECT_EQ(show.show("x").error().kind, ErrorKind::Invalid);
    EXPECT_EQ(show.show(call_line()).error().kind, ErrorKind::Invalid);  // before the begin
    EXPECT_EQ(out_.str(), "");
}

TEST(ReportObjects, AreThoseOfTheDelayedProcess) {
    const ReportLook plain{Paint(false), 100, false};
    analysis::Recording recording;
    trace::Delay delay;
    delay.begin_pid = 42;
    EXPECT_EQ(objects_part(recording, delay, plain), "");
    recording.system.objects = {started_line()};
    EXPECT_EQ(objects_part(recording, delay, plain), "");  // it has no end
    recording.system.objects = {started_line(), ended_line()};
    const std::string text = objects_part(recording, delay, plain);
    EXPECT_THAT(text, StartsWith("\nObjects\n  of shop, followed for 2.00 s from the breach on; "
                                 "times exclude the probes\nNo call failed.\n"));
    EXPECT_THAT(text, HasSubstr("use_9\n  and 1 other; --all shows more\n"));
    EXPECT_THAT(text, Not(HasSubstr("detached")));
    EXPECT_THAT(objects_part(recording, delay, {Paint(false), 100, true}), HasSubstr("use_10\n"));
    recording.system.objects = {started_line(42, "unknown"), detached_line(), ended_line()};
    EXPECT_THAT(objects_part(recording, delay, plain),
                HasSubstr("the probes; memory not counted:\n  unknown\n"));
    EXPECT_THAT(objects_part(recording, delay, plain),
                EndsWith("  1 function was detached (called too often); later calls are not "
                         "counted.\n"));
    recording.system.objects[1] = detached_line(2);
    EXPECT_THAT(objects_part(recording, delay, plain), HasSubstr("  2 functions were detached"));
    recording.system.objects = {started_line(43), ended_line()};
    EXPECT_EQ(objects_part(recording, delay, plain), "");
}

}  // namespace
}  // namespace lagtrap::cli::objects_show_test
