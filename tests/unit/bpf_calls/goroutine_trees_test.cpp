// Trees of a Go program belong to goroutines.
#include "tests/unit/bpf_calls/call_trees.hpp"

namespace lagtrap::native::goroutine_trees_test {

namespace {

using Numbers = std::vector<std::uint32_t>;

constexpr std::uint32_t number_offset = 160;
constexpr std::uint64_t first = 0xc000001000, second = 0xc000002000;

class GoroutineTrees : public CallTrees {
  protected:
    GoroutineTrees() {
        native_set_goid_offset(number_offset);
        put_goroutine(first, 17, 0xc000100000);
        put_goroutine(second, 18, 0xc000200000);
        registers_.r14 = first;
    }
    // Its stack has 8 KiB and ends there.
    void put_goroutine(std::uint64_t address, std::uint64_t number, std::uint64_t high) {
        kernel_.user_words[address] = high - 0x2000;
        kernel_.user_words[address + 8] = high;
        kernel_.user_words[address + number_offset] = number;
    }
    // `depth`: bytes below the end of the goroutine's stack.
    void go_begin(std::uint32_t function, std::uint64_t goroutine, std::uint64_t depth) {
        run(goroutine, depth);
        kernel_.cookie = function | (function == serve ? LAGTRAP_COOKIE_CALL_TARGET : 0);
        on_go_call(&registers_);
    }
    void go_end(std::uint32_t function, std::uint64_t goroutine, std::uint64_t depth,
                std::uint64_t flags = 0) {
        run(goroutine, depth);
        kernel_.cookie = function | flags;
        on_go_exit(&registers_);
    }
    void run(std::uint64_t goroutine, std::uint64_t depth) {
        registers_.r14 = goroutine;
        registers_.rsp = kernel_.user_words[goroutine + 8] - depth;
    }
    std::size_t known() { return kernel_.map(call_maps.goroutines).of_key.size(); }
};

TEST_F(GoroutineTrees, follow_their_goroutine_to_other_threads) {
    go_begin(serve, first, 0x100);
    pass(us);
    go_begin(serve, second, 0x100);
    select(thread(102));
    pass(us);
    go_begin(parse, first, 0x140);
    block(3 * us, us);
    put_goroutine(first, 17, 0xc000300000);  // its stack grew and moved
    go_end(parse, first, 0x140);
    pass(us);
    go_end(serve, first, 0x100);
    EXPECT_EQ(shown(),
              "done, thread 101 worker-101, ended 7\n"
              "5 in none: 0-7 returned, on CPU 0-7, runnable 0-0\n"
              "6 in 0: 2-6 returned, on CPU 2-6, runnable 0-0\n");
    EXPECT_EQ(tree().goroutine, 17U);
    EXPECT_EQ(tree().goroutine_address, first);
    EXPECT_EQ(node(0).stack_pointer, LAGTRAP_GO_STACK_TOP - 0x100);
    EXPECT_EQ(tree(1).state, LAGTRAP_TREE_OPEN);
    EXPECT_EQ(tree(1).goroutine, 18U);
    EXPECT_EQ(tree(1).goroutine_address, second);
    EXPECT_EQ(sent(), Numbers{0});
    EXPECT_EQ(known(), 1U) << "the goroutine without a tree is forgotten";
    EXPECT_EQ(count(serve).hits, 2U);
    EXPECT_EQ(count(parse).hits, 1U);
}

TEST_F(GoroutineTrees, are_found_without_the_register) {
    go_begin(serve, first, 0x100);
    native_set_thread_base(0x7f0000001000);
    kernel_.user_words[0x7f0000001000 - 8] = first;
    run(first, 0x140);
    registers_.r14 = second;  // a stack on which this does not run
    kernel_.cookie = parse;
    on_go_call(&registers_);
    EXPECT_EQ(tree().nodes, 2U);
    kernel_.user_words[0x7f0000001000 - 8] = second;
    run(first, 0x180);
    registers_.r14 = 0;
    kernel_.cookie = send;
    on_go_call(&registers_);
    EXPECT_EQ(tree().nodes, 2U) << "on a C stack";
    EXPECT_EQ(tree(1).state, LAGTRAP_TREE_FREE);
}

TEST_F(GoroutineTrees, need_a_stack_pointer_within_their_stack) {
    for (const std::uint64_t outside : {std::uint64_t{0}, std::uint64_t{0x2000}}) {
        go_begin(serve, first, outside);
        EXPECT_EQ(open_trees, 0U) << outside;
    }
    go_begin(serve, first, 0x1ff8);
    EXPECT_EQ(open_trees, 1U);
}

TEST_F(GoroutineTrees, are_not_of_a_threads_own_stack) {
    put_goroutine(first, 0, 0xc000100000);
    go_begin(serve, first, 0x100);
    EXPECT_EQ(open_trees, 0U);
    EXPECT_EQ(known(), 0U);
    EXPECT_EQ(count(serve).hits, 1U);
}

TEST_F(GoroutineTrees, are_only_begun_by_targets_of_the_process) {
    go_begin(serve, second, 0x100);
    go_begin(parse, first, 0x100);
    EXPECT_EQ(known(), 1U);
    count(serve).detached = 1;
    go_begin(serve, first, 0x100);
    EXPECT_EQ(known(), 1U);
    count(serve).detached = 0;
    select(thread(201));
    go_begin(serve, first, 0x100);
    go_end(serve, second, 0x100);
    EXPECT_EQ(known(), 1U);
    EXPECT_EQ(count(serve).hits, 2U);
    EXPECT_EQ(open_trees, 1U);
}

TEST_F(GoroutineTrees, are_missing_while_none_is_free) {
    for (std::uint32_t number = 0; number < LAGTRAP_CALL_TREES; ++number)
        tree(number).state = LAGTRAP_TREE_DONE;
    go_begin(serve, first, 0x100);
    EXPECT_EQ(totals().no_room, 1U);
    EXPECT_EQ(known(), 0U);
}

TEST_F(GoroutineTrees, are_missing_while_too_many_goroutines_have_one) {
    const lagtrap_call_totals none{};
    for (std::uint64_t number = 1; number <= std::uint64_t{2 * LAGTRAP_CALL_TREES}; ++number) {
        const std::uint64_t key = number << 32;
        const std::vector<std::byte> empty(kernel_.map(call_maps.goroutines).value_size);
        native_update(call_maps.goroutines, &key, empty.data());
    }
    go_begin(serve, first, 0x100);
    EXPECT_EQ(totals().no_room, none.no_room + 1);
    EXPECT_EQ(open_trees, 0U);
}

TEST_F(GoroutineTrees, may_have_exits_that_several_functions_share) {
    go_begin(serve, first, 0x100);
    go_begin(parse, first, 0x140);
    go_end(send, first, 0x140);
    EXPECT_EQ(node(1).end, LAGTRAP_CALL_OPEN);
    go_end(parse, first, 0x140, (1ULL + 4) << LAGTRAP_COOKIE_EXIT_SHIFT);
    EXPECT_EQ(node(1).end, LAGTRAP_CALL_OPEN) << "it jumps only if equal";
    go_end(send, first, 0x140, LAGTRAP_COOKIE_EXIT_SHARED);
    EXPECT_EQ(node(1).end, LAGTRAP_CALL_RETURNED);
}

TEST_F(GoroutineTrees, show_calls_far_from_each_other) {
    put_goroutine(first, 17, 0xc000400000);
    kernel_.user_words[first] = 0xc000100000;
    kernel::vm_area_struct other{};  // the memory of Go's heap says nothing about stacks
    other.vm_start = LAGTRAP_GO_STACK_TOP - 0x50000;
    other.vm_end = LAGTRAP_GO_STACK_TOP - 0x30000;
    native_set_areas(&other, nullptr);
    go_begin(serve, first, 0x100);
    go_begin(parse, first, 0x40000);
    EXPECT_EQ(node(1).parent, 0U);
    go_begin(send, first, 0x200);
    EXPECT_EQ(node(2).parent, 0U);
    go_begin(parse, first, 0x40000);
    go_begin(send, first, 0x40000);
    EXPECT_EQ(node(3).end, LAGTRAP_CALL_TAIL);
    go_end(serve, first, 0x100);
    go_begin(serve, first, 0x100);
    go_begin(parse, first, 0x60000);
    go_begin(send, first, 0x40000);  // the one before was left
    EXPECT_EQ(node(2, 1).parent, 0U);
}

// Calls through pointers.
class IndirectCalls : public GoroutineTrees {
  protected:
    static constexpr std::uint32_t site = 3;
    static constexpr std::uint64_t target = 0x401000;

