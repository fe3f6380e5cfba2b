// What calls on objects cost, whether they fail, and which are sent.
#include <cerrno>
#include <functional>

#include "tests/unit/bpf_objects/object_calls.hpp"

namespace lagtrap::native::object_ends_test {

namespace {

TEST_F(ObjectCalls, are_counted_and_sent_with_what_they_cost) {
    call(create, an_object, 0, 5 * us);
    sent();
    totals().limits.min_ns = 3 * us;
    const std::uint64_t begin_ns = kernel_.now_ns;
    call(use, an_object, 42, 7 * us);
    const lagtrap_object_call found = last();
    EXPECT_EQ(found.begin_ns, begin_ns);
    EXPECT_EQ(found.end_ns, begin_ns + 7 * us);
    EXPECT_EQ(found.object, an_object);
    EXPECT_EQ(found.result, 42U);
    EXPECT_EQ(found.function, use);
    EXPECT_EQ(found.tid, 101U);
    EXPECT_EQ(found.state, LAGTRAP_OBJECT_ALIVE);
    EXPECT_EQ(found.failed, 0);
    EXPECT_EQ(found.left, 0);
    EXPECT_EQ(found.depth, 0);
    EXPECT_STREQ(found.comm, "worker");
    EXPECT_EQ(function(use).probes.hits, 1U);
    EXPECT_EQ(function(use).calls, 1U);
    EXPECT_EQ(function(use).elapsed_ns, 7 * us);
    EXPECT_EQ(totals().sent, 2U);
    EXPECT_EQ(alive(an_object)->uses, 1U);
}

TEST_F(ObjectCalls, that_are_short_uses_are_only_counted) {
    call(create, an_object);
    sent();
    totals().limits.min_ns = 3 * us;
    call(use, an_object, 0, 3 * us - 1);
    EXPECT_TRUE(sent().empty());
    EXPECT_EQ(function(use).calls, 1U);
    call(use, an_object, 0, 3 * us);
    EXPECT_EQ(sent().size(), 1U);
    EXPECT_EQ(totals().not_sent, 0U);
}

TEST_F(ObjectCalls, of_other_processes_are_ignored) {
    task_.tgid = 200;
    call(create, an_object);
    EXPECT_EQ(function(create).probes.hits, 0U);
    EXPECT_EQ(alive(an_object), nullptr);
    task_.tgid = 100;
    begin(create, an_object);
    task_.tgid = 200;
    end(create);
    EXPECT_EQ(function(create).calls, 0U);
}

TEST_F(ObjectCalls, of_a_process_that_its_owner_may_not_trace_are_ignored) {
    native_set_owner(true, 1000);
    const auto is_traced = [&] {
        const std::uint64_t before = function(use).probes.hits;
        call(use, an_object);
        return function(use).probes.hits != before;
    };
    EXPECT_FALSE(is_traced());
    cred_.uid.val = cred_.euid.val = cred_.suid.val = 1000;
    EXPECT_TRUE(is_traced());
    for (kernel::kuid_t* id : {&cred_.uid, &cred_.euid, &cred_.suid}) {
        id->val = 0;
        EXPECT_FALSE(is_traced());
        id->val = 1000;
    }
    cred_.cap_permitted.val = 1;
    EXPECT_FALSE(is_traced()) << "it has capabilities";
    native_set_owner(false, 0);
    EXPECT_TRUE(is_traced());
}

TEST_F(ObjectCalls, fail_by_their_results) {
    constexpr std::uint64_t minus_one_of_32_bits = 0xffffffff, minus_one = ~0ULL;
    struct Case {
        std::uint8_t failure;
        std::vector<std::uint64_t> fail, succeed;
    };
    for (const Case& one :
         {Case{LAGTRAP_FAILS_NEVER, {}, {0, 1, minus_one, minus_one_of_32_bits}},
          Case{LAGTRAP_FAILS_NEGATIVE,
               {minus_one, minus_one_of_32_bits, 0x80000000},
               {0, 1, 0x7fffffff, 0x123456789, 0x180000000}},
          Case{LAGTRAP_FAILS_NULL, {0}, {1, minus_one, 0x100000000}},
          Case{LAGTRAP_FAILS_NONZERO, {1, minus_one, 0xff}, {0, 0x100000000}},
          Case{LAGTRAP_FAILS_NOT_POSITIVE,
               {0, minus_one, minus_one_of_32_bits},
               {1, 0x7fffffff, 0x123456789, 0x180000000, 0x100000000}},
          Case{LAGTRAP_FAILS_MINUS_ONE, {minus_one, minus_one_of_32_bits}, {0, 1, 0xfffffffe}}}) {
        function(use).failure = one.failure;
        const auto fails = [&](std::uint64_t result) {
            const std::uint64_t before = function(use).failures;
            call(use, an_object, result);
            return function(use).failures != before;
        };
        for (const std::uint64_t result : one.fail)
            EXPECT_TRUE(fails(result)) << int{one.failure} << ' ' << result;
        for (const std::uint64_t result : one.succeed)
            EXPECT_FALSE(fails(result)) << int{one.failure} << ' ' << result;
    }
}

TEST_F(ObjectCalls, do_not_fail_with_results_that_mean_success) {
    function(use).failure = LAGTRAP_FAILS_NONZERO;
    function(use).successes = 2;
    function(use).success[0] = 100;
    function(use).success[1] = -5;
    function(use).success[2] = 7;
    const auto fails = [&](std::uint64_t result) {
        const std::uint64_t before = function(use).failures;
        call(use, an_object, result);
        return function(use).failures != before;
    };
    EXPECT_FALSE(fails(100));
    EXPECT_FALSE(fails(0xfffffffb));
    EXPECT_FALSE(fails(~0ULL - 4));
    EXPECT_TRUE(fails(7)) << "only two are in use";
    EXPECT_TRUE(fails(101));
    EXPECT_TRUE(fails(0x100000064)) << "more than 32 bits";
}

TEST_F(ObjectCalls, that_fail_have_their_errno_and_some_are_excepted) {
    constexpr std::uint64_t slot = 0xa000, base = 0xb000;
    native_set_errno_slot(slot);
    kernel_.user_words[slot] = 16;
    task_.thread.fsbase = base;
    function(use).failure = LAGTRAP_FAILS_MINUS_ONE;
    function(use).except[0] = EAGAIN;
    function(use).except[1] = EINPROGRESS;
    const auto error_of = [&](int number) {
        kernel_.user_words[base + 16] = static_cast<std::uint64_t>(number);
        call(use, an_object, ~0ULL);
        return last();
    };
    lagtrap_object_call found = error_of(ENOENT);
    EXPECT_EQ(found.failed, 1);
    EXPECT_EQ(found.error_number, ENOENT);
    for (const int excepted : {EAGAIN, EINPROGRESS}) {
        found = error_of(excepted);
        EXPECT_EQ(found.failed, 0) << excepted;
        EXPECT_EQ(found.error_number, 0);
    }
    EXPECT_EQ(error_of(0).failed, 1) << "an unknown one is not excepted";
    EXPECT_EQ(function(use).failures, 2U);
    EXPECT_EQ(counts().failures, 2U);
    kernel_.user_words.erase(slot);
    call(use, an_object, ~0ULL);
    EXPECT_EQ(last().error_number, 0);
}

TEST_F(ObjectCalls, that_are_excepted_create_nothing) {
    constexpr std::uint64_t slot = 0xa000, base = 0xb000;
    native_set_errno_slot(slot);
    kernel_.user_words[slot] = 16;
    kernel_.user_words[base + 16] = EAGAIN;
    task_.thread.fsbase = base;
    for (const std::uint32_t number : {create, use}) {
        function(number).failure = LAGTRAP_FAILS_MINUS_ONE;
        function(number).except[0] = EAGAIN;
    }
    call(create, an_object, ~0ULL);
    EXPECT_EQ(last().object, 0U);
    EXPECT_EQ(counts().created, 0U);
    call(create, an_object, 0);
    lagtrap_object_call found = last();
    EXPECT_EQ(found.object, an_object) << "errno has an earlier error";
    EXPECT_EQ(found.failed, 0);
    EXPECT_EQ(counts().created, 1U);
    call(use, an_object, ~0ULL);
    EXPECT_EQ(last().object, an_object);
    EXPECT_EQ(counts().failures, 0U);
    begin(use, an_object);
    pass(us);
    raise("out of paper");
    handle(top + 8);
    found = last();
    EXPECT_EQ(found.failed, 1) << "an exception has no errno";
    EXPECT_EQ(found.object, an_object);
}

TEST_F(ObjectCalls, that_an_exception_leaves_have_failed) {
    begin(create, an_object);
    begin(use, another, top - 64);
    pass(2 * us);
    raise("out of paper");
    handle(top + 64);
    const auto calls = sent();
    ASSERT_EQ(calls.size(), 2U);
    for (const auto& one : calls) {
        EXPECT_EQ(one.call.end_ns, kernel_.now_ns);
        EXPECT_EQ(one.call.left, 1);
        EXPECT_EQ(one.call.failed, 1);
        EXPECT_EQ(one.call.error_number, 0);
        EXPECT_STREQ(one.thrown_type, "St13runtime_error");
        EXPECT_STREQ(one.thrown_text, "out of paper");
    }
    EXPECT_EQ(calls[0].call.function, use);
    EXPECT_EQ(alive(an_object), nullptr) << "its constructor did not return";
    EXPECT_EQ(counts().created, 0U);
    EXPECT_EQ(counts().failures, 2U);
    function(create).title_from = rsi;
    kernel_.user_texts[0x8000] = "basket";
    begin(create, an_object, top, 0x8000);
    end(create);
    EXPECT_STREQ(sent().at(0).thrown_type, "") << "of an earlier call";
    begin(use, another);
    pass(us);
    kernel_.user_texts.erase(0x9200);
    registers_.rsi = 0x4444;
    on_throw(&registers_);
    handle(top + 64);
    const auto unknown = sent();
    ASSERT_EQ(unknown.size(), 1U);
    EXPECT_EQ(unknown[0].call.failed, 1);
    EXPECT_STREQ(unknown[0].thrown_type, "") << "its type cannot be read";
    EXPECT_STREQ(unknown[0].thrown_text, "");
}

TEST_F(ObjectCalls, that_are_left_otherwise_have_not_failed) {
    begin(use, an_object, top - 64);
    pass(us);
    begin(use, an_object, top);
    const auto calls = sent();
    ASSERT_EQ(calls.size(), 1U) << "a call at or above its place ends it";
    EXPECT_EQ(calls[0].call.end_ns, kernel_.now_ns);
    EXPECT_EQ(calls[0].call.left, 1);
    EXPECT_EQ(calls[0].call.failed, 0);
    EXPECT_EQ(calls[0].call.has_texts, 0U);
    end(use);
    EXPECT_EQ(last().left, 0);
    // Whatever was below them before.
    begin(use, an_object, top - 128);
    begin(use, an_object, top - 100);
    EXPECT_EQ(last().left, 1);
}

TEST_F(ObjectCalls, on_another_stack_do_not_end_those_on_this_one) {
    kernel::vm_area_struct stack{}, of_fiber{};
    stack.vm_start = top - 4096;
    stack.vm_end = top + 4096;
    of_fiber.vm_start = top + 8192;
    of_fiber.vm_end = top + 16384;
    native_set_areas(&stack, &of_fiber);
    begin(use, an_object);
    begin(inner, an_object, top + 12288);
    EXPECT_TRUE(sent().empty());
    end(inner, 0, top + 12288);
    end(use);
    const auto calls = sent();
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_EQ(calls[0].call.depth, 1);
    EXPECT_EQ(calls[1].call.left, 0);
}

TEST_F(ObjectCalls, that_catch_what_is_thrown_below_them_go_on) {
    begin(use, an_object);
    begin(use, an_object, top - 64);
    pass(us);
    raise("garbage", "7Trouble");
    handle(top - 32);
    auto calls = sent();
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_STREQ(calls[0].thrown_type, "7Trouble");
    EXPECT_STREQ(calls[0].thrown_text, "") << "no exception of the standard library";
    // Names as long as those of the library.
    for (const char* type : {"15AnyOtherProblem", "13OtherProblems"}) {
        begin(use, an_object, top - 64);
        pass(us);
        raise("garbage", type);
        handle(top - 32);
        calls = sent();
        ASSERT_EQ(calls.size(), 1U);
        EXPECT_STREQ(calls[0].thrown_type, type);
        EXPECT_STREQ(calls[0].thrown_text, "");
    }
    end(use);
    calls = sent();
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls[0].call.left, 0);
    EXPECT_EQ(calls[0].call.failed, 0);
    EXPECT_EQ(calls[0].call.has_texts, 0U);
}

TEST_F(ObjectCalls, of_exceptions_derived_from_those_of_the_library_have_their_text) {
    begin(use, an_object);
    pass(us);
    constexpr std::uint64_t base_type = 0x9400, base_name = 0x9500;
    kernel_.user_words[0x9100 + 16] = base_type;
    kernel_.user_words[base_type + 8] = base_name;
    kernel_.user_texts[base_name] = "St11logic_error";
    raise("no such page", "8MyError");
    handle(top + 8);
    const auto calls = sent();
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_STREQ(calls[0].thrown_type, "8MyError");
    EXPECT_STREQ(calls[0].thrown_text, "no such page");
}

TEST_F(ObjectCalls, end_the_calls_below_them) {
    begin(use, an_object);
    begin(inner, another, top - 64);
    begin(inner, another, top - 128);
    pass(us);
    end(use);
    const auto calls = sent();
    ASSERT_EQ(calls.size(), 3U);
    for (const auto& one : calls) EXPECT_EQ(one.call.end_ns, kernel_.now_ns);
    EXPECT_EQ(calls[0].call.left, 1);
    EXPECT_EQ(calls[1].call.left, 1);
    EXPECT_EQ(calls[2].call.left, 0);
    EXPECT_EQ(calls[2].call.function, use);
    end(use);
    EXPECT_TRUE(sent().empty()) << "none is open";
}

TEST_F(ObjectCalls, end_at_exits_of_their_own_or_shared_ones) {
    begin(use, an_object);
    end(inner);
    end(use, 0, top + 8);
    EXPECT_TRUE(sent().empty());
    end(inner, 0, top, LAGTRAP_COOKIE_EXIT_SHARED);
    EXPECT_EQ(last().function, use);
    const std::uint64_t before = function(inner).probes.hits;
    end(inner, 0, top, LAGTRAP_COOKIE_EXIT_SHARED);
    EXPECT_EQ(function(inner).probes.hits, before + 1) << "hit by callers that are not watched";
    begin(use, an_object);
    begin(message, 0, top - 64);
    end(inner, 0, top, LAGTRAP_COOKIE_EXIT_SHARED);
    EXPECT_EQ(last().function, use) << "with a call below it that was left";
    begin(use, an_object);
    kernel_.cookie = use;
    registers_.rsp = top + 8;
    registers_.rax = 3;
    on_call_return(&registers_);
    EXPECT_EQ(last().result, 3U);
}

TEST_F(ObjectCalls, end_at_conditional_exits_if_their_condition_holds) {
    constexpr std::uint64_t if_rcx_is_zero = static_cast<std::uint64_t>(LAGTRAP_EXIT_RCX_ZERO)
                                             << LAGTRAP_COOKIE_EXIT_SHIFT;
    begin(use, an_object);
    registers_.rcx = 1;
    end(use, 0, top, if_rcx_is_zero);
    EXPECT_TRUE(sent().empty());
    registers_.rcx = 0;
    end(use, 0, top, if_rcx_is_zero);
    EXPECT_EQ(sent().size(), 1U);
}

TEST_F(ObjectCalls, within_a_library_are_ignored) {
    function(use).inner_begin = caller;
    function(use).inner_end = caller + 1;
    call(use, an_object);
    EXPECT_TRUE(sent().empty());
    EXPECT_EQ(function(use).probes.hits, 1U);
    EXPECT_EQ(function(use).calls, 0U);
    function(use).inner_end = caller;
    call(use, an_object);
    EXPECT_EQ(function(use).calls, 1U);
    function(use).inner_begin = caller + 1;
    function(use).inner_end = caller + 2;
    call(use, an_object);
    EXPECT_EQ(function(use).calls, 2U);
}

TEST_F(ObjectCalls, are_counted_without_the_time_of_probes) {
    function(inner).probes.inside_ns = 100;
    function(inner).probes.around_ns = 30;
    function(use).probes.inside_ns = 10;
    begin(use, an_object);
    begin(inner, another, top - 64);
    pass(500);
    end(inner, 0, top - 64);
    pass(500);
    end(use);
    const auto calls = sent();
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_EQ(calls[0].call.probes_ns, 100U);
    EXPECT_EQ(calls[1].call.probes_ns, 140U);
    EXPECT_EQ(function(inner).elapsed_ns, 400U);
    EXPECT_EQ(function(use).elapsed_ns, 860U);
    call(use, an_object, 0, 10);
    EXPECT_EQ(last().probes_ns, 10U) << "those of that call alone";
    function(message).probes.inside_ns = 7;
    function(message).probes.around_ns = 3;
    begin(use, an_object);
    begin(message, 0, top - 64);
    end(message, 0, top - 64);
    pass(20);
    end(use);
    EXPECT_EQ(last().probes_ns, 20U) << "texts of errors have probes, too";
    function(use).probes.inside_ns = 5000;
    call(use, an_object, 0, 1000);
    EXPECT_EQ(function(use).elapsed_ns, 860U) << "never negative";
}

TEST_F(ObjectCalls, are_counted_without_the_time_of_walking_the_stacks_of_creations) {
    begin(use, an_object);
    int looks = 0;
    std::function<void()> look = [&] {
        if (++looks == 3) pass(500);  // after the walk
        kernel_.at_clock = look;
    };
    kernel_.at_clock = look;
    begin(create, another, top - 64);
    kernel_.at_clock = nullptr;
    end(create, 0, top - 64);
    end(use);
    const auto calls = sent();
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_EQ(calls[0].call.probes_ns, 0U);
    EXPECT_EQ(calls[1].call.probes_ns, 500U);
}

TEST_F(ObjectCalls, that_are_sent_are_sent_with_their_callers) {
    totals().limits.min_ns = us;
    function(inner).failure = LAGTRAP_FAILS_NONZERO;
    begin(use, an_object);
    begin(inner, another, top - 64);
    end(inner, 1, top - 64);
    end(use);
    EXPECT_EQ(sent().size(), 2U);
    begin(use, an_object);
    begin(inner, another, top - 64);
    end(inner, 0, top - 64);
    end(use);
    EXPECT_TRUE(sent().empty());
}

TEST_F(ObjectCalls, beyond_the_rate_are_counted_but_failures_are_sent) {
    totals().room = 1;
    function(use).failure = LAGTRAP_FAILS_NONZERO;
    call(use, an_object);
    call(use, an_object);
    EXPECT_EQ(sent().size(), 1U);
    EXPECT_EQ(totals().not_sent, 1U);
    call(use, an_object, 1);
    EXPECT_EQ(sent().size(), 1U);
    EXPECT_EQ(totals().not_sent, 1U);
    EXPECT_EQ(totals().sent, 2U);
    totals().room = 5;
    kernel_.map(object_maps.records).room_bytes = 0;
    call(use, an_object);
    EXPECT_EQ(totals().not_sent, 2U);
    EXPECT_EQ(totals().sent, 2U);
}

TEST_F(ObjectCalls, deeper_than_64_are_counted) {
    for (std::uint64_t depth = 0; depth < 66; ++depth) begin(use, an_object, top - depth * 64);
    EXPECT_EQ(totals().too_deep, 2U);
    end(use, 0, top - 63 * 64);
    EXPECT_EQ(last().depth, 63);
}

TEST_F(ObjectCalls, whose_exits_are_no_longer_seen_have_no_end) {
    begin(use, an_object);
    function(use).probes.detached = 1;
    raise("x");
    handle(top + 8);
    EXPECT_TRUE(sent().empty());
    EXPECT_EQ(function(use).calls, 0U);
    EXPECT_EQ(function(use).failures, 0U);
    begin(use, an_object);
    end(use);
    EXPECT_EQ(function(use).calls, 1U) << "its exit was seen";
}

TEST_F(ObjectCalls, that_are_seen_twice_while_functions_are_linked_again_are_one) {
    totals().limits.relinking_until_ns = kernel_.now_ns + us;
    begin(use, an_object);
    begin(use, an_object);
    end(use);
    EXPECT_EQ(sent().size(), 1U);
    pass(us);
    begin(use, an_object);
    begin(use, an_object);
    end(use);
    EXPECT_EQ(sent().size(), 2U) << "the first was left";
    totals().limits.relinking_until_ns = kernel_.now_ns + us;
    begin(use, an_object);
    begin(inner, an_object);
    EXPECT_EQ(last().function, use) << "another function at its place";
}

TEST_F(ObjectCalls, for_texts_of_errors_send_the_text) {
    kernel_.user_texts[0x8100] = "disk full";
    begin(use, an_object);
    begin(message, 0, top - 64);
    end(message, 0x8100, top - 64);
    const auto records = kernel_.take_records(object_maps.records);
    ASSERT_EQ(records.size(), 1U);
    ASSERT_EQ(records[0].size(), sizeof(lagtrap_object_message));
    lagtrap_object_message found{};
    std::memcpy(&found, records[0].data(), sizeof(found));
    EXPECT_EQ(found.function, message);
    EXPECT_EQ(found.tid, 101U);
    EXPECT_EQ(found.at_ns, kernel_.now_ns);
    EXPECT_STREQ(found.text, "disk full");
    EXPECT_EQ(function(message).calls, 0U);
    begin(message, 0, top - 64);
    end(message, 0, top - 64);
    EXPECT_TRUE(kernel_.take_records(object_maps.records).empty()) << "there is none";
    // Into a buffer that the caller gives.
    function(message).object_from = rdi;
    begin(message, 0x8100, top - 64);
    end(message, 0, top - 64);
    EXPECT_EQ(kernel_.take_records(object_maps.records).size(), 1U);
    begin(message, 0x8200, top - 64);
    end(message, 0, top - 64);
    const auto unreadable = kernel_.take_records(object_maps.records);
    ASSERT_EQ(unreadable.size(), 1U);
    std::memcpy(&found, unreadable[0].data(), sizeof(found));
    EXPECT_STREQ(found.text, "");
    begin(message, 0x8100, top - 64);
    kernel_.map(object_maps.records).room_bytes = 0;
    end(message, 0, top - 64);
    EXPECT_EQ(totals().not_sent, 1U);
}

TEST_F(ObjectCalls, know_how_long_their_thread_was_off_the_cpu) {
    kernel::task_struct idle{};
    begin(use, an_object);
    pass(us);
    native_switch(&task_, &idle);
    pass(3 * us);
    native_switch(&idle, &task_);
    pass(us);
    native_switch(&idle, &task_);
    end(use);
    EXPECT_EQ(last().off_cpu_ns, 3 * us);
    native_switch(&idle, &task_);
    call(use, an_object);
    EXPECT_EQ(last().off_cpu_ns, 0U);
}

TEST_F(ObjectCalls, know_how_the_process_grew) {
    for (const bool old_kernel : {true, false}) {
        if (!old_kernel) kernel_.missing.insert("struct mm_rss_stat");
        const __s64 before[4] = {10, 20, 1000, 30}, after[4] = {11, 22, 5000, 34};
        native_set_resident(before);
        begin(use, an_object);
        native_set_resident(after);
        end(use);
        EXPECT_EQ(last().resident_pages, 7) << "pages in swap are not resident";
    }
}

}  // namespace

}  // namespace lagtrap::native::object_ends_test
