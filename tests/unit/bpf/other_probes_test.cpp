// Hits of Go functions, of tracepoints, and of functions with parameters.
#include <algorithm>

#include "bpf/run_tag.h"
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native::other_probes_test {

namespace {

constexpr std::uint16_t begin_marker = LAGTRAP_PLACE_BEGIN, end_marker = LAGTRAP_PLACE_END;

class OtherProbes : public EventMonitor {
  protected:
    lagtrap_marker_config& marker(std::uint32_t place) {
        return kernel.at<lagtrap_marker_config>(native_maps.marker_configs, place);
    }
    // The slot of the only open run; of none, if there is another number of them.
    lagtrap_slot the_run() {
        lagtrap_slot none{};
        if (open_runs() != 1) return none;
        for (std::uint32_t index = 0; index < LAGTRAP_MIN_BUCKETS; ++index)
            for (const std::uint64_t tag : bucket(index).tags)
                if (tag != 0 && slot_of(tag) != nullptr) return *slot_of(tag);
        return none;
    }
};

class GoFunctions : public OtherProbes {
  protected:
    static constexpr std::uint64_t goroutine = 0xc000001000, high = 0xc000100000;
    static constexpr std::uint16_t number_offset = 160, frame_offset = 56;

    GoFunctions() {
        add_event(0, LAGTRAP_EVENT_KEY_GOROUTINE);
        for (const std::uint32_t place : {begin_marker, end_marker}) {
            marker(place).goid_offset = number_offset;
            marker(place).go_frame_offset = frame_offset;
        }
        kernel.user_words[goroutine] = high - 0x2000;
        kernel.user_words[goroutine + 8] = high;
        kernel.user_words[goroutine + number_offset] = 17;
    }
    void hit(std::uint64_t cookie, const native_thread& on) {
        kernel.current = &on;
        kernel.cookie = cookie;
        registers_.rsp = high - 0x100;
        registers_.rip = 0x400123;
        registers_.r14 = goroutine;
        on_go(&registers_);
    }
    pt_regs registers_{};
};

TEST_F(GoFunctions, belong_to_their_goroutine_on_any_thread) {
    hit(begin_marker, thread(101));
    const lagtrap_slot run = the_run();
    EXPECT_EQ(run.run.key, 17U);
    EXPECT_EQ(run.run.flags, LAGTRAP_RUN_IN_GO | LAGTRAP_RUN_OF_GOROUTINE);
    EXPECT_EQ(run.goroutine, goroutine);
    EXPECT_EQ(run.goid_offset, number_offset);
    EXPECT_EQ(run.go_frame_offset, frame_offset);
    EXPECT_EQ(run.stack_pointer, LAGTRAP_GO_STACK_TOP - 0x100);
    hit(end_marker | (1ULL + 4) << LAGTRAP_COOKIE_EXIT_SHIFT, thread(102));  // only if equal
    EXPECT_EQ(runs(0), 0U);
    hit(end_marker, thread(102));
    EXPECT_EQ(runs(0), 1U);
    hit(end_marker, thread(102));
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 1U);
    hit(end_marker | LAGTRAP_COOKIE_EXIT_SHARED, thread(102));
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_END), 1U) << "it may end another function";
}

TEST_F(GoFunctions, on_a_threads_own_stack_belong_to_that_stack) {
    kernel.user_words[goroutine + number_offset] = 0;
    hit(begin_marker, thread(101));
    EXPECT_EQ(the_run().run.key, 0U);
    EXPECT_EQ(the_run().run.flags, 0U);
    EXPECT_EQ(the_run().goroutine, goroutine);
    hit(end_marker, thread(101));
    EXPECT_EQ(runs(0), 1U);
}

TEST_F(GoFunctions, without_a_goroutine_are_not_paired) {
    kernel.user_words.clear();
    hit(begin_marker, thread(101));
    EXPECT_EQ(open_runs(), 0U);
    EXPECT_EQ(unmatched(0, LAGTRAP_PLACE_BEGIN), 1U);
}

TEST_F(GoFunctions, may_be_keyed_by_a_parameter_or_by_thread) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT);
    marker(begin_marker).key_argument = 3;  // in rdi
    marker(begin_marker).begin_time_argument = 1;
    marker(end_marker).key_argument = 8;
    registers_.rdi = registers_.r11 = 4711;
    registers_.rbx = kernel.now_ns - 5;
    hit(begin_marker, thread(101));
    EXPECT_EQ(the_run().run.key, 4711U);
    EXPECT_EQ(the_run().run.begin_ns, kernel.now_ns - 5);
    EXPECT_EQ(the_run().run.flags, LAGTRAP_RUN_EARLIER_BEGIN | LAGTRAP_RUN_IN_GO);
    hit(end_marker, thread(102));
    EXPECT_EQ(runs(0), 1U);
    add_event(0);
    hit(begin_marker, thread(101));
    EXPECT_EQ(the_run().run.key, 0U);
    hit(end_marker, thread(102));
    EXPECT_EQ(runs(0), 1U) << "another thread";
    hit(end_marker, thread(101));
    EXPECT_EQ(runs(0), 2U);
}

