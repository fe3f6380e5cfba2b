#include "analysis/sleep_words.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_causes.hpp"

namespace lagtrap::analysis::sleep_words_test {
namespace {

using namespace test::made_causes;

ThreadDoing sleeps(std::size_t count, bool polls = false) {
    ThreadDoing doing = wait_for(WaitKind::Sleep);
    doing.count = count;
    doing.polls = polls;
    return doing;
}

// It tried to get a lock on a file for as long as it slept.
ThreadDoing refused_sleeps() {
    ThreadDoing doing = sleeps(5);
    doing.outlasts = true;
    doing.timed_out = true;
    doing.files.kind = WaitFileKind::Refused;
    doing.files.path = "/srv/data";
    doing.files.time_ns = 50 * ms;
    doing.files.asked_ns = 100 * ms;
    return doing;
}

TEST(SleepWords, SeveralSleepsAreCounted) {
    EXPECT_EQ(slept_words(sleeps(1), "100 ms"), "slept 100 ms");
    EXPECT_EQ(slept_words(sleeps(1, true), "100 ms"), "slept 100 ms");
    EXPECT_EQ(slept_words(sleeps(2), "100 ms"), "slept 100 ms in 2 sleeps");
    EXPECT_EQ(slept_words(sleeps(50, true), "100 ms"),
              "slept 100 ms in 50 sleeps of about 2.00 ms");
}

TEST(SleepWords, WhoPolledIsSaidUnlessItIsKnownForWhat) {
    const std::string each = ", each time until its timer expired";
    const std::string polled =
        each +
        "; it hardly computed in between, so it probably polled; what it waited for is "
        "unknown";
    EXPECT_EQ(expired_words(sleeps(1, true)), ", until its timer expired");
    EXPECT_EQ(expired_words(sleeps(2)), each);
    ThreadDoing doing = sleeps(2, true);
    EXPECT_EQ(expired_words(doing), polled);
    doing.likely = true;
    EXPECT_EQ(expired_words(doing), each);
    doing.likely = false;
    doing.refusals = 1;
    EXPECT_EQ(expired_words(doing), each);
    doing.refusals = 0;
    doing.files.path = "/srv/data";
    EXPECT_EQ(expired_words(doing), each);
}

TEST(SleepWords, RetriesOutlastTheLockThatTheyWereRefused) {
    EXPECT_TRUE(retries(refused_sleeps()));
    const auto unless = [](const auto& change) {
        ThreadDoing doing = refused_sleeps();
        change(doing);
        return retries(doing);
    };
    EXPECT_TRUE(unless([](ThreadDoing& doing) { doing.wait = WaitKind::DatabaseLock; }));
    EXPECT_FALSE(unless([](ThreadDoing& doing) { doing.wait = WaitKind::Events; }));
    EXPECT_FALSE(unless([](ThreadDoing& doing) { doing.outlasts = false; }));
    EXPECT_FALSE(unless([](ThreadDoing& doing) { doing.timed_out = false; }));
    EXPECT_FALSE(unless([](ThreadDoing& doing) { doing.likely = true; }));
    EXPECT_FALSE(unless([](ThreadDoing& doing) { doing.files.kind = WaitFileKind::OfCall; }));
    EXPECT_FALSE(unless([](ThreadDoing& doing) { doing.files.time_ns -= 1; }));
}

TEST(SleepWords, RetriesAreTold) {
    EXPECT_EQ(retry_words(sleeps(2)), expired_words(sleeps(2)));
    ThreadDoing doing = sleeps(2);
    doing.wait = WaitKind::DatabaseLock;
    EXPECT_EQ(retry_words(doing), ", trying again each time");
    doing.count = 1;
    EXPECT_EQ(retry_words(doing), ", until it timed out");
}

}  // namespace
}  // namespace lagtrap::analysis::sleep_words_test
