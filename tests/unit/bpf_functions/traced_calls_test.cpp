// What is counted and sent of calls of functions in machine code.
#include "tests/unit/bpf_functions/traced_calls.hpp"

namespace lagtrap::native::traced_calls_test {

namespace {

TEST_F(TracedCalls, are_counted_and_sent_with_their_times) {
    function(serve).probes.inside_ns = 3;
    function(serve).probes.around_ns = 1000;
    function(parse).probes.inside_ns = 5;
    function(parse).probes.around_ns = 11;
    function(send).probes.inside_ns = 7;
    function(send).probes.around_ns = 13;
    begin(serve, top);
    pass(1000);
    begin(parse, top - 0x40);
    wait(300);
    pass(400);
    begin(send, top - 0x80);
    pass(50);
    end(send, top - 0x80);
    end(parse, top - 0x40);
    wait(2000);
    end(serve, top);
    EXPECT_EQ(sent(),
              "7: 1700-1750, probes 7, off CPU 0, 101 worker-101\n"
              "6: 1000-1750, probes 25, off CPU 300, 101 worker-101\n"
              "5: 0-3750, probes 39, off CPU 2300, 101 worker-101\n");
    EXPECT_EQ(counted(send), "1 hits, 1 calls, 0 left, own 43, longest 43 in 6 5");
    EXPECT_EQ(counted(parse), "1 hits, 1 calls, 0 left, own 682, longest 725 in 5");
    EXPECT_EQ(counted(serve), "1 hits, 1 calls, 0 left, own 2986, longest 3711 in");
    EXPECT_EQ(totals().sent, 3U);
    EXPECT_EQ(totals().not_sent + totals().too_deep, 0U);
    begin(serve, top);
    end(serve, top);
    EXPECT_EQ(sent(), "5: 3750-3750, probes 3, off CPU 0, 101 worker-101\n");
}

TEST_F(TracedCalls, that_are_short_are_only_counted) {
    totals().limits.min_ns = 100;
    function(parse).probes.inside_ns = 10;
    begin(parse, top);
    pass(109);
    end(parse, top);
    EXPECT_EQ(sent(), "");
    begin(parse, top);
    pass(110);
    end(parse, top);
    EXPECT_EQ(sent(), "6: 109-219, probes 10, off CPU 0, 101 worker-101\n");
    EXPECT_EQ(counted(parse), "2 hits, 2 calls, 0 left, own 199, longest 100 in");
    EXPECT_EQ(totals().sent, 1U);
    begin(parse, top);
    pass(109);
    end(parse, top);
    EXPECT_EQ(counted(parse), "3 hits, 3 calls, 0 left, own 298, longest 100 in");
}

TEST_F(TracedCalls, that_are_shorter_than_their_probes_take_no_time) {
    function(parse).probes.inside_ns = 10;
    begin(parse, top);
    pass(4);
    end(parse, top);
    EXPECT_EQ(counted(parse), "1 hits, 1 calls, 0 left, own 0, longest 0 in");
}

TEST_F(TracedCalls, are_not_sent_when_there_is_no_room) {
    kernel_.map(function_maps.records).room_bytes = 0;
    begin(parse, top);
    end(parse, top);
    EXPECT_EQ(totals().not_sent, 1U);
    EXPECT_EQ(totals().sent, 0U);
    EXPECT_EQ(function(parse).calls, 1U);
}

TEST_F(TracedCalls, keep_the_callers_of_the_longest) {
    for (std::uint32_t depth = 0; depth < 15; ++depth) begin(100 + depth, top - 0x40 * depth);
    pass(10);
    end(114, top - 0x40 * 14);
    EXPECT_EQ(counted(114),
              "1 hits, 1 calls, 0 left, own 10, longest 10 in 113 112 111 110 109 108 107 106 105 "
              "104 103 102");
    begin(parse, top - 0x40 * 14);
    begin(114, top - 0x40 * 15);
    pass(9);
    end(114, top - 0x40 * 15);
    EXPECT_EQ(function(114).path[0], 113U) << "the longest is another";
    end(100, top);
    begin(parse, top);
    begin(114, top - 0x40);
    pass(11);
    end(114, top - 0x40);
    EXPECT_EQ(counted(114), "3 hits, 3 calls, 0 left, own 30, longest 11 in 6");
}

TEST_F(TracedCalls, that_nest_too_deeply_are_not_tracked) {
    for (std::uint32_t depth = 0; depth < LAGTRAP_TRACED_DEPTH; ++depth)
        begin(serve, top - 0x40 * depth);
    EXPECT_EQ(totals().too_deep, 0U);
    const std::uint64_t deeper = top - 0x40 * LAGTRAP_TRACED_DEPTH;
    begin(parse, deeper);
    EXPECT_EQ(totals().too_deep, 1U);
    end(parse, deeper);
    EXPECT_EQ(function(parse).calls, 0U);
    EXPECT_EQ(function(parse).probes.hits, 1U);
    end(serve, top);
    EXPECT_EQ(function(serve).calls, LAGTRAP_TRACED_DEPTH);
    EXPECT_EQ(function(serve).left, LAGTRAP_TRACED_DEPTH - 1);
}

TEST_F(TracedCalls, are_only_of_the_traced_process) {
    select(thread(201));
    begin(parse, top);
    EXPECT_EQ(function(parse).probes.hits, 0U);
    select(thread(101));
    begin(parse, top);
    native_switch(&thread(201).task, &thread(202).task);
    thread(101).task.tgid = 200;
    end(parse, top);
    wait(10);
    thread(101).task.tgid = 100;
    pass(5);
    end(parse, top);
    EXPECT_EQ(sent(), "6: 0-15, probes 0, off CPU 0, 101 worker-101\n");
}

TEST_F(TracedCalls, of_a_detached_function_do_not_begin) {
    function(parse).probes.detached = 1;
    begin(parse, top);
    end(parse, top);
    EXPECT_EQ(counted(parse), "1 hits, 0 calls, 0 left, own 0, longest 0 in");
}

TEST_F(TracedCalls, that_were_left_end_with_what_is_further_out) {
    begin(serve, top);
    pass(10);
    begin(parse, top - 0x40);
    pass(10);
    begin(send, top - 0x80);
    pass(10);
    begin(send, top - 0x30);
    EXPECT_EQ(sent(),
              "7: 20-30, probes 0, off CPU 0, 101 worker-101, left\n"
              "6: 10-30, probes 0, off CPU 0, 101 worker-101, left\n");
    pass(5);
    end(serve, top);
    EXPECT_EQ(sent(),
              "7: 30-35, probes 0, off CPU 0, 101 worker-101, left\n"
              "5: 0-35, probes 0, off CPU 0, 101 worker-101\n");
    EXPECT_EQ(counted(send), "2 hits, 2 calls, 2 left, own 15, longest 10 in 6 5");
    EXPECT_EQ(counted(serve), "1 hits, 1 calls, 0 left, own 10, longest 35 in");
}

// When they ended is unknown, because their exits were not seen.
TEST_F(TracedCalls, of_a_detached_function_pass_what_they_called_to_their_caller) {
    function(send).probes.inside_ns = 7;
    function(send).probes.around_ns = 13;
    begin(serve, top);
    begin(parse, top - 0x40);
    begin(send, top - 0x80);
    pass(100);
    end(send, top - 0x80);
    function(parse).probes.detached = 1;
    pass(50);
    sent();
    end(serve, top);
    EXPECT_EQ(sent(), "5: 0-150, probes 20, off CPU 0, 101 worker-101\n");
    EXPECT_EQ(counted(parse), "1 hits, 0 calls, 0 left, own 0, longest 0 in");
    EXPECT_EQ(counted(serve), "1 hits, 1 calls, 0 left, own 37, longest 130 in");
    // One whose exit is still seen counts.
    function(serve).probes.detached = 0;
    begin(serve, top);
    function(serve).probes.detached = 1;
    end(serve, top);
    EXPECT_EQ(function(serve).calls, 2U);
}

TEST_F(TracedCalls, whose_place_another_took_are_left) {
    begin(serve, top);
    begin(parse, top - 0x40);
    pass(10);
    begin(send, top - 0x40);
    EXPECT_EQ(sent(), "6: 0-10, probes 0, off CPU 0, 101 worker-101, left\n");
    begin(send, top - 0x40);
    EXPECT_EQ(sent(), "7: 10-10, probes 0, off CPU 0, 101 worker-101, left\n");
}

TEST_F(TracedCalls, are_not_begun_twice_while_probes_are_linked_again) {
    totals().limits.relinking_until_ns = kernel_.now_ns + 1;
    begin(serve, top);
    begin(parse, top - 0x40);
    begin(parse, top - 0x40);
    begin(serve, top);
    EXPECT_EQ(sent(), "");
    pass(1);
    begin(parse, top - 0x40);
    EXPECT_EQ(sent(), "6: 0-1, probes 0, off CPU 0, 101 worker-101, left\n");
    totals().limits.relinking_until_ns = kernel_.now_ns + 1;
    begin(send, top - 0x40);
    EXPECT_EQ(sent(), "6: 1-1, probes 0, off CPU 0, 101 worker-101, left\n")
        << "another function at its place";
    begin(send, top - 0x30);
    EXPECT_EQ(sent(), "7: 1-1, probes 0, off CPU 0, 101 worker-101, left\n") << "another place";
}

TEST_F(TracedCalls, get_their_cpu_back_once) {
    begin(parse, top);
    wait(10);
    pass(5);
    native_switch(&thread(201).task, &thread(101).task);
    pass(5);
    end(parse, top);
    EXPECT_EQ(sent(), "6: 0-20, probes 0, off CPU 10, 101 worker-101\n");
}

TEST_F(TracedCalls, only_end_if_they_are_known) {
    begin(serve, top);
    begin(parse, top - 0x40);
    end(send, top - 0x40);  // another function
    end(parse, top - 0x48);
    end(send, top + 0x40);
    end(parse, top - 0x40, (1ULL + 4) << LAGTRAP_COOKIE_EXIT_SHIFT);  // jumps only if equal
    EXPECT_EQ(sent(), "");
    end(send, top - 0x40, LAGTRAP_COOKIE_EXIT_SHARED);
    EXPECT_EQ(sent(), "6: 0-0, probes 0, off CPU 0, 101 worker-101\n");
    begin(parse, top - 0x40);
    end(send, top, LAGTRAP_COOKIE_EXIT_SHARED);
    EXPECT_EQ(sent(),
              "6: 0-0, probes 0, off CPU 0, 101 worker-101, left\n"
              "5: 0-0, probes 0, off CPU 0, 101 worker-101\n");
}

TEST_F(TracedCalls, end_at_return_probes_after_their_return_address_is_gone) {
    begin(parse, top);
    kernel_.cookie = parse;
    registers_.rsp = top;
    on_call_return(&registers_);
    EXPECT_EQ(sent(), "");
    registers_.rsp = top + 8;
    kernel_.cookie = send;
    on_call_return(&registers_);
    EXPECT_EQ(sent(), "") << "a return probe is of one function";
    kernel_.cookie = parse;
    on_call_return(&registers_);
    EXPECT_EQ(sent(), "6: 0-0, probes 0, off CPU 0, 101 worker-101\n");
}

// A coroutine runs on a stack of its own, which may be above or below the thread's.
TEST_F(TracedCalls, go_on_on_other_stacks) {
    for (const std::uint64_t other : {top + 0x10000000, top - 0x10000000}) {
        kernel_.reset();
        native_set_target(100);
        select(thread(101));
        kernel::vm_area_struct stack{};
        stack.vm_start = other - 0x1000;
        stack.vm_end = other + 0x1000;
        begin(serve, top);
        begin(parse, top - 0x40);
        native_set_areas(&stack, nullptr);
        begin(send, other);
        EXPECT_EQ(sent(), "") << "the innermost call is its caller";
        begin(100, other + 0x20);  // further out on this stack
        EXPECT_EQ(function(send).left, 1U);
        EXPECT_EQ(function(parse).left, 0U);
        stack.vm_start = top - 0x1000;
        stack.vm_end = top + 0x1000;
        begin(send, top - 0x50);  // back, in the call that was open there
        EXPECT_EQ(function(100).left, 1U);
        EXPECT_EQ(function(parse).left, 0U);
        end(parse, top - 0x40);
        EXPECT_EQ(counted(parse), "1 hits, 1 calls, 0 left, own 0, longest 0 in");
        EXPECT_EQ(function(send).left, 2U);
    }
}

// An end on the thread's stack while a call on a coroutine's, further up in memory, is open.
TEST_F(TracedCalls, end_below_calls_on_other_stacks) {
    constexpr std::uint64_t coroutine = top + 0x10000000;
    kernel::vm_area_struct stack{}, other{};
    stack.vm_start = top - 0x1000;
    stack.vm_end = top + 0x1000;
    other.vm_start = coroutine - 0x1000;
    other.vm_end = coroutine + 0x1000;
    native_set_areas(&stack, &other);
    begin(serve, top);
    begin(send, coroutine);
    begin(parse, coroutine - 0x40);
    end(send, coroutine - 0x80);  // nothing that is open there can have been left
    EXPECT_EQ(function(parse).left, 0U);
    end(serve, top);
    EXPECT_EQ(function(serve).calls, 1U);
    EXPECT_EQ(function(send).left, 1U);
    EXPECT_EQ(function(parse).left, 1U);
    // A call further out on the same stack is not left by an end below it.
    begin(serve, top);
    begin(parse, top - 0x40);
    begin(send, top - 0x80);
    end(serve, top - 0xc0);
    EXPECT_EQ(function(serve).calls, 1U);
}

TEST_F(TracedCalls, of_threads_are_separate) {
    begin(serve, top);
    select(thread(102));
    begin(parse, top + 0x40);
    pass(5);
    end(parse, top + 0x40);
    select(thread(101));
    end(serve, top);
    EXPECT_EQ(sent(),
              "6: 0-5, probes 0, off CPU 0, 102 worker-102\n"
              "5: 0-5, probes 0, off CPU 0, 101 worker-101\n");
    EXPECT_EQ(counted(serve), "1 hits, 1 calls, 0 left, own 5, longest 5 in");
}

}  // namespace

}  // namespace lagtrap::native::traced_calls_test