TEST_F(GoFunctions, are_known_as_such_from_any_hit) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_RECORD_RUNS);
    marker(begin_marker).key_argument = marker(end_marker).key_argument = 3;
    registers_.rdi = 4711;
    hit(begin_marker, thread(101));
    hit(end_marker, thread(101));
    const auto first = take_reports();
    ASSERT_EQ(first.size(), 1U);
    EXPECT_STREQ(first[0].run.comm, "thread-101");
    const auto words = kernel.user_words;
    kernel.user_words.clear();  // it begins on a stack of C
    hit(begin_marker, thread(101));
    EXPECT_EQ(the_run().stack_pointer, high - 0x100);
    EXPECT_EQ(the_run().goroutine, 0U);
    EXPECT_EQ(the_run().goid_offset, 0U);
    kernel.user_words = words;
    hit(end_marker, thread(102));
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1U);
    EXPECT_EQ(reported[0].run.flags, LAGTRAP_RUN_IN_GO);
    EXPECT_EQ(reported[0].run.begin_tid, 101U);
    EXPECT_EQ(reported[0].run.end_tid, 102U);
    EXPECT_EQ(reported[0].run.end_pid, 100U);
    EXPECT_STREQ(reported[0].run.comm, "") << "another thread ended it";
}

// What their threads did is not what they did.
TEST_F(GoFunctions, have_no_times_of_threads) {
    add_event(0, LAGTRAP_EVENT_KEY_GOROUTINE | LAGTRAP_EVENT_TIMES);
    hit(begin_marker, thread(101));
    EXPECT_EQ(the_run().times_generation, 0U);
    pass(10);
    hit(end_marker, thread(101));
    EXPECT_EQ(runs(0), 1U);
    EXPECT_EQ(counters(0).timed_ns, 0U);
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_TIMES);
    hit(begin_marker, thread(101));
    EXPECT_EQ(the_run().times_generation, 0U) << "whatever its key is";
}

TEST_F(GoFunctions, have_no_return_addresses_because_their_stacks_move) {
    add_event(0, LAGTRAP_EVENT_KEY_GOROUTINE | LAGTRAP_EVENT_MATCH_STACK).look_after_ns = 10;
    kernel.user_words[LAGTRAP_GO_STACK_TOP - 0x100] = 0x400555;
    hit(begin_marker, thread(101));
    EXPECT_EQ(the_run().return_address, 0U);
    EXPECT_EQ(the_run().site, 0x400123U);
}

TEST_F(GoFunctions, have_their_parameters_in_the_order_of_gos_registers) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT);
    registers_.rax = 100;
    registers_.rbx = 101;
    registers_.rcx = 102;
    registers_.rdi = 103;
    registers_.rsi = 104;
    registers_.r8 = 105;
    registers_.r9 = 106;
    registers_.r10 = 107;
    registers_.r11 = 108;
    for (std::uint16_t index = 0; index < 10; ++index) {
        marker(begin_marker).key_argument = marker(end_marker).key_argument = index;
        hit(begin_marker, thread(101));
        EXPECT_EQ(the_run().run.key, index < 9 ? 100U + index : 0U);
        hit(end_marker, thread(101));
    }
}

TEST_F(OtherProbes, functions_have_their_parameters_in_the_order_of_the_abi) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT, LAGTRAP_NESTING_EACH, Probe::function);
    kernel.current = &thread(101);
    pt_regs registers{};
    registers.rsp = 0x7000;
    registers.rdi = 100;
    registers.rsi = 101;
    registers.rdx = 102;
    registers.rcx = 103;
    registers.r8 = 104;
    registers.r9 = 105;
    registers.rax = 42;
    marker(begin_marker).begin_time_argument = LAGTRAP_NO_ARGUMENT;
    for (std::uint16_t index = 0; index < 7; ++index) {
        marker(begin_marker).key_argument = marker(end_marker).key_argument = index;
        kernel.cookie = begin_marker;
        on_function(&registers);
        EXPECT_EQ(the_run().run.key, index < 6 ? 100U + index : 0U);
        kernel.cookie = end_marker;
        on_function(&registers);
    }
    // The key of a return is what the function returned.
    marker(begin_marker).key_argument = 0;
    registers.rdi = 42;
    kernel.cookie = begin_marker;
    on_function(&registers);
    const std::uint64_t before = runs(0);
    kernel.cookie = end_marker | std::uint64_t{LAGTRAP_EXIT_RETURNED} << LAGTRAP_COOKIE_EXIT_SHIFT;
    registers.rdi = 0;
    registers.rsp = 0x7008;
    on_function(&registers);
    EXPECT_EQ(runs(0), before + 1);
}