    IndirectCalls() {
        auto& one = kernel_.at<lagtrap_indirect_site>(call_maps.indirect_sites, site);
        one.target.place = LAGTRAP_ARGUMENT_REGISTER;
        one.target.bytes = 8;
        one.target.base = 0;  // rax
        one.target.index = LAGTRAP_NO_REGISTER;
        one.function = parse;
        registers_.rax = target;
        totals().indirect_cost_ns = 40;
    }
    void hit(int (*program)(pt_regs*)) {
        kernel_.cookie = site;
        program(&registers_);
    }
    const lagtrap_seen* seen() {
        const std::uint64_t key = target;
        return static_cast<lagtrap_seen*>(
            kernel_.lookup(kernel_.map(call_maps.seen_targets), &key));
    }
};

TEST_F(IndirectCalls, of_trees_show_their_targets) {
    hit(on_indirect_call);
    EXPECT_EQ(seen(), nullptr) << "no tree is open";
    begin(serve, top);
    begin(send, top - 0x40);
    hit(on_indirect_call);
    ASSERT_NE(seen(), nullptr);
    EXPECT_EQ(seen()->function, parse);
    EXPECT_EQ(seen()->hits, 1U);
    kernel_.at<lagtrap_indirect_site>(call_maps.indirect_sites, site).function = send;
    hit(on_indirect_call);
    EXPECT_EQ(seen()->hits, 2U);
    EXPECT_EQ(seen()->function, parse) << "its first caller";
    EXPECT_EQ(node(1).left_out_cost_ns, 80U);
    EXPECT_EQ(node(1).left_out, 0U);
    EXPECT_EQ(node(0).left_out_cost_ns, 0U);
    EXPECT_EQ(totals().indirect_hits, 3U);
    select(thread(201));
    hit(on_indirect_call);
    EXPECT_EQ(totals().indirect_hits, 3U);
}

TEST_F(IndirectCalls, of_goroutines_show_their_targets) {
    run(first, 0x200);
    hit(on_go_indirect_call);
    EXPECT_EQ(totals().indirect_hits, 1U);
    go_begin(serve, first, 0x100);
    run(second, 0x200);
    hit(on_go_indirect_call);
    EXPECT_EQ(seen(), nullptr) << "this goroutine has no tree";
    run(first, 0x200);
    hit(on_go_indirect_call);
    ASSERT_NE(seen(), nullptr);
    EXPECT_EQ(seen()->hits, 1U);
    EXPECT_EQ(seen()->function, parse);
    EXPECT_EQ(node(0).left_out_cost_ns, 40U);
    EXPECT_EQ(totals().indirect_hits, 3U);
    select(thread(201));
    hit(on_go_indirect_call);
    EXPECT_EQ(totals().indirect_hits, 3U);
}

}  // namespace

}  // namespace lagtrap::native::goroutine_trees_test
