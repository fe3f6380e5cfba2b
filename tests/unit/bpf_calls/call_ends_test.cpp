// Which calls end when something begins or ends: returns, exceptions, and other stacks.
#include "tests/unit/bpf_calls/call_trees.hpp"

namespace lagtrap::native::call_ends_test {

namespace {

TEST_F(CallTrees, know_calls_that_were_left_for_an_end_further_out) {
    begin(serve, top);
    begin(parse, top - 0x40);
    begin(send, top - 0x80);
    pass(us);
    end(serve, top);
    EXPECT_EQ(shown(),
              "done, thread 101 worker-101, ended 1\n"
              "5 in none: 0-1 returned, on CPU 0-1, runnable 0-0\n"
              "6 in 0: 0-0 left\n"
              "7 in 1: 0-0 left\n");
}

TEST_F(CallTrees, know_calls_that_were_left_for_a_begin_further_out) {
    begin(serve, top);
    begin(parse, top - 0x40);
    begin(send, top - 0x80);
    pass(us);
    begin(send, top - 0x30);
    EXPECT_EQ(shown(),
              "open, thread 101 worker-101, ended 0\n"
              "5 in none: 0-0 left\n"
              "6 in 0: 0-0 left\n"
              "7 in 1: 0-0 left\n"
              "7 in 0: 1-0 left\n");
}

TEST_F(CallTrees, know_calls_whose_place_another_function_took) {
    begin(serve, top);
    begin(parse, top - 0x40);
    pass(us);
    begin(send, top - 0x40);
    pass(us);
    end(send, top - 0x40);
    begin(send, top - 0x40);  // the same function again: the first was left
    begin(send, top - 0x40);
    EXPECT_EQ(shown(),
              "open, thread 101 worker-101, ended 0\n"
              "5 in none: 0-0 left\n"
              "6 in 0: 0-0 tail\n"
              "7 in 0: 1-2 returned, on CPU 1-2, runnable 0-0\n"
              "7 in 0: 2-0 left\n"
              "7 in 0: 2-0 left\n");
}

TEST_F(CallTrees, ignore_begins_seen_twice_while_probes_are_linked_again) {
    totals().limits.relinking_until_ns = kernel_.now_ns + 1;
    begin(serve, top);
    begin(parse, top - 0x40);
    begin(parse, top - 0x40);
    EXPECT_EQ(tree().nodes, 2U);
    begin(serve, top);
    EXPECT_EQ(tree().innermost, 1U) << "the inner call stays open";
    pass(1);
    begin(parse, top - 0x40);
    EXPECT_EQ(tree().nodes, 3U) << "it counts again now";
}

TEST_F(CallTrees, end_when_something_begins_further_out_than_their_target) {
    begin(serve, top);
    pass(us);
    begin(parse, top + 0x40);
    EXPECT_EQ(shown(0), "done, thread 101 worker-101, ended 1\n5 in none: 0-0 left\n");
    EXPECT_EQ(open_trees, 0U);
    begin(serve, top);
    begin(serve, top + 0x40);
    EXPECT_EQ(tree(1).state, LAGTRAP_TREE_DONE);
    EXPECT_EQ(shown(2), "open, thread 101 worker-101, ended 0\n5 in none: 1-0 left\n");
    EXPECT_EQ(totals().trees, 2U);
}

TEST_F(CallTrees, go_on_in_calls_of_the_target_below_it) {
    begin(serve, top);
    begin(serve, top - 0x40);
    end(serve, top - 0x40);
    EXPECT_EQ(tree().state, LAGTRAP_TREE_OPEN);
    end(serve, top);
    EXPECT_EQ(tree().nodes, 2U);
    EXPECT_EQ(tree().state, LAGTRAP_TREE_DONE);
}

TEST_F(CallTrees, only_end_calls_that_are_known) {
    begin(serve, top);
    begin(parse, top - 0x40);
    end(send, top - 0x40);                                            // another function
    end(parse, top - 0x48);                                           // another place
    end(parse, top - 0x40, (1ULL + 4) << LAGTRAP_COOKIE_EXIT_SHIFT);  // jumps only if equal
    EXPECT_EQ(tree().innermost, 1U);
    registers_.eflags = 1 << 6;
    end(parse, top - 0x40, (1ULL + 4) << LAGTRAP_COOKIE_EXIT_SHIFT);
    EXPECT_EQ(tree().innermost, 0U);
}

TEST_F(CallTrees, may_have_exits_that_several_functions_share) {
    begin(serve, top);
    begin(parse, top - 0x40);
    end(send, top - 0x40, LAGTRAP_COOKIE_EXIT_SHARED);
    EXPECT_EQ(node(1).end, LAGTRAP_CALL_RETURNED);
    begin(parse, top - 0x40);
    begin(send, top - 0x80);
    end(serve, top - 0x40, LAGTRAP_COOKIE_EXIT_SHARED);
    EXPECT_EQ(node(2).end, LAGTRAP_CALL_RETURNED);
    EXPECT_EQ(node(3).end, LAGTRAP_CALL_OPEN);
    EXPECT_EQ(tree().innermost, 0U);
}

TEST_F(CallTrees, end_calls_at_return_probes_after_their_return_address_is_gone) {
    begin(serve, top);
    begin(parse, top - 0x40);
    kernel_.cookie = parse;
    registers_.rsp = top - 0x40;
    on_call_return(&registers_);
    EXPECT_EQ(node(1).end, LAGTRAP_CALL_OPEN);
    registers_.rsp = top - 0x38;
    on_call_return(&registers_);
    EXPECT_EQ(node(1).end, LAGTRAP_CALL_RETURNED);
    begin(send, top - 0x40);
    registers_.rsp = top - 0x38;
    kernel_.cookie = parse;
    on_call_return(&registers_);
    EXPECT_EQ(node(2).end, LAGTRAP_CALL_OPEN) << "a return probe is of one function";
}

// A coroutine runs on a stack of its own, which may be above or below the thread's.
TEST_F(CallTrees, go_on_on_other_stacks) {
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
        begin(parse, other - 0x40);
        EXPECT_EQ(node(2).parent, 1U);
        EXPECT_EQ(node(3).parent, 2U);
        begin(send, other + 0x20);  // further out on this stack, where nothing is open
        EXPECT_EQ(node(4).parent, 1U);
        stack.vm_start = top - 0x1000;
        stack.vm_end = top + 0x1000;
        begin(send, top - 0x50);  // back, in the call that was open there
        EXPECT_EQ(node(5).parent, 1U);
        begin(send, top - 0x30);
        EXPECT_EQ(node(6).parent, 0U);
        end(serve, top);
        EXPECT_EQ(tree().state, LAGTRAP_TREE_DONE);
    }
}

// Stacks may lie side by side.
TEST_F(CallTrees, do_not_take_the_next_stack_for_the_same) {
    constexpr std::uint64_t other = top + 0x10000000;
    kernel::vm_area_struct stack{};
    native_set_areas(&stack, nullptr);
    begin(serve, top);
    stack.vm_start = other - 0x1000;
    stack.vm_end = other + 0x1000;
    begin(parse, other);
    stack.vm_start = top - 0x100000;
    stack.vm_end = top;
    begin(send, top - 0x1000);
    EXPECT_EQ(node(2).parent, 1U);
}

TEST_F(CallTrees, have_calls_far_below_their_caller) {
    begin(serve, top);
    begin(parse, top - 0x100000);
    EXPECT_EQ(node(1).parent, 0U);
    end(parse, top - 0x100000);
    end(serve, top);
    EXPECT_EQ(tree().state, LAGTRAP_TREE_DONE);
}

}  // namespace

}  // namespace lagtrap::native::call_ends_test