// A pointer has more than 32 bits, and two pointers may differ in the upper ones alone.
TEST_F(OtherProbes, functions_have_whole_pointers_as_keys) {
    constexpr std::uint64_t pointer = 0x7f12345600001000, other = 0x7f12345700001000;
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT, LAGTRAP_NESTING_EACH, Probe::function);
    marker(begin_marker).begin_time_argument = LAGTRAP_NO_ARGUMENT;
    kernel.current = &thread(101);
    pt_regs registers{};
    registers.rdi = pointer;
    const auto hit = [&](std::uint64_t cookie) {
        kernel.cookie = cookie;
        registers.rsp = 0x7000;
        on_function(&registers);
    };
    const std::uint64_t returned = std::uint64_t{LAGTRAP_EXIT_RETURNED}
                                   << LAGTRAP_COOKIE_EXIT_SHIFT;
    hit(begin_marker);
    EXPECT_EQ(the_run().run.key, pointer);
    registers.rax = other;
    hit(end_marker | returned);
    EXPECT_EQ(runs(0), 0U);
    registers.rax = pointer;
    hit(end_marker | returned);
    EXPECT_EQ(runs(0), 1U);
    hit(begin_marker | returned);
    EXPECT_EQ(the_run().run.key, pointer) << "it begins when the function returns it";
    registers.rdi = other;
    hit(end_marker);
    EXPECT_EQ(runs(0), 1U);
    registers.rdi = pointer;
    hit(end_marker);
    EXPECT_EQ(runs(0), 2U);
}

TEST_F(OtherProbes, markers_have_whole_pointers_as_keys) {
    constexpr std::uint64_t pointer = 0x7f12345600001000, other = 0x7f12345700001000;
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT);
    begin(0, thread(101), {.key = pointer});
    EXPECT_EQ(the_run().run.key, pointer);
    end(0, thread(101), {.key = other});
    EXPECT_EQ(runs(0), 0U);
    end(0, thread(101), {.key = pointer});
    EXPECT_EQ(runs(0), 1U);
}

TEST_F(OtherProbes, tracepoints_have_keys_and_times_in_their_record) {
    add_event(0, LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_KEY_MACHINE);
    kernel.current = &thread(101);
    struct Record {
        std::uint64_t head = 0, device = 0xfedcba9876543210, sector = 0x123, began_ns = 0;
    } record;
    record.began_ns = kernel.now_ns - 7;
    lagtrap_marker_config& one = marker(begin_marker);
    one.begin_time_argument = 24;
    one.begin_time_bytes = 8;
    one.key_argument = 8;
    int (*const programs[])(void*) = {on_tracepoint_0, on_tracepoint_1, on_tracepoint_2,
                                      on_tracepoint_3};
    std::size_t turn = 0;
    const auto key_of = [&](std::uint16_t second, std::uint8_t bytes) {
        one.key_bytes = bytes;
        one.second_key_argument = second;
        one.second_key_bytes = 2;
        kernel.cookie = begin_marker;
        programs[turn++ % 4](&record);
        EXPECT_EQ(the_run().run.begin_ns, record.began_ns);
        const std::uint64_t key = the_run().run.key;
        marker(end_marker) = one;
        marker(end_marker).role = LAGTRAP_ROLE_END;
        marker(end_marker).stage = LAGTRAP_END_DONE;
        kernel.current = &thread(201);
        kernel.cookie = end_marker;
        programs[turn % 4](&record);
        EXPECT_EQ(open_runs(), 0U) << "the key is one of the machine";
        return key;
    };
    EXPECT_EQ(key_of(LAGTRAP_NO_ARGUMENT, 8), 0xfedcba9876543210U);
    EXPECT_EQ(key_of(LAGTRAP_NO_ARGUMENT, 4), 0x76543210U);
    EXPECT_EQ(key_of(LAGTRAP_NO_ARGUMENT, 2), 0x3210U);
    EXPECT_EQ(key_of(LAGTRAP_NO_ARGUMENT, 1), 0x10U);
    EXPECT_EQ(key_of(16, 4), (0x76543210ULL << 40 | 0x76543210 >> 24) ^ 0x123);
}

}  // namespace

}  // namespace lagtrap::native::other_probes_test
