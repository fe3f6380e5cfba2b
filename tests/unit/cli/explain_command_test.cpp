// Which event `lagtrap explain` explains, and how the lines break.
#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "tests/unit/cli/scripted_daemon.hpp"

namespace lagtrap::cli::explain_command_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string event(const std::string& name, const std::string& more) {
    return R"({"name":")" + name + R"(","threshold_ns":50000000,"nesting":"each","key":"thread",)" +
           R"("hits":10,"runs":5,"max_ns":9000000,"histogram":[],"markers":[],)" + more + "}";
}

test::Outcome explain(const std::string& name, std::vector<std::string> words = {}) {
    words.insert(words.begin(), {"explain", name});
    return test::run_with_daemon(
        words,
        test::statuses({R"({"ok":true,"events":[1,)" +
                        event("query", R"("armed":false,"problem":"there is no such probe")") +
                        "," + event("frame", R"("armed":true)") + "]}"}));
}

TEST(ExplainCommand, ShowsTheEventAndWhatToDo) {
    const auto outcome = explain("query");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, StartsWith("query: "));
    EXPECT_THAT(outcome.out, HasSubstr("\n\n  "));
    EXPECT_THAT(outcome.out, HasSubstr("there is no such probe"));
    EXPECT_THAT(outcome.out, HasSubstr("\nNext\n  - "));
    EXPECT_THAT(explain("frame").out, StartsWith("frame: "));
}

TEST(ExplainCommand, BreaksLongLinesBelowTheirBegin) {
    const std::string problem(20, 'x');
    std::string words;
    for (int i = 0; i < 12; ++i) words += (i > 0 ? " " : "") + problem;
    const auto outcome = test::run_with_daemon(
        {"explain", "query"},
        test::statuses({R"({"ok":true,"events":[)" +
                        event("query", R"("armed":false,"problem":")" + words + "\"") + "]}"}));
    std::istringstream lines(outcome.out);
    std::size_t longest = 0, with_problem = 0;
    for (std::string line; std::getline(lines, line);) {
        longest = std::max(longest, line.size());
        if (line.find(problem) == std::string::npos) continue;
        ++with_problem;
        EXPECT_THAT(line, StartsWith("  "));
        EXPECT_NE(line[2], ' ') << line;
    }
    EXPECT_LE(longest, 110U);
    EXPECT_GT(longest, 80U);
    EXPECT_EQ(with_problem, 3U) << outcome.out;
}

TEST(ExplainCommand, JsonHasFindings) {
    const auto shown = boost::json::parse(explain("query", {"--json"}).out);
    EXPECT_THAT(std::string(shown.at("event").as_string()), StartsWith("query: "));
    const auto& first = shown.at("findings").at(0).as_object();
    EXPECT_EQ(first.at("kind"), "not-armed");
    EXPECT_THAT(std::string(first.at("sentence").as_string()), HasSubstr("no such probe"));
    EXPECT_NE(first.at("next").as_string(), "");
}

TEST(ExplainCommand, AnUnknownEventHasANearestName) {
    const auto near = explain("qery");
    EXPECT_EQ(near.code, 1);
    EXPECT_EQ(near.err,
              "lagtrap: the active settings have no event \"qery\"; did you mean query?\n");
    EXPECT_EQ(explain("something-else").err,
              "lagtrap: the active settings have no event \"something-else\"; \"lagtrap status\" "
              "lists them\n");
    EXPECT_EQ(test::run_lagtrap({"explain", "query", "--socket", "/none"}).code, 1);
}

}  // namespace
}  // namespace lagtrap::cli::explain_command_test
