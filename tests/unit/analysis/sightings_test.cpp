#include "analysis/sightings.hpp"

#include <gtest/gtest.h>

#include "analysis/interrupt_words.hpp"
#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::sightings_test {
namespace {

using Names = std::vector<std::string>;
constexpr Window window{20, 40};

struct Seen {
    test::MadeRecording made;

    explicit Seen(const std::vector<std::pair<std::uint64_t, Names>>& samples) {
        made.recording.begin_ns = 0;
        made.recording.end_ns = 100;
        Thread& thread = made.thread(10, 11);
        for (const auto& [at_ns, frames] : samples)
            thread.samples.push_back({at_ns, made.stack(frames), 0});
    }
    const Thread& thread() const { return made.recording.threads[0]; }
    std::string operation() const { return operation_of(made.recording, thread(), window); }
    Names names(const std::vector<FunctionKey>& path) const {
        Names texts;
        for (const FunctionKey& key : path) texts.push_back(made.recording.name(key.first));
        return texts;
    }
    Names outside() const { return names(callers_outside(made.recording, 11, window)); }
};

TEST(Sightings, AnOperationIsTheOutermostFunctionOfTheWindowOnly) {
    const Seen seen({{19, {"main", "loop", "idle"}},
                     {20, {"main", "loop", "work", "a"}},
                     {39, {"main", "loop", "work", "b"}},
                     {40, {"main", "loop", "rest"}}});
    EXPECT_EQ(seen.operation(), "work");
    EXPECT_EQ(seen.outside(), (Names{"main", "loop"}));
    EXPECT_EQ(sightings_of(seen.made.recording, seen.thread(), window).size(), 2U);
}

TEST(Sightings, WithoutAnythingSpecialOrKnownThereIsNoOperation) {
    EXPECT_EQ(Seen({{20, {"main", "work"}}}).operation(), "");
    EXPECT_TRUE(Seen({{20, {"main", "work"}}}).outside().empty());
    EXPECT_EQ(Seen({{10, {"main", "a"}}, {20, {"main"}}}).operation(), "");
    EXPECT_EQ(Seen({{10, {"main", "a"}}, {20, {"main", "b"}}, {30, {"main", "c"}}}).operation(),
              "");
    EXPECT_EQ(Seen({{10, {"main"}}, {20, {"main", "?:/opt/p.so"}}}).operation(), "");
    EXPECT_TRUE(callers_outside(Seen({}).made.recording, 12, window).empty());
}

TEST(Sightings, StacksWithoutFunctionsSayNothingOfTheCommonPath) {
    Seen seen({});
    const StackId a = seen.made.stack({"main", "loop", "a"});
    const StackId b = seen.made.stack({"main", "loop"});
    const StackId other = seen.made.stack({"!/opt/x.so!main", "loop"});
    const auto common = [&](const std::vector<ThreadSighting>& sightings) {
        return seen.names(common_path(seen.made.recording, sightings));
    };
    EXPECT_EQ(common({{1, 0}, {2, a}, {3, 0}}), (Names{"main", "loop", "a"}));
    EXPECT_EQ(common({{1, a}, {2, b}, {3, a}}), (Names{"main", "loop"}));
    EXPECT_EQ(common({{1, a}, {2, other}}), Names{});
    EXPECT_EQ(common({}), Names{});
}

TEST(Sightings, AreSamplesAndTheBeginsOfWaitsInOrderOfTime) {
    Seen seen({{25, {"main", "a"}}, {35, {"main", "b"}}});
    const StackId wait = seen.made.stack({"main", "wait", "k:futex_wait"});
    StateChange blocked, running;
    blocked.at_ns = 30;
    blocked.state = ThreadState::Blocked;
    blocked.stack = wait;
    running.at_ns = 33;
    running.state = ThreadState::Running;
    seen.made.recording.threads[0].changes = {blocked, running};
    const auto sightings = sightings_of(seen.made.recording, seen.thread(), window);
    ASSERT_EQ(sightings.size(), 3U);
    EXPECT_EQ(sightings[0].at_ns, 25U);
    EXPECT_EQ(sightings[1].at_ns, 30U);
    EXPECT_EQ(sightings[1].stack, wait);
    EXPECT_EQ(sightings[2].at_ns, 35U);
}

TEST(InterruptWords, NameWhatEndedAWait) {
    EXPECT_EQ(to_text(WakeCause::Timer), "a timer");
    EXPECT_EQ(to_text(WakeCause::Packet), "a packet from the network");
    EXPECT_EQ(to_text(WakeCause::Disk), "a disk");
    EXPECT_EQ(to_text(WakeCause::Device), "a device");
    EXPECT_EQ(to_text(WakeCause::Interrupt), "a timer or a device");
    EXPECT_EQ(to_text(Interruption::Killed), "killed it");
    EXPECT_EQ(to_text(Interruption::Resumed), "resumed it");
    EXPECT_EQ(to_text(Interruption::Thawed), "thawed it");
    EXPECT_EQ(to_text(Interruption::Signal), "sent it a signal");
}

}  // namespace
}  // namespace lagtrap::analysis::sightings_test
