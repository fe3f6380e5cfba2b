// Calls identified by their frames, whichever thread runs them: fibers and recursion.
#include "bpf/run_tag.h"
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

class Frames : public EventMonitor {
  protected:
    Frames() { watch(); }
    void watch(std::uint32_t flags = 0) {
        add_event(0, LAGTRAP_EVENT_MATCH_STACK | LAGTRAP_EVENT_RECORD_RUNS | flags,
                  LAGTRAP_NESTING_EACH, Probe::frame);
    }
    void begin_at(std::uint64_t frame, std::uint32_t tid = 101) {
        begin(0, thread(tid), {.stack_pointer = frame});
    }
    void end_at(std::uint64_t frame, std::uint32_t tid = 101) {
        end(0, thread(tid), {.stack_pointer = frame});
    }
    std::vector<std::uint64_t> ended_ns() {
        std::vector<std::uint64_t> found;
        for (const auto& one : take_reports()) found.push_back(one.run.end_ns - one.run.begin_ns);
        return found;
    }
    using Ended = std::vector<std::uint64_t>;
};

TEST_F(Frames, fibers_that_take_turns_end_their_own_calls) {
    for (const std::uint64_t frame : {0x7000, 0x9000, 0x8000}) {
        begin_at(frame);
        pass(10);
    }
    for (const std::uint64_t frame : {0x7000, 0x9000, 0x8000}) end_at(frame);
    EXPECT_EQ(ended_ns(), (Ended{30, 20, 10}));
    EXPECT_EQ(counters(0).abandoned, 0);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 0);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(Frames, a_fiber_may_go_on_in_another_thread) {
    watch(LAGTRAP_EVENT_TIMES);
    begin_at(0x7000, 101);
    pass(10);
    end_at(0x7000, 102);
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].run.begin_tid, 101);
    EXPECT_EQ(reported[0].run.end_tid, 102);
    EXPECT_EQ(counters(0).untimed, 1)
        << "the time of a thread is not that of a fiber which left it";
}

TEST_F(Frames, processes_have_frames_of_their_own) {
    begin_at(0x7000, 101);
    pass(10);
    end_at(0x7000, 201);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 1);
    end_at(0x7000, 101);
    EXPECT_EQ(ended_ns(), (Ended{10}));
}

TEST_F(Frames, recursion_may_be_deeper_than_other_runs) {
    constexpr std::uint64_t depth = 2 * LAGTRAP_MAX_DEPTH;
    for (std::uint64_t i = 0; i < depth; ++i) begin_at(0x700000 - i * 0x100);
    for (std::uint64_t i = depth; i-- > 0;) end_at(0x700000 - i * 0x100);
    EXPECT_EQ(runs(0), depth);
    EXPECT_EQ(counters(0).too_deep, 0);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(Frames, a_call_that_was_left_is_noticed_when_another_has_its_frame) {
    kernel.user_words[0x6000] = 0x401234;
    for (const std::uint64_t frame : {0x7000, 0x6000}) begin_at(frame);
    pass(10);
    end_at(0x7000);
    EXPECT_EQ(ended_ns(), (Ended{10}));
    EXPECT_EQ(open_runs(), 1) << "it may be of another fiber";
    EXPECT_EQ(slot_of(lagtrap_run_tag(0x6000, 100, 0, 0))->return_address, 0x401234)
        << "the daemon will look at it";
    begin_at(0x6000, 102);
    EXPECT_EQ(counters(0).left, 1);
    pass(5);
    end_at(0x6000, 102);
    EXPECT_EQ(ended_ns(), (Ended{5}));
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_BEGIN), 0);
}

TEST_F(Frames, a_program_that_became_another_one_ends_no_call_of_the_former) {
    begin_at(0x7000);
    pass(200'000);
    exec(thread(101));
    end_at(0x7000);
    EXPECT_EQ(ended_ns(), (Ended{}));
    EXPECT_EQ(counters(0).abandoned, 1);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 1);
}

}  // namespace lagtrap::native
