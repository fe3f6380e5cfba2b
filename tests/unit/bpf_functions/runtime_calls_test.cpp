// Calls that a runtime reports by its own probes.
#include "tests/unit/bpf_functions/traced_calls.hpp"

namespace lagtrap::native::runtime_calls_test {

namespace {

constexpr std::uint32_t entry_site = 2, plain_site = 3, epoch = 9, first_number = 40;
constexpr std::uint64_t scope_at = 0x10000, name_at = 0x20000, file_at = 0x30000;

lagtrap_argument in_register(std::uint8_t number) {
    lagtrap_argument argument{};
    argument.place = LAGTRAP_ARGUMENT_REGISTER;
    argument.bytes = 8;
    argument.base = number;
    argument.index = LAGTRAP_NO_REGISTER;
    return argument;
}

class RuntimeCalls : public TracedCalls {
  protected:
    RuntimeCalls() {
        lagtrap_runtime_site& full = site(entry_site);
        full.scope = in_register(7);  // rdi
        full.scope_length = in_register(6);
        full.name = in_register(2);
        full.name_length = in_register(1);
        full.file = in_register(8);
        full.line = in_register(9);
        full.inside_ns = 4;
        full.around_ns = 6;
        lagtrap_runtime_site& plain = site(plain_site);
        plain.scope = in_register(7);
        plain.name = in_register(2);
        plain.inside_ns = 4;
        plain.around_ns = 6;
        totals().runtime_epoch = epoch;
        totals().next_number = first_number;
    }
    lagtrap_runtime_site& site(std::uint32_t number) {
        return kernel_.at<lagtrap_runtime_site>(function_maps.runtime_sites, number);
    }
    // Texts with their lengths, which no 0 ends.
    void put_text(std::uint64_t address, const std::string& text) {
        for (std::size_t i = 0; i < text.size() + 8; i += 8) {
            char word[8] = {'!', '!', '!', '!', '!', '!', '!', '!'};
            if (i < text.size()) text.copy(word, sizeof(word), i);
            std::memcpy(&kernel_.user_words[address + i], word, sizeof(word));
        }
        kernel_.user_texts[address] = text;
    }
    void hit(int (*program)(pt_regs*), const std::string& name, std::uint64_t stack,
             std::uint32_t at_site = entry_site, std::uint64_t of_epoch = epoch) {
        put_text(scope_at, "Shop");
        put_text(name_at, name);
        kernel_.user_texts[file_at] = "shop.rb";
        registers_.rdi = scope_at;
        registers_.rsi = 4;
        registers_.rdx = name_at;
        registers_.rcx = name.size();
        registers_.r8 = file_at;
        registers_.r9 = 12;
        registers_.rsp = stack;
        kernel_.cookie = at_site | of_epoch << 32;
        program(&registers_);
    }
    void enter(const std::string& name, std::uint64_t stack = top) {
        hit(on_runtime_entry, name, stack);
    }
    void leave(const std::string& name, std::uint64_t stack = top) {
        hit(on_runtime_return, name, stack);
    }
};

TEST_F(RuntimeCalls, are_named_counted_and_sent) {
    enter("pay");
    EXPECT_EQ(sent(), "40 is 'Shop' 'pay' at 'shop.rb':12, site 2\n");
    pass(100);
    enter("check");
    wait(20);
    leave("check");
    pass(50);
    enter("check");
    leave("check");
    leave("pay");
    EXPECT_EQ(sent(),
              "41 is 'Shop' 'check' at 'shop.rb':12, site 2\n"
              "41: 100-120, probes 4, off CPU 20, 101 worker-101\n"
              "41: 170-170, probes 4, off CPU 0, 101 worker-101\n"
              "40: 0-170, probes 24, off CPU 20, 101 worker-101\n");
    EXPECT_EQ(counted(41), "4 hits, 2 calls, 0 left, own 16, longest 16 in 40");
    EXPECT_EQ(counted(40), "2 hits, 1 calls, 0 left, own 134, longest 146 in");
    EXPECT_EQ(function(40).probes.inside_ns, 4U);
    EXPECT_EQ(function(40).probes.around_ns, 6U);
    EXPECT_EQ(totals().next_number, 42U);
    EXPECT_EQ(totals().runtime_hits, 6U);
    EXPECT_EQ(totals().runtime_unnamed, 0U);
    enter("pay");
    leave("pay");
    EXPECT_EQ(sent(), "40: 170-170, probes 4, off CPU 0, 101 worker-101\n")
        << "nothing is left of what was open there";
    EXPECT_EQ(counted(40), "4 hits, 2 calls, 0 left, own 134, longest 146 in");
}

TEST_F(RuntimeCalls, have_names_of_limited_length) {
    hit(on_runtime_entry, "plain", top, plain_site);
    const std::string name(300, 'n');
    enter(name);
    EXPECT_EQ(sent(), "40 is 'Shop' 'plain' at '':0, site 3\n41 is 'Shop' '" +
                          std::string(LAGTRAP_RUNTIME_NAME - 1, 'n') +
                          "' at 'shop.rb':12, site 2\n");
    registers_.rsi = 2;  // a shorter scope: another function
    on_runtime_entry(&registers_);
    EXPECT_EQ(totals().next_number, 43U);
}

TEST_F(RuntimeCalls, without_a_name_are_only_counted_as_such) {
    enter("");
    EXPECT_EQ(totals().runtime_unnamed, 1U);
    EXPECT_EQ(totals().next_number, first_number);
    totals().next_number = LAGTRAP_TRACED_FUNCTIONS;
    enter("pay");
    EXPECT_EQ(totals().runtime_unnamed, 2U);
    EXPECT_EQ(totals().next_number, LAGTRAP_TRACED_FUNCTIONS);
    totals().next_number = LAGTRAP_TRACED_FUNCTIONS - 1;
    enter("pay");
    EXPECT_EQ(totals().runtime_unnamed, 2U);
    EXPECT_EQ(function(LAGTRAP_TRACED_FUNCTIONS - 1).probes.hits, 1U);
    EXPECT_EQ(totals().runtime_hits, 3U);
}

TEST_F(RuntimeCalls, get_their_name_when_there_is_room_to_send_it) {
    kernel_.map(function_maps.records).room_bytes = 100;
    enter("pay");
    EXPECT_EQ(totals().runtime_unnamed, 1U);
    EXPECT_EQ(sent(), "");
    enter("pay");
    EXPECT_EQ(sent(), "40 is 'Shop' 'pay' at 'shop.rb':12, site 2\n");
    // No room among the names.
    kernel_.map(function_maps.runtime_names).max_entries = 1;
    enter("check");
    EXPECT_EQ(sent(), "");
    EXPECT_EQ(totals().runtime_unnamed, 2U);
    EXPECT_EQ(totals().next_number, first_number + 1);
}

TEST_F(RuntimeCalls, of_another_epoch_ended_unseen) {
    enter("pay");
    hit(on_runtime_entry, "check", top, entry_site, epoch - 1);
    hit(on_runtime_return, "pay", top, entry_site, epoch + 1);
    EXPECT_EQ(function(40).calls, 0U);
    EXPECT_EQ(function(40).probes.hits, 1U);
    EXPECT_EQ(totals().next_number, 41U);
    totals().runtime_epoch = epoch + 1;
    hit(on_runtime_return, "pay", top, entry_site, epoch + 1);
    EXPECT_EQ(function(40).probes.hits, 2U);
    EXPECT_EQ(function(40).calls, 0U) << "it began in another epoch";
}

TEST_F(RuntimeCalls, are_only_of_the_traced_process) {
    select(thread(201));
    enter("pay");
    leave("pay");
    EXPECT_EQ(totals().runtime_hits, 0U);
    EXPECT_EQ(sent(), "");
}

TEST_F(RuntimeCalls, of_detached_functions_are_dropped_when_another_begins) {
    enter("load");
    enter("pay");
    enter("check");
    function(41).probes.detached = function(42).probes.detached = 1;
    enter("send");
    pass(100);
    leave("send");
    EXPECT_EQ(function(43).path[0], 40U);
    EXPECT_EQ(function(43).path_length, 1U);
    EXPECT_EQ(function(41).left + function(42).left, 0U);
    enter("pay");
    leave("pay");
    EXPECT_EQ(counted(41), "3 hits, 0 calls, 0 left, own 0, longest 0 in");
}

TEST_F(RuntimeCalls, end_with_those_still_open_inside_them) {
    enter("load");
    enter("pay");
    pass(100);
    sent();
    leave("load");
    EXPECT_EQ(sent(),
              "41: 0-100, probes 4, off CPU 0, 101 worker-101, left\n"
              "40: 0-100, probes 14, off CPU 0, 101 worker-101\n");
    EXPECT_EQ(function(41).left, 1U);
    EXPECT_EQ(function(40).calls, 1U);
    EXPECT_EQ(function(40).left, 0U);
    leave("pay");
    EXPECT_EQ(function(41).calls, 1U) << "it was not open";
    EXPECT_EQ(function(41).unbegun, 0U);
}

TEST_F(RuntimeCalls, whose_begin_is_not_reported_are_counted_if_asked) {
    site(entry_site).flags = LAGTRAP_RUNTIME_UNBEGUN;
    leave("pay");
    leave("pay");
    EXPECT_EQ(function(40).unbegun, 2U);
    enter("load");
    enter("pay");
    pass(100);
    sent();
    leave("pay");
    EXPECT_EQ(sent(), "") << "the end may be of a call inside";
    EXPECT_EQ(function(40).calls, 1U);
    leave("load");
    EXPECT_EQ(sent(), "41: 0-100, probes 14, off CPU 0, 101 worker-101\n");
    site(entry_site).flags = LAGTRAP_RUNTIME_IN_C;
    leave("pay");
    EXPECT_EQ(function(40).unbegun, 2U);
}

TEST_F(RuntimeCalls, have_the_cost_of_hits_that_count_for_nothing) {
    enter("pay");
    enter("");  // without a name
    function(40).probes.detached = 0;
    pass(100);
    sent();
    leave("pay");
    EXPECT_EQ(sent(), "40: 0-100, probes 9, off CPU 0, 101 worker-101\n");
    EXPECT_EQ(counted(40), "2 hits, 1 calls, 0 left, own 91, longest 91 in");
}

TEST_F(RuntimeCalls, have_the_time_of_the_programs) {
    enter("pay");
    kernel_.at_clock = [this] { kernel_.at_clock = [this] { pass(70); }; };
    enter("check");  // the clock advances between its begin and its end
    EXPECT_EQ(totals().runtime_ns, 70U);
    leave("check");
    sent();
    leave("pay");
    EXPECT_EQ(sent(), "40: 0-70, probes 84, off CPU 0, 101 worker-101\n");
}

TEST_F(RuntimeCalls, that_nest_too_deeply_are_not_tracked) {
    for (int depth = 0; depth < LAGTRAP_TRACED_DEPTH; ++depth) enter("deep");
    EXPECT_EQ(totals().too_deep, 0U);
    enter("deeper");
    EXPECT_EQ(totals().too_deep, 1U);
    leave("deeper");
    EXPECT_EQ(function(41).calls, 0U);
    EXPECT_EQ(function(40).calls, 0U);
}

// Each fiber has a stack. Calls of fibers that do not run count as left.
TEST_F(RuntimeCalls, of_other_fibers_are_left) {
    constexpr std::uint64_t fiber = top + 0x10000000, other = top + 0x20000000;
    kernel::vm_area_struct main_stack{};
    main_stack.vm_start = top - 0x100000;
    main_stack.vm_end = top + 0x100000;
    native_set_areas(&main_stack, nullptr);
    for (const int tid : {101, 100}) {
        kernel_.reset();
        totals().runtime_epoch = epoch;
        totals().next_number = first_number;
        site(entry_site).scope = in_register(7);
        site(entry_site).name = in_register(2);
        native_set_target(100);
        native_set_areas(&main_stack, nullptr);
        // The beginning of the process's stack, or variables of a thread, which are at its end.
        native_set_own_stack(tid == 100 ? top + 0x80000 : 1, tid == 100 ? 1 : top + 0x80000);
        select(thread(tid));
        enter("main", top);
        enter("outer", top - 0x50000);
        enter("task", fiber);
        enter("inner", fiber - 0x1000);
        EXPECT_EQ(function(42).left + function(43).left, 0U);
        sent();
        pass(10);
        const std::uint64_t now_ns = kernel_.now_ns - begun_ns_;
        enter("second", other);
        const std::string ended = "-" + std::to_string(now_ns) + ", probes";
        const std::string calls = sent();
        EXPECT_NE(calls.find(ended), calls.rfind(ended)) << "two calls end now: " << calls;
        EXPECT_EQ(function(42).left, 1U) << "another fiber runs";
        EXPECT_EQ(function(43).left, 1U);
        EXPECT_EQ(function(41).left, 0U) << "but on top of the thread's own stack";
        pass(100);
        leave("second", other);
        EXPECT_EQ(function(44).path[0], 41U);
        enter("task", fiber);
        enter("again", top - 0x50000);
        EXPECT_EQ(function(42).left, 2U) << "the thread's own stack runs again";
        leave("again", top - 0x50000);
        leave("outer", top - 0x50000);
        EXPECT_EQ(function(41).calls, 1U);
        EXPECT_EQ(function(41).left, 0U);
        leave("main", fiber);
        EXPECT_EQ(function(40).calls, 0U) << "an end on another stack";
    }
}

}  // namespace

}  // namespace lagtrap::native::runtime_calls_test
