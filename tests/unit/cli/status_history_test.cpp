#include "cli/status/status_history.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

namespace lagtrap::cli::status_history_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string lines_of(const char* history) {
    const boost::json::object answer{{"history", boost::json::parse(history)}};
    return history_lines(answer, Paint(false));
}

TEST(StatusHistory, IsEmptyIfTheSettingsAskForNone) {
    EXPECT_EQ(history_lines({}, Paint(false)), "");
    EXPECT_EQ(lines_of("{}"), "");
}

TEST(StatusHistory, SaysWhatItKeepsAndLost) {
    const std::string kept =
        lines_of(R"({"window":{"length_ns":5000000000,"size_bytes":1048576,"lost":0,"cut":0}})");
    EXPECT_THAT(kept, HasSubstr("keeps the last 5.00 s before a breach, now 1.00 MiB"));
    EXPECT_THAT(kept, Not(HasSubstr("lost")));
    EXPECT_THAT(lines_of(R"({"window":{"length_ns":5000000000,"size_bytes":1,"lost":3,"cut":4}})"),
                HasSubstr("parts lost, buffer full: 7"));
}

TEST(StatusHistory, SaysHowManyRecordingsBeganEarly) {
    const std::string early = lines_of(
        R"({"early":{"begun":3,"kept":1,"dropped":2,"watched_ns":1000,"time_ns":100,"outgrown":1,
            "held_back":2,"points":[{"event":"buy","point_ns":50000000},{"event":"pay"}]}})");
    EXPECT_THAT(early, HasSubstr("3 recordings begun before a breach, 1 kept, 2 dropped; 10 %"));
    EXPECT_THAT(early, HasSubstr("buy at 50.0 ms, pay at none"));
    EXPECT_THAT(early, HasSubstr("1 was dropped: out of memory"));
    EXPECT_THAT(early, HasSubstr("2 were not begun: early-share of <history> used up"));
}

TEST(StatusHistory, ListsAFewEventsAndCountsTheOthers) {
    std::string points;
    for (int event = 0; event < 8; ++event)
        points += (event > 0 ? "," : "") + std::string(R"({"event":"e)") + std::to_string(event) +
                  R"(","point_ns":1})";
    const std::string early =
        lines_of((R"({"early":{"begun":1,"points":[)" + points + "]}}").c_str());
    EXPECT_THAT(early, HasSubstr("e5 at "));
    EXPECT_THAT(early, Not(HasSubstr("e6")));
    EXPECT_THAT(early, HasSubstr(" and 2 more"));
}

TEST(StatusHistory, SaysWhatIsOffAndWhenItReturns) {
    const std::string off =
        lines_of(R"({"again_in_seconds":90,"window":{"length_ns":5,"size_bytes":1}})");
    EXPECT_THAT(off, HasSubstr("the time before a breach is not kept, to stay within the budget"));
    EXPECT_THAT(off, Not(HasSubstr("keeps the last")));
    EXPECT_THAT(lines_of(R"({"times_again_in_seconds":90})"),
                HasSubstr("the time of runs is not broken down, to stay within the budget; retry"));
}

}  // namespace
}  // namespace lagtrap::cli::status_history_test
