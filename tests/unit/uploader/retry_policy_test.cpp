#include "uploader/retry_policy.hpp"

#include <gtest/gtest.h>

namespace lagtrap::uploader::retry_policy_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint start{hours(100)};

TEST(NextAttempt, IsNowWithoutFailures) { EXPECT_EQ(next_attempt(start, {}, 0.9), start); }

TEST(NextAttempt, DoublesTheCeilingUpToTheCap) {
    EXPECT_EQ(next_attempt(start, {1, start, {}}, 0.5), start + milliseconds(500));
    EXPECT_EQ(next_attempt(start, {2, start, {}}, 0.5), start + seconds(1));
    EXPECT_EQ(next_attempt(start, {5, start, {}}, 0.5), start + seconds(8));
    EXPECT_EQ(next_attempt(start, {11, start, {}}, 0.5), start + seconds(450));
    EXPECT_EQ(next_attempt(start, {4'000'000'000U, start, {}}, 0.5), start + seconds(450));
}

TEST(NextAttempt, JitterIsFull) { EXPECT_EQ(next_attempt(start, {8, start, {}}, 0.0), start); }

TEST(NextAttempt, IsNeverSoonerThanTheServerAsked) {
    EXPECT_EQ(next_attempt(start, {1, start, seconds(120)}, 0.99), start + seconds(120));
    EXPECT_EQ(next_attempt(start, {11, start, seconds(1)}, 0.5), start + seconds(450));
}

TEST(NextAttempt, LiesInThePastOnceTheWaitIsOver) {
    EXPECT_LT(next_attempt(start + hours(1), {3, start, {}}, 0.9), start + hours(1));
}

TEST(NextAttempt, CountsFromNowIfTheClockJumpedBack) {
    const TimePoint earlier = start - hours(50);
    EXPECT_EQ(next_attempt(earlier, {2, start, {}}, 0.5), earlier + seconds(1));
}

TEST(RetryAfter, TakesSecondsAndBoundsThem) {
    EXPECT_EQ(parse_retry_after("120", 0), seconds(120));
    EXPECT_EQ(parse_retry_after("  0 \r\n", 0), seconds(0));
    EXPECT_EQ(parse_retry_after("86401", 0), hours(24));
    EXPECT_EQ(parse_retry_after("99999999999999999999999", 0), hours(24));
}

TEST(RetryAfter, TakesDates) {
    constexpr std::time_t noon = 784111777;  // Sun, 06 Nov 1994 08:49:37 GMT
    EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:51:37 GMT", noon), seconds(120));
    EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:00 GMT", noon), seconds(0));
    EXPECT_EQ(parse_retry_after("Sun, 06 Nov 2094 08:49:37 GMT", noon), hours(24));
    EXPECT_EQ(parse_retry_after("Sunday, 06-Nov-94 08:51:37 GMT", noon), seconds(120));
}

TEST(RetryAfter, RefusesWhatIsNeither) {
    for (const char* text :
         {"", "  ", "-5", "1.5", "soon", "1e3", "12 34", ",,,,", "Sun, 99 Nov 1994"})
        EXPECT_EQ(parse_retry_after(text, 0), std::nullopt) << text;
    EXPECT_EQ(parse_retry_after(std::string(100'000, ','), 0), std::nullopt);
}

TEST(Verdict, FollowsTheStatus) {
    for (const long status : {200, 201, 204})
        EXPECT_EQ(verdict_of_status(status), Verdict::Delivered) << status;
    for (const long status : {400, 413, 415, 422})
        EXPECT_EQ(verdict_of_status(status), Verdict::Rejected) << status;
    for (const long status : {0, 100, 301, 302, 307, 308, 401, 403, 404, 407, 408, 409, 411, 429,
                              500, 502, 503, 504, 507})
        EXPECT_EQ(verdict_of_status(status), Verdict::TryLater) << status;
}

TEST(Verdict, AServersTroubleHoldsAllBundlesBack) {
    for (const long status : {0, 302, 401, 403, 408, 429, 502, 503, 504})
        EXPECT_TRUE(concerns_all_bundles(status));
    for (const long status : {200, 400, 422, 500, 507})
        EXPECT_FALSE(concerns_all_bundles(status)) << status;
}

}  // namespace
}  // namespace lagtrap::uploader::retry_policy_test
