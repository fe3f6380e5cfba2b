// What becomes of the calls of a thread: nodes of its tree, and whether the tree is reported.
#include "tests/unit/bpf_calls/call_trees.hpp"

namespace lagtrap::native::call_trees_test {

namespace {

using Numbers = std::vector<std::uint32_t>;

TEST_F(CallTrees, have_the_calls_below_a_target_with_their_times) {
    begin(serve, top);
    EXPECT_EQ(open_trees, 1U);
    EXPECT_EQ(shown(), "open, thread 101 worker-101, ended 0\n5 in none: 0-0 left\n");
    pass(10 * us);
    begin(parse, top - 0x40);
    pass(5 * us);
    block(20 * us, 3 * us);
    pass(2 * us);
    begin(send, top - 0x80);
    pass(1 * us);
    end(send, top - 0x80);
    end(parse, top - 0x40);
    pass(4 * us);
    begin(send, top - 0x40);
    block(7 * us, 0);
    end(send, top - 0x40);
    pass(1 * us);
    EXPECT_TRUE(sent().empty());
    end(serve, top);
    EXPECT_EQ(shown(),
              "done, thread 101 worker-101, ended 53\n"
              "5 in none: 0-53 returned, on CPU 0-23, runnable 0-3\n"
              "6 in 0: 10-41 returned, on CPU 10-18, runnable 0-3\n"
              "7 in 1: 40-41 returned, on CPU 17-18, runnable 3-3\n"
              "7 in 0: 45-52 returned, on CPU 22-22, runnable 3-3\n");
    EXPECT_EQ(node(0).stack_pointer, top);
    EXPECT_EQ(node(2).stack_pointer, top - 0x80);
    EXPECT_EQ(sent(), Numbers{0});
    EXPECT_EQ(open_trees, 0U);
    EXPECT_EQ(tree().goroutine, 0U);
    EXPECT_EQ(totals().trees, 1U);
    EXPECT_EQ(totals().short_trees + totals().no_room + totals().lost, 0U);
    EXPECT_EQ(count(serve).hits, 1U);
    EXPECT_EQ(count(parse).hits, 1U);
    EXPECT_EQ(count(send).hits, 2U);
    // The next one counts anew, in the place of another that user space has read.
    tree(0).state = LAGTRAP_TREE_FREE;
    tree(0).goroutine = 17;
    begin(serve, top);
    EXPECT_EQ(shown(), "open, thread 101 worker-101, ended 0\n5 in none: 53-0 left\n");
    EXPECT_EQ(tree().goroutine, 0U);
    end(serve, top);
    EXPECT_EQ(shown(),
              "done, thread 101 worker-101, ended 53\n"
              "5 in none: 53-53 returned, on CPU 0-0, runnable 0-0\n");
}

TEST_F(CallTrees, that_are_shorter_than_the_minimum_are_not_reported) {
    totals().limits.min_ns = 10 * us;
    begin(serve, top);
    pass(10 * us - 1);
    end(serve, top);
    EXPECT_EQ(tree().state, LAGTRAP_TREE_FREE);
    EXPECT_TRUE(sent().empty());
    begin(serve, top);
    pass(10 * us);
    end(serve, top);
    EXPECT_EQ(tree().state, LAGTRAP_TREE_DONE);
    EXPECT_EQ(sent(), Numbers{0});
    EXPECT_EQ(totals().trees, 2U);
    EXPECT_EQ(totals().short_trees, 1U);
}

TEST_F(CallTrees, whose_number_cannot_be_sent_are_lost) {
    begin(serve, top);
    kernel_.map(call_maps.records).room_bytes = 0;
    end(serve, top);
    EXPECT_EQ(tree().state, LAGTRAP_TREE_FREE);
    EXPECT_EQ(totals().lost, 1U);
    EXPECT_EQ(totals().trees, 1U);
    EXPECT_EQ(totals().short_trees, 0U);
}

TEST_F(CallTrees, are_not_reused_until_user_space_frees_them) {
    begin(serve, top);
    end(serve, top);
    begin(serve, top);
    end(serve, top);
    EXPECT_EQ(sent(), (Numbers{0, 1}));
    tree(1).state = LAGTRAP_TREE_FREE;
    begin(serve, top);
    pass(us);
    begin(parse, top - 0x40);
    EXPECT_EQ(shown(1),
              "open, thread 101 worker-101, ended 0\n"
              "5 in none: 0-0 left\n"
              "6 in 0: 1-0 left\n");
}

TEST_F(CallTrees, are_missing_while_none_is_free) {
    for (std::uint32_t number = 0; number < LAGTRAP_CALL_TREES; ++number)
        tree(number).state = LAGTRAP_TREE_DONE;
    begin(serve, top);
    begin(parse, top - 0x40);
    end(parse, top - 0x40);
    end(serve, top);
    EXPECT_EQ(totals().no_room, 1U);
    EXPECT_EQ(totals().trees, 0U);
    EXPECT_EQ(open_trees, 0U);
    tree(20).state = LAGTRAP_TREE_FREE;
    begin(serve, top);
    EXPECT_EQ(tree(20).state, LAGTRAP_TREE_OPEN);
    end(serve, top);
    tree(3).state = tree(20).state = LAGTRAP_TREE_FREE;
    begin(serve, top);
    EXPECT_EQ(tree(20).state, LAGTRAP_TREE_OPEN) << "its previous one is first";
    end(serve, top);
    begin(serve, top);
    EXPECT_EQ(tree(3).state, LAGTRAP_TREE_OPEN);
}

TEST_F(CallTrees, of_several_threads_are_separate) {
    begin(serve, top);
    select(thread(102));
    begin(parse, top - 0x1000);  // outside a tree of its own
    begin(serve, top - 0x1000);
    pass(us);
    begin(send, top - 0x1040);
    end(send, top - 0x1040);
    end(serve, top - 0x1000);
    select(thread(101));
    begin(parse, top - 0x40);
    EXPECT_EQ(shown(0),
              "open, thread 101 worker-101, ended 0\n"
              "5 in none: 0-0 left\n6 in 0: 1-0 left\n");
    EXPECT_EQ(shown(1),
              "done, thread 102 worker-102, ended 1\n"
              "5 in none: 0-1 returned, on CPU 0-1, runnable 0-0\n"
              "7 in 0: 1-1 returned, on CPU 1-1, runnable 0-0\n");
    EXPECT_EQ(open_trees, 1U);
}

TEST_F(CallTrees, of_the_second_thread_lose_calls_that_were_left_too) {
    begin(serve, top);
    begin(send, top - 0x40);
    select(thread(102));
    begin(serve, top - 0x1000);
    begin(parse, top - 0x1040);
    pass(us);
    begin(send, top - 0x1030);
    begin(parse, top - 0x1080);
    pass(us);
    end(send, top - 0x1030);
    begin(parse, top - 0x1040);
    end(serve, top - 0x1000);
    EXPECT_EQ(shown(1),
              "done, thread 102 worker-102, ended 2\n"
              "5 in none: 0-2 returned, on CPU 0-2, runnable 0-0\n"
              "6 in 0: 0-0 left\n"
              "7 in 0: 1-2 returned, on CPU 1-2, runnable 0-0\n"
              "6 in 2: 1-0 left\n"
              "6 in 0: 2-0 left\n");
    EXPECT_EQ(shown(0),
              "open, thread 101 worker-101, ended 0\n"
              "5 in none: 0-0 left\n7 in 0: 0-0 left\n");
}

TEST_F(CallTrees, have_another_function_at_the_same_place_while_probes_are_linked_again) {
    totals().limits.relinking_until_ns = kernel_.now_ns + us;
    begin(serve, top);
    begin(parse, top - 0x40);
    begin(parse, top - 0x40);
    EXPECT_EQ(tree().nodes, 2U);
    begin(send, top - 0x40);
    EXPECT_EQ(shown(),
              "open, thread 101 worker-101, ended 0\n"
              "5 in none: 0-0 left\n6 in 0: 0-0 tail\n7 in 0: 0-0 left\n");
}

TEST_F(CallTrees, count_what_does_not_fit) {
    count(send).inside_ns = 30;
    begin(serve, top);
    begin(parse, top - 0x40);
    for (int i = 2; i < LAGTRAP_CALL_NODES; ++i) {
        begin(send, top - 0x80);
        end(send, top - 0x80);
    }
    EXPECT_EQ(tree().nodes, LAGTRAP_CALL_NODES);
    EXPECT_EQ(node(1).left_out, 0U);
    for (int i = 0; i < 3; ++i) {
        begin(send, top - 0x80);
        end(send, top - 0x80);
    }
    EXPECT_EQ(tree().nodes, LAGTRAP_CALL_NODES);
    EXPECT_EQ(node(1).left_out, 3U);
    EXPECT_EQ(node(1).left_out_cost_ns, 90U);
    EXPECT_EQ(node(0).left_out, 0U);
    end(parse, top - 0x40);
    end(serve, top);
    EXPECT_EQ(sent(), Numbers{0});
    // The next tree in the same place begins anew.
    tree().state = LAGTRAP_TREE_FREE;
    begin(serve, top);
    begin(parse, top - 0x40);
    EXPECT_EQ(node(1).left_out, 0U);
    EXPECT_EQ(node(1).left_out_cost_ns, 0U);
}

TEST_F(CallTrees, do_not_count_functions_that_are_being_detached) {
    begin(serve, top);
    count(parse).detached = 1;
    begin(parse, top - 0x40);
    EXPECT_EQ(count(parse).hits, 1U);
    EXPECT_EQ(tree().nodes, 1U);
    end(serve, top);
    count(serve).detached = 1;
    begin(serve, top);
    EXPECT_EQ(count(serve).hits, 2U);
    EXPECT_EQ(open_trees, 0U);
}

TEST_F(CallTrees, are_only_of_the_traced_process) {
    select(thread(201));
    begin(serve, top);
    EXPECT_EQ(count(serve).hits, 0U);
    EXPECT_EQ(open_trees, 0U);
    select(thread(101));
    begin(serve, top);
    kernel_.current = &thread(201).seen;
    thread(101).task.tgid = 200;
    end(serve, top);
    EXPECT_EQ(open_trees, 1U);
}

TEST_F(CallTrees, of_an_owner_end_when_the_process_gets_more_rights) {
    native_set_owner(true, 1000);
    kernel::cred& cred = thread(101).cred;
    const auto is_counted = [&] {
        const std::uint64_t before = count(parse).hits;
        begin(parse, top);
        return count(parse).hits > before;
    };
    EXPECT_FALSE(is_counted());
    cred.uid.val = cred.euid.val = cred.suid.val = 1000;
    EXPECT_TRUE(is_counted());
    for (kernel::kuid_t* of : {&cred.uid, &cred.euid, &cred.suid}) {
        of->val = 0;
        EXPECT_FALSE(is_counted());
        of->val = 1000;
    }
    std::memset(&cred.cap_permitted, 1, sizeof(cred.cap_permitted));
    EXPECT_FALSE(is_counted());
    native_set_owner(false, 0);
    EXPECT_TRUE(is_counted());
}

TEST_F(CallTrees, end_with_their_thread) {
    for (const bool by_exec : {false, true}) {
        begin(serve, top);
        pass(us);
        begin(parse, top - 0x40);
        pass(us);
        (by_exec ? native_exec_of_thread : native_exit_of_thread)(&thread(101).task);
        EXPECT_EQ(open_trees, 0U);
    }
    EXPECT_EQ(shown(0),
              "done, thread 101 worker-101, ended 2\n"
              "5 in none: 0-0 thread end\n6 in 0: 1-0 left\n");
    EXPECT_EQ(shown(1),
              "done, thread 101 worker-101, ended 4\n"
              "5 in none: 2-0 thread end\n6 in 0: 3-0 left\n");
    EXPECT_EQ(sent(), (Numbers{0, 1}));
    native_exit_of_thread(&thread(101).task);
    EXPECT_EQ(totals().trees, 2U) << "it had no tree any more";
}

}  // namespace

}  // namespace lagtrap::native::call_trees_test
