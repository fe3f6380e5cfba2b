#include "analysis/wait_end_words.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_causes.hpp"

namespace lagtrap::analysis::wait_end_words_test {
namespace {

using namespace test::made_causes;

std::string end_of(const ThreadDoing& doing) { return end_clause(doing, worker, worker); }

TEST(WaitEndWords, OfTimeAndDevicesNameNobody) {
    const ThreadDoing waited = wait_for(WaitKind::Lock);
    EXPECT_EQ(end_of(with_end(waited, WaitEnd::Timeout)), ", until it timed out");
    EXPECT_EQ(end_of(with_end(waited, WaitEnd::Unknown)), "; what ended the wait is unknown");
    EXPECT_EQ(end_of(with_end(wait_for(WaitKind::Disk), WaitEnd::Unknown)), "");
    const std::string still = ", which was still going on when the recording ended";
    EXPECT_EQ(end_of(with_end(wait_for(WaitKind::Signal), WaitEnd::NotYet)), still);
    EXPECT_EQ(end_of(with_end(waited, WaitEnd::NotYet)), still + "; its holder is unknown");
}

TEST(WaitEndWords, OfThreadsNameTheOneThatEndedMost) {
    ThreadDoing waited = ended_by(wait_for(WaitKind::Signal), holder);
    EXPECT_EQ(end_of(waited), ", until holder (12) gave it");
    waited.waker_count = 3;
    EXPECT_EQ(end_of(waited), ", ended by 3 threads, most of it by holder (12) (100 %)");
}

TEST(WaitEndWords, OfWhatNobodyReleasesSayWhoHoldsIt) {
    ThreadDoing waited = ended_by(wait_for(WaitKind::Lock), holder);
    waited.outlasts = true;
    EXPECT_EQ(end_of(waited), ", which holder (12) holds");
    waited.wakers.front().who = worker;
    EXPECT_EQ(end_of(waited), ", which it holds itself (a deadlock)");
    EXPECT_EQ(end_clause(waited, holder, worker),
              ", which worker (11) holds: these threads wait for each other (a deadlock)");
}

TEST(WaitEndWords, OfAFollowedWaitSayWhatTheThreadHeld) {
    ThreadDoing waited = ended_by(wait_for(WaitKind::Lock), holder);
    const CauseLink link = link_of(holder, work_in("compact"));
    EXPECT_EQ(waker_clause(waited, link, worker), ", which holder (12) held");
    waited.turns = 2;
    EXPECT_EQ(waker_clause(waited, link, worker),
              ", which holder (12) held for 100 ms; 1 other thread got it before this one");
    waited = ended_by(wait_for(WaitKind::Signal), holder);
    EXPECT_EQ(waker_clause(waited, link, worker), ", until holder (12) gave it");
}

TEST(WaitEndWords, KnowWhoResumedWhatItStopped) {
    ThreadDoing waited = ended_by(wait_for(WaitKind::Stopped), other);
    EXPECT_FALSE(has_resumed_what_it_stopped(waited));
    waited.stopper = holder;
    EXPECT_FALSE(has_resumed_what_it_stopped(waited));
    waited.stopper = other;
    EXPECT_TRUE(has_resumed_what_it_stopped(waited));
}

}  // namespace
}  // namespace lagtrap::analysis::wait_end_words_test
