#include "daemon/capture/recording_length.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::recording_length_test {
namespace {

using namespace std::chrono_literals;
using State = AwaitedRun::State;
using trace::RecordingEnd;

const RecordingLength::Clock::time_point begin{100s};

RecordingLength::Limits limits(bool follows_run = true) {
    return {begin + 2s, begin + 30s, follows_run, 1'000};
}

TEST(RecordingLength, EndsAfterThePlannedLength) {
    RecordingLength length(limits(false));
    EXPECT_EQ(length.ends(), begin + 2s);
    EXPECT_FALSE(length.at(begin, 0, State::GoesOn));
    EXPECT_FALSE(length.at(begin + 2s - 1ns, 1'000, State::GoesOn));
    EXPECT_FALSE(length.is_look_due(begin + 2s))
        << "the run has ended, so nobody needs to look for it";
    EXPECT_EQ(length.at(begin + 2s, 1'000, State::GoesOn), RecordingEnd::Length);
}

TEST(RecordingLength, GoesOnWhileTheRunIsOpen) {
    RecordingLength length(limits());
    EXPECT_FALSE(length.is_look_due(begin + 2s - 1ns));
    EXPECT_TRUE(length.is_look_due(begin + 2s));
    EXPECT_FALSE(length.at(begin + 2s, 0, State::GoesOn));
    EXPECT_TRUE(length.extended());
    EXPECT_EQ(length.ends(), begin + 30s);
    EXPECT_FALSE(length.at(begin + 30s - 1ns, 0, State::GoesOn));
    EXPECT_EQ(length.at(begin + 30s, 0, State::GoesOn), RecordingEnd::Limit);
}

TEST(RecordingLength, EndsAsPlannedIfTheRunHasEndedByThen) {
    for (const State state : {State::Ended, State::Gone}) {
        RecordingLength length(limits());
        EXPECT_FALSE(length.at(begin + 1s, 0, state))
            << "what comes after the run is recorded, too";
        EXPECT_EQ(length.at(begin + 2s, 0, state), RecordingEnd::Length);
    }
}

TEST(RecordingLength, EndsWithTheRun) {
    RecordingLength ended(limits()), gone(limits());
    EXPECT_FALSE(ended.at(begin + 2s, 0, State::GoesOn));
    EXPECT_EQ(ended.at(begin + 3s, 0, State::Ended), RecordingEnd::RunEnd);
    EXPECT_FALSE(gone.at(begin + 2s, 0, State::GoesOn));
    EXPECT_EQ(gone.at(begin + 3s, 0, State::Gone), RecordingEnd::RunGone);
}

TEST(RecordingLength, LooksForTheRunOnceASecond) {
    RecordingLength length(limits());
    EXPECT_FALSE(length.at(begin + 2s, 0, State::GoesOn));
    EXPECT_FALSE(length.is_look_due(begin + 3s - 1ns));
    EXPECT_TRUE(length.is_look_due(begin + 3s));
    EXPECT_FALSE(length.at(begin + 2500ms, 0, State::GoesOn)) << "between two looks";
    EXPECT_TRUE(length.is_look_due(begin + 3s)) << "a record in between does not delay the look";
    EXPECT_FALSE(length.at(begin + 3s, 0, State::GoesOn));
    EXPECT_FALSE(length.is_look_due(begin + 4s - 1ns));
}

TEST(RecordingLength, EndsAtItsSizeLimitFirst) {
    RecordingLength length(limits());
    EXPECT_EQ(length.at(begin + 1s, 1'001, State::GoesOn), RecordingEnd::Size);
    EXPECT_EQ(length.at(begin + 2s, 1'001, State::Ended), RecordingEnd::Size);
}

TEST(RecordingLength, IsNotExtendedIfBothLengthsAreEqual) {
    RecordingLength length({begin + 2s, begin + 2s, true, 1'000});
    EXPECT_FALSE(length.is_look_due(begin + 2s));
    EXPECT_EQ(length.at(begin + 2s, 0, State::GoesOn), RecordingEnd::Length);
}

}  // namespace
}  // namespace lagtrap::daemon::recording_length_test
