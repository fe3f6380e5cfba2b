// Whether a goroutine is still in a call, judged by its structure and stack in this process's own
// memory.
#include "daemon/events/goroutine_frame.hpp"

#include <unistd.h>

#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "bpf/event_monitor.h"

namespace lagtrap::daemon::goroutine_frame_test {
namespace {

constexpr std::uint32_t number_offset = 152, frame_offset = 104;
constexpr std::uint32_t running = 2, in_system_call = 3, waiting = 4, dead = 6, copying_stack = 8;

class GoroutineFrameTest : public testing::Test {
  protected:
    GoroutineFrameTest() {
        put(8, address_of(stack_.size()));
        put(number_offset, 34);
        waits_in({60, 40, 20});
    }

    // The goroutine waits in calls whose return addresses are at these words of the stack,
    // outermost first. Below each return address is the caller's frame pointer.
    void waits_in(const std::vector<std::size_t>& calls) {
        std::uint64_t frame = 0;
        for (const std::size_t word : calls) {
            stack_[word - 1] = frame;
            frame = address_of(word - 1);
        }
        put(56, address_of(calls.back() - 5));
        put(frame_offset, frame);
        status(waiting);
    }
    void status(std::uint32_t value) { put(number_offset - 8, value); }
    void put(std::size_t offset, std::uint64_t value) { structure_[offset / 8] = value; }
    [[nodiscard]] std::uint64_t address_of(std::size_t word) const {
        return reinterpret_cast<std::uint64_t>(stack_.data() + word);
    }
    // The call whose return address is at this word.
    [[nodiscard]] GoroutineFrame call_at(std::size_t word) const {
        const std::uint64_t depth = (stack_.size() - word) * 8;
        return {static_cast<std::uint32_t>(::getpid()),
                reinterpret_cast<std::uint64_t>(structure_.data()),
                34,
                number_offset,
                frame_offset,
                LAGTRAP_GO_STACK_TOP - depth};
    }

    DirectInspector memory_;
    std::array<std::uint64_t, 32> structure_{};
    std::array<std::uint64_t, 64> stack_{};
};

TEST_F(GoroutineFrameTest, CallsOnItsStackAreAlive) {
    for (const std::size_t word : {60U, 40U, 20U})
        EXPECT_EQ(state_of_frame(call_at(word), memory_), FrameState::Alive) << word;
}

TEST_F(GoroutineFrameTest, ACallThatWasLeftIsGoneHoweverDeepTheNextIs) {
    waits_in({60, 38, 10});
    EXPECT_EQ(state_of_frame(call_at(40), memory_), FrameState::Gone);
    EXPECT_EQ(state_of_frame(call_at(20), memory_), FrameState::Gone);
    waits_in({60});
    EXPECT_EQ(state_of_frame(call_at(40), memory_), FrameState::Gone);
    EXPECT_EQ(state_of_frame(call_at(60), memory_), FrameState::Alive);
    EXPECT_EQ(state_of_goroutine(call_at(40), memory_), FrameState::Alive);
}

TEST_F(GoroutineFrameTest, AGoroutineThatEndedIsGone) {
    status(dead);
    EXPECT_EQ(state_of_goroutine(call_at(40), memory_), FrameState::Gone);
    waits_in({60, 40});
    put(number_offset, 35);  // another goroutine has its structure
    EXPECT_EQ(state_of_frame(call_at(40), memory_), FrameState::Gone);
}

TEST_F(GoroutineFrameTest, OneThatDoesNotShowWhereItIsIsBelieved) {
    waits_in({60, 38, 10});
    status(running);
    EXPECT_EQ(state_of_frame(call_at(40), memory_), FrameState::Alive);
    status(in_system_call);
    EXPECT_EQ(state_of_frame(call_at(40), memory_), FrameState::Alive);
    EXPECT_EQ(state_of_frame(call_at(4), memory_), FrameState::Gone);  // deeper than it is
    status(copying_stack);
    EXPECT_EQ(state_of_frame(call_at(40), memory_), FrameState::Unknown);
}

TEST_F(GoroutineFrameTest, WhatCannotBeReadIsUnknown) {
    GoroutineFrame frame = call_at(40);
    frame.goroutine = 8;
    EXPECT_EQ(state_of_frame(frame, memory_), FrameState::Unknown);
    frame = call_at(40);
    frame.stack_place = 0;
    EXPECT_EQ(state_of_frame(frame, memory_), FrameState::Unknown);
    frame = call_at(40);
    frame.number = 0;  // a thread's own stack
    EXPECT_EQ(state_of_frame(frame, memory_), FrameState::Alive);
}

TEST_F(GoroutineFrameTest, ItsStatusIsTheSameWhileTheCollectorScansIt) {
    constexpr std::uint32_t scanned = 0x1000;
    waits_in({60, 38});
    status(waiting | scanned);
    EXPECT_EQ(state_of_frame(call_at(40), memory_), FrameState::Gone);
    EXPECT_EQ(state_of_frame(call_at(60), memory_), FrameState::Alive);
    status(dead | scanned);
    EXPECT_EQ(state_of_frame(call_at(60), memory_), FrameState::Gone);
}

// The program can write anything there.
TEST_F(GoroutineFrameTest, FramesThatLeadNowhereEnd) {
    for (const std::uint64_t pointer :
         std::array<std::uint64_t, 6>{address_of(19), ~0ULL, ~0ULL - 7, address_of(39), 1, 0}) {
        stack_[19] = pointer;
        (void)state_of_frame(call_at(60), memory_);
        put(frame_offset, pointer);
        (void)state_of_frame(call_at(60), memory_);
        put(frame_offset, address_of(19));
    }
    stack_[19] = address_of(19);
    EXPECT_EQ(state_of_frame(call_at(60), memory_), FrameState::Gone);
    put(56, ~0ULL);
    EXPECT_EQ(state_of_frame(call_at(60), memory_), FrameState::Unknown);
}

}  // namespace
}  // namespace lagtrap::daemon::goroutine_frame_test
