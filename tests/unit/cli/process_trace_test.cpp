#include "cli/control/process_trace.hpp"

#include <signal.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "cli/console/interrupt.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"

namespace lagtrap::cli::process_trace_test {
namespace {

namespace json = boost::json;
using test::ScriptedDaemon;
using testing::ElementsAre;
using testing::StartsWith;

const std::string own = std::to_string(::getpid());

TEST(RequestOfTrace, HasTheCommonFields) {
    EXPECT_EQ(request_of_trace({"calls", own, "5ms", "2s", 2.5}).value(),
              (json::object{{"command", "calls"},
                            {"pid", ::getpid()},
                            {"budget_permille", 25},
                            {"least_ns", 5'000'000},
                            {"length_ns", 2'000'000'000}}));
    EXPECT_FALSE(request_of_trace({"calls", own, "", "2s", 1}).value().contains("least_ns"));
}

TEST(RequestOfTrace, SaysWhichOptionIsWrong) {
    EXPECT_THAT(request_of_trace({"calls", own, "x", "2s", 1}).error().message,
                StartsWith("--min: "));
    EXPECT_THAT(request_of_trace({"calls", own, "5ms", "", 1}).error().message,
                StartsWith("--for: "));
    EXPECT_EQ(request_of_trace({"calls", "4194305", "5ms", "2s", 1}).error().kind,
              ErrorKind::NotFound);
}

class EachLine : public testing::Test {
  protected:
    ~EachLine() override {
        interrupted = 0;
        (void)::signal(SIGINT, SIG_DFL);
    }
    Status read(const ScriptedDaemon::Handler& handler, const Status& each = success()) {
        const ScriptedDaemon daemon(folder_.string("socket"), handler);
        auto lines = DaemonLines::ask(folder_.string("socket"), {{"command", "calls"}});
        if (!lines) return lines.error();
        return each_line(*lines, [&](const std::string& line) {
            seen_.push_back(line);
            return each;
        });
    }
    test::TemporaryFolder folder_;
    std::vector<std::string> seen_;
};

TEST_F(EachLine, EndsWithTheAnswer) {
    EXPECT_TRUE(read([](const std::string&) { return ScriptedDaemon::Answer{"a\nb\n", true}; }));
    EXPECT_THAT(seen_, ElementsAre("a", "b"));
}

TEST_F(EachLine, TheFirstInterruptAsksForTheRest) {
    const pid_t reader = ::getpid();
    EXPECT_TRUE(read([reader](const std::string& line) {
        if (line.empty()) return ScriptedDaemon::Answer{"results\n", true};
        return ScriptedDaemon::Answer{"a\n", false, {}, reader};
    }));
    EXPECT_THAT(seen_, ElementsAre("a", "results"));
}

TEST_F(EachLine, ReturnsTheErrorOfALine) {
    const Status status = read(
        [](const std::string&) {
            return ScriptedDaemon::Answer{"a\nb\n", true};
        },
        make_error(ErrorKind::Invalid, "no"));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "no");
    EXPECT_THAT(seen_, ElementsAre("a"));
}

}  // namespace
}  // namespace lagtrap::cli::process_trace_test
