#include "daemon/events/goroutine_looks.hpp"

#include <future>
#include <string>

#include <gtest/gtest.h>

#include "core/clock.hpp"

namespace lagtrap::daemon::goroutine_looks_test {
namespace {

using Looks = GoroutineLooks;

// A program whose memory can be read when the test allows it.
class Memory : public DirectInspector {
  public:
    Result<std::string> read_memory(std::uint32_t, std::uint64_t, std::uint64_t bytes) override {
        may_answer.wait();
        std::string structure(bytes, '\0');
        structure[bytes - 8] = static_cast<char>(number.load());
        structure[bytes - 16] = static_cast<char>(status.load());
        return structure;
    }
    std::shared_future<void> may_answer;
    std::atomic<int> number{34};
    std::atomic<int> status{2};  // it is running
};

class GoroutineLooksTest : public testing::Test {
  protected:
    GoroutineLooksTest() { memory_.may_answer = let_.get_future().share(); }
    FrameState ask(Looks::Age age) {
        return looks_.state_of(frame_, 1, Looks::Asked::Call, age, monotonic_ns());
    }
    void await_answer() {
        std::promise<void> reported;
        bool is_reported = false;
        looks_.tell(this, [&] {
            if (!is_reported) reported.set_value();
            is_reported = true;
        });
        let_.set_value();
        reported.get_future().wait();
        looks_.stop_reporting(this);
    }

    Memory memory_;
    std::promise<void> let_;
    Looks looks_{memory_};
    const GoroutineFrame frame_{1, 4096, 34, 152, 104, 0};
};

TEST_F(GoroutineLooksTest, NobodyWaitsForAMemoryThatDoesNotAnswer) {
    EXPECT_EQ(ask(Looks::Age::Fresh), FrameState::Unknown);
    EXPECT_EQ(ask(Looks::Age::Any), FrameState::Unknown);
    await_answer();
    EXPECT_EQ(ask(Looks::Age::Any), FrameState::Alive);
}

TEST_F(GoroutineLooksTest, WhoActsOnAnAnswerHasANewOne) {
    (void)ask(Looks::Age::Fresh);
    await_answer();
    const std::uint64_t later_ns = monotonic_ns() + 2 * Looks::fresh_ns;
    EXPECT_EQ(looks_.state_of(frame_, 1, Looks::Asked::Call, Looks::Age::Any, later_ns),
              FrameState::Alive);
    EXPECT_EQ(looks_.state_of(frame_, 1, Looks::Asked::Call, Looks::Age::Fresh, later_ns),
              FrameState::Unknown);
}

TEST_F(GoroutineLooksTest, WhatIsGoneStaysGoneForItsRunAlone) {
    memory_.number = 35;  // another goroutine has the structure
    (void)ask(Looks::Age::Fresh);
    await_answer();
    const std::uint64_t later_ns = monotonic_ns() + 2 * Looks::fresh_ns;
    EXPECT_EQ(looks_.state_of(frame_, 1, Looks::Asked::Call, Looks::Age::Fresh, later_ns),
              FrameState::Gone);
    EXPECT_EQ(looks_.state_of(frame_, 2, Looks::Asked::Call, Looks::Age::Fresh, later_ns),
              FrameState::Unknown);
}

TEST_F(GoroutineLooksTest, AGoroutineMayBeKnownBetterThanItsCall) {
    memory_.status = 4;  // it waits, and its stack makes no sense
    (void)ask(Looks::Age::Fresh);
    await_answer();
    const std::uint64_t now_ns = monotonic_ns();
    EXPECT_EQ(looks_.state_of(frame_, 1, Looks::Asked::Goroutine, Looks::Age::Any, now_ns),
              FrameState::Alive);
    EXPECT_EQ(looks_.state_of(frame_, 1, Looks::Asked::Call, Looks::Age::Any, now_ns),
              FrameState::Unknown);
}

TEST_F(GoroutineLooksTest, AnAnswerIsFreshForATenthOfASecond) {
    (void)ask(Looks::Age::Fresh);
    const std::uint64_t before_ns = monotonic_ns();
    await_answer();
    const std::uint64_t after_ns = monotonic_ns();
    EXPECT_EQ(
        looks_.state_of(frame_, 1, Looks::Asked::Call, Looks::Age::Fresh, before_ns + 99'999'999),
        FrameState::Alive);
    EXPECT_EQ(
        looks_.state_of(frame_, 1, Looks::Asked::Call, Looks::Age::Fresh, after_ns + 100'000'000),
        FrameState::Unknown);
}

TEST(KnownState, WithoutAGoroutineACallIsAlive) {
    EXPECT_EQ(known_state({1, 4096, 0, 152, 104, 0}, 1, Looks::Asked::Call, Looks::Age::Fresh),
              FrameState::Alive);
}

}  // namespace
}  // namespace lagtrap::daemon::goroutine_looks_test
