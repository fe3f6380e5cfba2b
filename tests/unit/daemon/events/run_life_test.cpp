#include "daemon/events/run_life.hpp"

#include <unistd.h>

#include <vector>

#include <gtest/gtest.h>

#include "core/clock.hpp"

namespace lagtrap::daemon::run_life_test {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000, hour_ns = 3'600 * second_ns;
constexpr std::uint32_t nobody = 0x7fffffff;  // no process has this number
enum : std::uint32_t { by_thread, by_value, by_machine, wait_for_cpu, unknown };

std::vector<settings::Event> some_events() {
    std::vector<settings::Event> events(4);
    events[by_value].key = events[by_machine].key = settings::KeyKind::Argument;
    events[by_machine].key_scope = settings::KeyScope::Machine;
    events[wait_for_cpu].begin.kind = settings::MarkerKind::RunQueue;
    return events;
}

// A run of this thread that begins now.
struct Begun {
    explicit Begun(std::uint32_t event = by_thread) {
        slot.run.event = event;
        slot.run.begin_pid = slot.run.begin_tid = static_cast<std::uint32_t>(::getpid());
        slot.run.begin_ns = slot.run.begin_hit_ns = now_ns;
    }
    [[nodiscard]] bool can_end(std::uint64_t age_ns = 0) const {
        return daemon::can_end(slot.run, events, -1, now_ns + age_ns);
    }
    [[nodiscard]] bool outlived_after(std::uint64_t age_ns) const {
        return outlived(slot.run, slot, now_ns + age_ns, events);
    }
    std::uint64_t now_ns = monotonic_ns();
    std::vector<settings::Event> events = some_events();
    lagtrap_slot slot{};
};

TEST(IsStale, AfterAMinuteAndTwentyThresholds) {
    lagtrap_slot slot{};
    slot.run.begin_hit_ns = 1'000;
    slot.deadline_ns = 1'000 + second_ns;
    EXPECT_FALSE(is_stale(slot, 1'000 + 60 * second_ns));
    EXPECT_TRUE(is_stale(slot, 1'001 + 60 * second_ns));
    slot.deadline_ns = 1'000 + 10 * second_ns;
    EXPECT_FALSE(is_stale(slot, 1'000 + 200 * second_ns));
    EXPECT_TRUE(is_stale(slot, 1'001 + 200 * second_ns));
    slot.deadline_ns = 0;
    EXPECT_FALSE(is_stale(slot, 1'000 * hour_ns)) << "it is ending";
    slot.deadline_ns = 999;
    EXPECT_FALSE(is_stale(slot, 1'000 * hour_ns)) << "begun anew while it was read";
}

TEST(CanEnd, IfWhatIdentifiesTheRunIsAlive) {
    Begun of_thread;
    EXPECT_TRUE(of_thread.can_end());
    of_thread.slot.run.begin_tid = nobody;
    EXPECT_FALSE(of_thread.can_end());
    of_thread.slot.run.event = unknown;
    EXPECT_FALSE(of_thread.can_end());
    of_thread.slot.run.flags = LAGTRAP_RUN_OF_GOROUTINE;
    EXPECT_TRUE(of_thread.can_end()) << "goroutines change threads";
    Begun of_value(by_value);
    of_value.slot.run.begin_tid = nobody;
    EXPECT_TRUE(of_value.can_end());
    of_value.slot.run.begin_pid = nobody;
    EXPECT_FALSE(of_value.can_end());
    of_value.slot.run.event = by_machine;
    EXPECT_TRUE(of_value.can_end()) << "another process may end it";
}

// The kernel removes threads from /proc before they leave their CPU.
TEST(CanEnd, WaitsOfThreadsThatEndForAWhile) {
    Begun wait(wait_for_cpu);
    wait.slot.run.begin_tid = nobody;
    EXPECT_TRUE(wait.can_end());
    EXPECT_TRUE(wait.can_end(9 * second_ns));
    EXPECT_FALSE(wait.can_end(10 * second_ns));
    wait.slot.run.event = by_thread;
    EXPECT_FALSE(wait.can_end());
}

TEST(CanEnd, NotInAProcessThatGotTheNumberLater) {
    Begun run;
    run.slot.run.begin_hit_ns = 1;
    EXPECT_FALSE(run.can_end());
    run.slot.run.event = by_value;
    EXPECT_FALSE(run.can_end());
}

TEST(Outlived, OnlyWithAMachineWideKey) {
    for (const std::uint32_t event : {by_thread, by_value, unknown}) {
        Begun run(event);
        run.slot.deadline_ns = run.now_ns + 1;
        run.slot.run.begin_pid = nobody;
        EXPECT_FALSE(run.outlived_after(1'000 * hour_ns)) << event;
    }
}

TEST(Outlived, AfterAnHourAndAThousandThresholds) {
    Begun run(by_machine);
    run.slot.deadline_ns = run.now_ns + second_ns;
    EXPECT_FALSE(run.outlived_after(hour_ns));
    EXPECT_TRUE(run.outlived_after(hour_ns + 1));
    run.slot.deadline_ns = run.now_ns + 10 * second_ns;
    EXPECT_FALSE(run.outlived_after(10'000 * second_ns));
    EXPECT_TRUE(run.outlived_after(10'000 * second_ns + 1));
}

TEST(Outlived, AtOnceWithoutItsProcess) {
    Begun run(by_machine);
    run.slot.deadline_ns = run.now_ns + second_ns;
    EXPECT_FALSE(run.outlived_after(1));
    run.slot.run.begin_pid = nobody;
    EXPECT_TRUE(run.outlived_after(1));
}

// This thread is in the call whose return address is `word`.
class CallsOfThisThread : public testing::Test {
  protected:
    CallsOfThisThread() {
        event_.begin.kind = event_.end.kind = settings::MarkerKind::Function;
        event_.begin.name = event_.end.name = "work";
        event_.end.side = settings::FunctionSide::Return;
        run_.slot.stack_pointer = reinterpret_cast<std::uint64_t>(&word_);
        run_.slot.return_address = word_;
    }
    [[nodiscard]] FrameState frame() const {
        return frame_of(run_.slot.run, run_.slot, event_, frames_);
    }
    [[nodiscard]] bool was_left() const { return has_left_call(run_.slot.run, run_.slot, frames_); }

    std::uint64_t word_ = 4242;
    Begun run_;
    settings::Event event_;
    CallFrames frames_{std::chrono::minutes(1)};
};

TEST_F(CallsOfThisThread, AreLeftOnceAnotherWordIsInTheirPlace) {
    EXPECT_EQ(frame(), FrameState::Alive);
    EXPECT_FALSE(was_left());
    run_.slot.return_address = word_ + 1;
    EXPECT_EQ(frame(), FrameState::Gone);
    EXPECT_TRUE(was_left());
    run_.slot.return_address = 0;
    EXPECT_FALSE(was_left()) << "it is not known";
}

TEST_F(CallsOfThisThread, AreJudgedForEventsOfCallsAlone) {
    run_.slot.return_address = word_ + 1;
    run_.slot.goroutine = 1;
    EXPECT_EQ(frame(), FrameState::Alive) << "a thread of Go without a goroutine";
    run_.slot.goroutine = 0;
    event_.end.name = "other";
    EXPECT_EQ(frame(), FrameState::Alive);
}

TEST_F(CallsOfThisThread, GoroutinesEndAfterTheirThresholdOnly) {
    run_.slot.deadline_ns = 1'000;
    EXPECT_FALSE(goroutine_ended(run_.slot.run, run_.slot, 2'000)) << "it is none";
    run_.slot.run.flags = LAGTRAP_RUN_OF_GOROUTINE;
    EXPECT_TRUE(is_of_goroutine(run_.slot.run));
    // The structure of a goroutine with another number.
    std::uint64_t structure[40] = {};
    run_.slot.goroutine = reinterpret_cast<std::uint64_t>(structure);
    run_.slot.run.key = 34;
    run_.slot.goid_offset = 152;
    run_.slot.go_frame_offset = 104;
    structure[152 / 8] = 34;
    structure[152 / 8 - 1] = 2;
    EXPECT_EQ(goroutine_state(run_.slot.run, run_.slot), FrameState::Alive);
    EXPECT_FALSE(goroutine_ended(run_.slot.run, run_.slot, 2'000));
    structure[152 / 8] = 35;
    EXPECT_EQ(goroutine_state(run_.slot.run, run_.slot), FrameState::Gone);
    EXPECT_TRUE(goroutine_ended(run_.slot.run, run_.slot, 1'001));
    EXPECT_FALSE(goroutine_ended(run_.slot.run, run_.slot, 1'000));
    EXPECT_EQ(frame(), FrameState::Gone);
}

}  // namespace
}  // namespace lagtrap::daemon::run_life_test
