// Walks of user stacks.
#include <numeric>

#include "tests/unit/bpf_recorder/walks.hpp"

namespace lagtrap::native::user_stack_test {

namespace {

using Frames = std::vector<std::uint64_t>;

constexpr int by_frame_pointer = LAGTRAP_STACK_BY_FRAME_POINTER;
constexpr int complete = LAGTRAP_STACK_END_COMPLETE;
constexpr std::uint64_t call_sleep = 230;

class UserStack : public Walks {};

TEST_F(UserStack, has_the_callers_up_to_the_outermost_one) {
    add_code({{0, by(rsp, 16)}, {0x100, by(rsp, 32)}, {0x200, only(LAGTRAP_UNWIND_END)}});
    frame(stack + 32, code + 0x10);
    frame(stack + 48, code + 0x210);
    const Walk found = walk_at(code + 0x150);
    EXPECT_EQ(found.frames, (Frames{code + 0x150, code + 0x10, code + 0x210}));
    EXPECT_EQ(found.end, complete);
    kernel_.user_words[stack + 40] = 0;
    EXPECT_EQ(walk().frames, (Frames{code + 0x150, code + 0x10})) << "there is no caller";
    EXPECT_EQ(walk().end, complete);
}

TEST_F(UserStack, of_a_sleeping_thread_is_read_from_memory_that_was_paged_out) {
    add_code({{0, by(rsp, 32)}, {0x200, only(LAGTRAP_UNWIND_END)}});
    frame(stack + 32, code + 0x210);
    kernel_.paged_out.insert(stack + 24);
    EXPECT_EQ(walk().end, LAGTRAP_STACK_END_BAD_ADDRESS);
    const Walk found = walk_asleep();
    EXPECT_EQ(found.frames, (Frames{code, code + 0x210}));
    EXPECT_EQ(found.end, complete);
    EXPECT_EQ(found.id, thread_.user_stack_id);
}

TEST_F(UserStack, a_rule_applies_from_its_offset_on) {
    add_code({{0, by(rsp, 16)},
              {0x100, by(rsp, 32)},
              {0x101, by(rsp, 48)},
              {0x400, by(rsp, 64)},
              {0x7ff, by(rsp, 80)}});
    for (const std::uint64_t words : {2, 4, 6, 8, 10}) frame(stack + words * 8, words);
    const auto caller = [&](std::uint64_t offset) { return walk_at(code + offset).frames.at(1); };
    EXPECT_EQ(caller(0), 2U);
    EXPECT_EQ(caller(0xff), 2U);
    EXPECT_EQ(caller(0x100), 4U);
    EXPECT_EQ(caller(0x101), 6U);
    EXPECT_EQ(caller(0x3ff), 6U);
    EXPECT_EQ(caller(0x400), 8U);
    EXPECT_EQ(caller(0x7fe), 8U);
    EXPECT_EQ(caller(0x7ff), 10U);
    saved_.named.orig_ax = 0;
    EXPECT_EQ(caller(0x100), 2U) << "the system call is the last instruction of its function";
}

TEST_F(UserStack, tables_can_have_many_rows_rules_and_pages) {
    std::vector<Row> rows;
    for (std::uint32_t i = 0; i < 1000; ++i)
        rows.push_back({530 * 1024 + i, by(rsp, static_cast<int>(16 + 8 * i))});
    Layout at;
    at.first_page = 1023;  // and on in the next region
    at.bucket_count = 531;
    at.rule_page = 2;
    at.row_page = 7;
    at.first_rule = 700;
    at.first_row = 20;
    add_table(2, rows, at);
    map({{code, 531 * 1024 + 5, code, 2, 0}});
    for (const std::uint64_t i : {0, 1, 500, 511, 512, 998, 999}) {
        frame(stack + 16 + 8 * i, 0x1000 + i);
        EXPECT_EQ(walk_at(code + 530 * 1024 + i).frames.at(1), 0x1000 + i);
    }
    EXPECT_EQ(walk_at(code + 529 * 1024).end, LAGTRAP_STACK_END_GAP | by_frame_pointer)
        << "a bucket without rows";
    in_page<lagtrap_unwind_bucket>(1023, 531) = in_page<lagtrap_unwind_bucket>(1023, 530);
    EXPECT_EQ(walk_at(code + 531 * 1024).end, LAGTRAP_STACK_END_GAP | by_frame_pointer)
        << "behind the table";
}

TEST_F(UserStack, code_is_looked_up_in_the_table_of_its_mapping) {
    add_table(2, {{0, by(rsp, 16)}, {0x400, by(rsp, 16)}});
    add_table(3, {{0x800, by(rsp, 24)}, {0xc00, only(LAGTRAP_UNWIND_END)}}, {200, 4, 1, 2, 0, 0});
    const std::uint64_t library = 0x7f0000000000;
    map({{code, 0x1000, code, 2, 0}, {library, 0x1000, library - 0x800, 3, 0}}, 9);
    frame(stack + 16, library + 0x10);
    frame(stack + 40, code + 0x410);
    frame(stack + 56, library + 0x410);
    const Walk found = walk();
    EXPECT_EQ(found.frames, (Frames{code, library + 0x10, code + 0x410, library + 0x410}));
    EXPECT_EQ(found.end, complete);
}

TEST_F(UserStack, each_of_many_mappings_is_found) {
    for (const std::uint32_t count : {1U, 2U, 127U, 128U, 129U, 256U, 300U, 512U}) {
        std::vector<lagtrap_unwind_mapping> mappings;
        for (std::uint32_t i = 0; i < count; ++i)
            mappings.push_back({code + i * 0x10000ULL, 0x1000, code, 10 + i, 0});
        map(mappings, count > 100 ? 8 : 11);
        for (const std::uint32_t i :
             {0U, 1U, 63U, 127U, 128U, 255U, 256U, 299U, 383U, 384U, 511U}) {
            if (i >= count) break;
            table(10 + i).state = LAGTRAP_UNWIND_TABLE_NO_ROOM;
            const std::uint64_t start = mappings[i].start;
            EXPECT_EQ(walk_at(start).end, LAGTRAP_STACK_END_OUT_OF_BUDGET) << i << " of " << count;
            EXPECT_EQ(walk_at(start + 0xfff).end, LAGTRAP_STACK_END_OUT_OF_BUDGET) << i;
            EXPECT_EQ(walk_at(start + 0x1000).end, LAGTRAP_STACK_END_NO_MAPPING) << i;
            EXPECT_EQ(walk_at(start - 1).end, LAGTRAP_STACK_END_NO_MAPPING) << i;
            table(10 + i).state = LAGTRAP_UNWIND_TABLE_MISSING;
        }
    }
    EXPECT_EQ(walk_at(code).end, LAGTRAP_STACK_END_NO_TABLE);
    EXPECT_EQ(walk_at(~0ULL).end, LAGTRAP_STACK_END_NO_MAPPING) << "an address of the kernel";
    map({});
    EXPECT_EQ(walk_at(code).end, LAGTRAP_STACK_END_NO_MAPPING);
}

TEST_F(UserStack, rules_can_use_each_register_of_an_interrupted_thread) {
    // Their order in struct pt_regs.
    const std::vector<int> saved{15, 14, 13, 12, rbp, rbx, 11, 10, 9, 8, rax, 2, 1, 4, 5};
    auto* words = reinterpret_cast<std::uint64_t*>(&saved_);
    for (std::size_t i = 0; i < saved.size(); ++i) {
        if (saved[i] == rbp) continue;  // it is known from the walk
        saved_ = {};
        saved_.named.sp = 0x1000;
        saved_.named.ip = code;
        if (i != 6) saved_.named.orig_ax = no_call;
        if (saved[i] != 14 && saved[i] != 13) words[i] = stack + i * 0x100;
        add_code({{0, by(saved[i], 16)}});
        if (i == 6) saved_.named.ip = code + 1;
        kernel_.user_words.clear();
        frame(words[i] + 16, 0x12345);
        EXPECT_EQ(walk().frames, (Frames{saved_.named.ip, 0x12345})) << saved[i];
    }
}

TEST_F(UserStack, registers_of_callers_are_not_known) {
    add_code({{0, by(rsp, 16)}, {0x100, by(rax, 16)}});
    saved_.others[3] = stack + 100;
    frame(stack + 16, code + 0x110);
    EXPECT_EQ(walk().frames.size(), 2U);
    EXPECT_EQ(walk().end, LAGTRAP_STACK_END_UNSUPPORTED);
}

TEST_F(UserStack, the_frame_pointer_of_a_caller_is_where_the_rule_says) {
    const std::uint64_t next = stack + 0x200;
    struct Case {
        lagtrap_unwind_rule rule;
        std::uint64_t own;    // frame pointer of the first frame
        std::uint64_t place;  // of the caller's
    };
    const lagtrap_unwind_rule base = by(rsp, 64);
    for (const auto& [rule, own, place] :
         {Case{base, next, 0}, Case{with_rbp(base, LAGTRAP_UNWIND_RBP_AT_CFA, -16), 0, stack + 48},
          Case{with_rbp(base, LAGTRAP_UNWIND_RBP_AT_CFA, -24), 0, stack + 40},
          Case{with_rbp(base, LAGTRAP_UNWIND_RBP_AT_RBP, 8), stack + 24, stack + 32},
          Case{with_rbp(base, LAGTRAP_UNWIND_RBP_AT_RBP, -16), stack + 40, stack + 24}}) {
        add_code({{0, rule}, {0x100, by(rbp, 16)}, {0x200, only(LAGTRAP_UNWIND_END)}});
        kernel_.user_words.clear();
        frame(next + 16, code + 0x210);
        frame(stack + 64, code + 0x110, 1);
        saved_.named.bp = own;
        kernel_.user_words[place] = next;
        const Walk found = walk();
        EXPECT_EQ(found.frames, (Frames{code, code + 0x110, code + 0x210})) << place;
        EXPECT_EQ(found.end, complete);
        if (place == 0) continue;
        kernel_.user_words.erase(place);
        EXPECT_EQ(walk().end, LAGTRAP_STACK_END_BAD_ADDRESS);
    }
}

TEST_F(UserStack, a_frame_pointer_outside_of_the_frame_is_still_the_callers) {
    add_code({{0, with_rbp(by(rsp, 64), LAGTRAP_UNWIND_RBP_AT_RBP, 0)}, {0x100, by(rbp, 16)}});
    frame(stack + 64, code + 0x110);
    frame(stack + 0x310, 0x2222);
    for (const std::uint64_t inside : {stack, stack + 40}) {
        saved_.named.bp = inside;
        kernel_.user_words[inside] = stack + 0x300;
        EXPECT_EQ(walk().frames.back(), 0x2222U) << inside - stack;
    }
    saved_.named.bp = stack + 64;
    kernel_.user_words[stack + 64] = stack + 0x300;
    frame(stack + 80, 0x1111, stack + 0x300);
    EXPECT_EQ(walk().frames.back(), 0x1111U);
    saved_.named.bp = stack - 8;
    kernel_.user_words[stack - 8] = stack + 0x300;
    EXPECT_EQ(walk().end, LAGTRAP_STACK_END_NO_PROGRESS);
}

TEST_F(UserStack, a_frame_pointer_that_is_undefined_leads_nowhere) {
    add_code({{0, with_rbp(by(rsp, 64), LAGTRAP_UNWIND_RBP_UNDEFINED)}, {0x100, by(rbp, 16)}});
    saved_.named.bp = stack + 0x200;
    frame(stack + 64, code + 0x110);
    frame(stack + 0x210, 0x1111);
    EXPECT_EQ(walk().frames.size(), 2U);
    EXPECT_EQ(walk().end, LAGTRAP_STACK_END_NO_PROGRESS);
}

TEST_F(UserStack, rbx_is_followed_from_caller_to_caller) {
    lagtrap_unwind_rule keeps = by(rsp, 64), pushes = keeps, loses = keeps;
    pushes.rbx_words = -3;
    loses.rbx_words = LAGTRAP_UNWIND_RBX_UNKNOWN;
    frame(stack + 64, code + 0x110);
    kernel_.user_words[stack + 40] = stack + 0x300;
    frame(stack + 0x310, 0x1111);
    frame(stack + 0x410, 0x2222);
    saved_.named.si = stack + 0x400;  // where struct pt_regs has rbx
    const auto walk_with = [&](lagtrap_unwind_rule rule) {
        add_code({{0, rule}, {0x100, by(rbx, 16)}});
        return walk();
    };
    EXPECT_EQ(walk_with(keeps).frames, (Frames{code, code + 0x110, 0x2222}));
    EXPECT_EQ(walk_with(pushes).frames, (Frames{code, code + 0x110, 0x1111}));
    const Walk lost = walk_with(loses);
    EXPECT_EQ(lost.frames, (Frames{code, code + 0x110}));
    EXPECT_EQ(lost.end, LAGTRAP_STACK_END_UNSUPPORTED);
}

TEST_F(UserStack, a_frame_can_be_where_memory_says) {
    lagtrap_unwind_rule rule = by(rsp, 24, LAGTRAP_UNWIND_DEREFERENCE);
    rule.register_and_add = static_cast<__u8>(rule.register_and_add | 2 << 4);
    add_code({{0, rule}});
    EXPECT_EQ(walk().end, LAGTRAP_STACK_END_BAD_ADDRESS);
    kernel_.user_words[stack + 24] = stack + 0x100;
    frame(stack + 0x110, 0x1111);
    EXPECT_EQ(walk().frames, (Frames{code, 0x1111}));
}

TEST_F(UserStack, in_a_jump_table_the_frame_depends_on_the_instruction) {
    add_code({{0, by(rsp, 11, LAGTRAP_UNWIND_PLT)}});
    frame(stack + 8, 0x1111);
    frame(stack + 16, 0x2222, 0x1111);
    for (const std::uint64_t offset : {0, 10, 16, 26})
        EXPECT_EQ(walk_at(code + offset).frames.at(1), 0x1111U) << offset;
    for (const std::uint64_t offset : {11, 15, 27})
        EXPECT_EQ(walk_at(code + offset).frames.at(1), 0x2222U) << offset;
}

TEST_F(UserStack, continues_with_the_code_that_a_signal_interrupted) {
    // Their order in struct ucontext.
    const std::vector<int> saved{8, 9, 10, 11, 12, 13, 14, 15, 5, 4, rbp, rbx, 1, rax, 2};
    constexpr std::size_t rbp_place = 10, rsp_place = 15, rip_place = 16;
    const auto word = [&](std::size_t i) -> std::uint64_t& {
        return kernel_.user_words[stack + 40 + i * 8];
    };
    for (std::size_t i = 0; i < saved.size(); ++i) {
        add_code({{0, only(LAGTRAP_UNWIND_SIGNAL)},
                  {0x1ff, only(LAGTRAP_UNWIND_UNSUPPORTED)},
                  {0x200, by(saved[i], 16)},
                  {0x300, by(rbp, 16)}});
        kernel_.user_words.clear();
        for (std::size_t each = 0; each < rsp_place; ++each)
            word(each) = stack + 0x1000 + each * 0x100;
        word(rsp_place) = stack + 0x400;
        word(rip_place) = code + 0x200;
        frame(word(i) + 16, code + 0x301);
        frame(word(rbp_place) + 16, i == rbp_place ? code + 0x301 : 0x1111);
        const Walk found = walk();
        Frames expected{code, code + 0x200, code + 0x301};
        if (i < rbp_place) expected.push_back(0x1111);  // otherwise, that frame is below
        EXPECT_EQ(found.frames, expected) << saved[i];
    }
    kernel_.user_words.erase(stack + 40 + rip_place * 8);
    const Walk found = walk();
    EXPECT_EQ(found.frames, (Frames{code}));
    EXPECT_EQ(found.end, LAGTRAP_STACK_END_BAD_ADDRESS);
}

TEST_F(UserStack, continues_at_the_stack_pointer_that_a_signal_interrupted) {
    add_code({{0, only(LAGTRAP_UNWIND_SIGNAL)},
              {0x1ff, only(LAGTRAP_UNWIND_UNSUPPORTED)},
              {0x200, by(rsp, 32)},
              {0x300, by(rax, 16)}});
    for (std::uint64_t at = stack; at < stack + 0x100; at += 8) kernel_.user_words[at] = 0;
    kernel_.user_words[stack + 40 + 15 * 8] = stack + 0x400;
    kernel_.user_words[stack + 40 + 16 * 8] = code + 0x200;
    frame(stack + 0x420, 0x1111);
    saved_.named.orig_ax = call_sleep;
    EXPECT_EQ(walk_at(code + 8).frames, (Frames{code + 8, code + 0x200, 0x1111}));
    // The next walk begins with the registers that the kernel saved.
    saved_.named.orig_ax = no_call;
    saved_.others[3] = stack + 0x500;
    frame(stack + 0x510, 0x2222);
    EXPECT_EQ(walk_at(code + 0x300).frames, (Frames{code + 0x300, 0x2222}));
}

TEST_F(UserStack, rows_of_a_table_can_share_a_rule) {
    add_code({{0, by(rsp, 16)}, {0x80, by(rsp, 32)}, {0x100, by(rsp, 48)}});
    in_page<__u32>(102, 2) = 0x100 << LAGTRAP_UNWIND_RULE_BITS | 0;
    frame(stack + 16, 0x1111);
    frame(stack + 32, 0x2222);
    EXPECT_EQ(walk_at(code + 0xff).frames.at(1), 0x2222U);
    EXPECT_EQ(walk_at(code + 0x100).frames.at(1), 0x1111U);
}

TEST_F(UserStack, ends_where_a_caller_cannot_be_found) {
    const auto end_with = [&](lagtrap_unwind_rule rule) {
        add_code({{0, rule}});
        return walk().end;
    };
    EXPECT_EQ(end_with(only(LAGTRAP_UNWIND_UNSUPPORTED)), LAGTRAP_STACK_END_UNSUPPORTED);
    EXPECT_EQ(end_with(by(rsp, 16)), LAGTRAP_STACK_END_BAD_ADDRESS);
    frame(stack, 0x1111);
    EXPECT_EQ(end_with(by(rsp, 0)), LAGTRAP_STACK_END_NO_PROGRESS);
    for (const auto& [state, end] :
         {std::pair(LAGTRAP_UNWIND_TABLE_MISSING, LAGTRAP_STACK_END_NO_TABLE),
          std::pair(LAGTRAP_UNWIND_TABLE_NO_ROOM, LAGTRAP_STACK_END_OUT_OF_BUDGET)}) {
        table(2).state = state;
        EXPECT_EQ(walk().end, end);
    }
}

TEST_F(UserStack, has_no_more_frames_than_fit) {
    add_code({{0, by(rsp, 16)}});
    for (std::uint64_t i = 1; i < 200; ++i) frame(stack + i * 16, code + i + 1);
    Walk found = walk();
    Frames expected(LAGTRAP_MAX_FRAMES);
    std::iota(expected.begin(), expected.end(), code + 1);
    expected[0] = code;
    EXPECT_EQ(found.frames, expected);
    EXPECT_EQ(found.end, LAGTRAP_STACK_END_TOO_DEEP);
    frame(stack + LAGTRAP_MAX_FRAMES * 16, 0);
    found = walk();
    EXPECT_EQ(found.frames, expected);
    EXPECT_EQ(found.end, complete);
}

// Code without unwind information.
class GuessedStack : public Walks {
  protected:
    GuessedStack() {
        add_code({{0, only(LAGTRAP_UNWIND_GAP)},
                  {0x100, by(rsp, 16)},
                  {0x200, by(rbx, 16)},
                  {0x300, only(LAGTRAP_UNWIND_END)}});
        saved_.named.bp = stack + 0x80;
        frame(stack + 0x90, code + 0x301, stack + 0x180);
    }
    void expect_gap() {
        const Walk found = walk();
        EXPECT_EQ(found.frames, (Frames{code}));
        EXPECT_EQ(found.end, LAGTRAP_STACK_END_GAP | by_frame_pointer);
    }
};

TEST_F(GuessedStack, follows_the_frame_pointer) {
    const Walk found = walk();
    EXPECT_EQ(found.frames, (Frames{code, code + 0x301}));
    EXPECT_EQ(found.end, complete | by_frame_pointer);
    frame(stack + 0x90, code + 0x10, stack + 0x180);
    frame(stack + 0x190, code + 0x110);
    frame(stack + 0x1a0, code + 0x301);
    EXPECT_EQ(walk().frames, (Frames{code, code + 0x10, code + 0x110, code + 0x301}));
    frame(stack + 0x190, 0);
    EXPECT_EQ(walk().frames, (Frames{code, code + 0x10}));
    EXPECT_EQ(walk().end, complete | by_frame_pointer) << "there is no caller";
}

TEST_F(GuessedStack, prefers_a_return_address_on_top_of_the_stack) {
    kernel_.user_words[stack] = code + 0x101;
    frame(stack + 24, code + 0x301);
    EXPECT_EQ(walk().frames, (Frames{code, code + 0x101, code + 0x301}));
    kernel_.user_words[stack] = code;
    EXPECT_EQ(walk().frames, (Frames{code, code + 0x301})) << "nothing is called before the code";
    kernel_.user_words[stack] = code + 0x1000;
    EXPECT_EQ(walk().frames, (Frames{code, code + 0x1000, code + 0x301}));
    kernel_.user_words[stack] = code + 0x1001;
    EXPECT_EQ(walk().frames, (Frames{code, code + 0x301}));
    kernel_.user_words[stack] = code + 0x101;
    saved_.named.orig_ax = call_sleep;
    EXPECT_EQ(walk_at(code + 1).frames, (Frames{code + 1, code + 0x301}))
        << "a function in a call has pushed something";
}

TEST_F(GuessedStack, does_not_follow_a_frame_pointer_that_cannot_be_one) {
    saved_.named.bp = stack - 16;
    frame(stack, code + 0x301);
    expect_gap();
    saved_.named.bp = 0;
    expect_gap();
    saved_.named.bp = stack + 4;
    kernel_.user_words[stack + 4] = 0;
    kernel_.user_words[stack + 12] = code + 0x301;
    expect_gap();
    saved_.named.bp = stack + (1 << 20) + 8;
    frame(saved_.named.bp + 16, code + 0x301);
    expect_gap();
    saved_.named.bp = stack + (1 << 20);
    frame(saved_.named.bp + 16, code + 0x301);
    EXPECT_EQ(walk().end, complete | by_frame_pointer);
    frame(saved_.named.bp + 16, code);
    expect_gap();
    saved_.named.bp = stack;
    frame(stack + 16, code + 0x301);
    EXPECT_EQ(walk().end, complete | by_frame_pointer);
    kernel_.user_words.erase(stack + 8);
    expect_gap();
}

TEST_F(GuessedStack, keeps_rbx_only_below_a_return_address_on_top) {
    saved_.named.si = stack + 0x400;  // where struct pt_regs has rbx
    frame(stack + 0x410, code + 0x301);
    frame(stack + 0x90, code + 0x210);
    const Walk found = walk();
    EXPECT_EQ(found.frames, (Frames{code, code + 0x210}));
    EXPECT_EQ(found.end, LAGTRAP_STACK_END_UNSUPPORTED | by_frame_pointer);
    kernel_.user_words[stack] = code + 0x210;
    EXPECT_EQ(walk().frames, (Frames{code, code + 0x210, code + 0x301}));
}

TEST_F(GuessedStack, in_a_file_without_unwind_information_has_frame_pointers_alone) {
    table(2).state = LAGTRAP_UNWIND_TABLE_FRAME_POINTERS;
    kernel_.user_words[stack] = code + 0x101;
    frame(stack + 0x190, 0);
    Walk found = walk();
    EXPECT_EQ(found.frames, (Frames{code, code + 0x301}));
    EXPECT_EQ(found.end, complete | by_frame_pointer);
    saved_.named.bp = 0;
    found = walk();
    EXPECT_EQ(found.frames, (Frames{code}));
    EXPECT_EQ(found.end, complete | by_frame_pointer);
    saved_.named.bp = stack + 4;
    expect_gap();
}

TEST_F(GuessedStack, a_function_that_was_never_called_begins_at_its_return_address) {
    kernel_.user_words[stack] = code + 0x300;
    add_table(
        3, {{0, by(rsp, 16)}, {0x2f0, only(LAGTRAP_UNWIND_GAP)}, {0x300, only(LAGTRAP_UNWIND_END)}},
        {200, 4, 1, 2, 0, 0});
    map({{code, 0x1000, code, 3, 0}});
    frame(stack + 16, code + 0x300);
    const Walk found = walk();
    EXPECT_EQ(found.frames, (Frames{code, code + 0x300}));
    EXPECT_EQ(found.end, complete) << "nothing is guessed";
}

// Threads that probes have stopped, or whose return addresses they have replaced.
class ProbedStack : public Walks {
  protected:
    static constexpr std::uint64_t trampoline = 0x7fffffffe000, copy = 0x7ffff0000000;

    ProbedStack() {
        add_code({{0, by(rsp, 16)}, {0x200, only(LAGTRAP_UNWIND_GAP)}});
        task(101).task.utask = &probes_;
    }
    Walk sample(std::uint64_t address, bool in_kernel = true) {
        struct {
            pt_regs registers{};
            std::uint64_t period = 0, address = 0;
        } context;
        context.registers.cs = in_kernel ? 0x10 : 0x33;
        saved_.named.ip = address;
        recording.capture = recording.capture + 1;
        select(101);
        on_sample(&context);
        return taken();
    }
    kernel::uprobe_task probes_{};
};

TEST_F(ProbedStack, has_the_true_return_addresses) {
    frame(stack + 16, trampoline);
    frame(stack + 32, trampoline);
    frame(stack + 48, 0x3333);
    frame(stack + 64, trampoline);
    kernel::return_instance outer{stack + 56, 0x4444, nullptr};
    kernel::return_instance second{stack + 24, code + 0x22, &outer},
        first{stack + 24, trampoline, &second};
    kernel::return_instance inner{stack + 8, code + 0x11, &first}, left{stack - 8, 0x1111, &inner};
    probes_.return_instances = &left;
    EXPECT_EQ(walk().frames, (Frames{code, code + 0x11, code + 0x22, 0x3333}));
    kernel_.user_words[stack + 40] = code + 0x33;
    EXPECT_EQ(walk().frames, (Frames{code, code + 0x11, code + 0x22, code + 0x33, 0x4444}));
    left.next = nullptr;
    frame(stack + 16, 0x5555);
    EXPECT_EQ(walk().frames, (Frames{code, 0x5555})) << "that call was left without a return";
}

TEST_F(ProbedStack, has_the_true_return_address_of_a_guessed_frame) {
    saved_.named.bp = stack + 0x80;
    frame(stack + 0x90, trampoline);
    EXPECT_EQ(walk_at(code + 0x200).frames.size(), 1U);
    kernel::return_instance instance{stack + 0x88, 0x1111, nullptr};
    probes_.return_instances = &instance;
    EXPECT_EQ(walk().frames, (Frames{code + 0x200, 0x1111}));
}

TEST_F(ProbedStack, begins_at_the_instruction_whose_copy_is_run) {
    probes_.xol_vaddr = copy;
    probes_.vaddr = code + 0x10;
    frame(stack + 16, 0x1111);
    EXPECT_EQ(walk_at(copy).frames, (Frames{code + 0x10, 0x1111}));
    EXPECT_EQ(walk_at(copy + 15).frames, (Frames{code + 0x1f, 0x1111}));
    EXPECT_EQ(walk_at(copy + 16).frames, (Frames{copy + 16}));
    EXPECT_EQ(walk_at(copy - 1).frames, (Frames{copy - 1}));
    EXPECT_EQ(walk_at(code).frames, (Frames{code, 0x1111}));
    probes_.xol_vaddr = 0;
    EXPECT_EQ(walk_at(5).frames, (Frames{5}));
}

TEST_F(ProbedStack, begins_at_a_breakpoint_that_the_kernel_is_handling) {
    const std::uint64_t at = code + 0x10;
    const auto first_frame = [&](std::uint64_t bytes, std::uint64_t top, std::uint64_t next) {
        kernel_.user_words[at - 1] = bytes;  // before it, and its first
        frame(stack + 16, next, top);
        return sample(at).frames.at(0);
    };
    EXPECT_EQ(first_frame(0x90cc, code + 0x30, 0), at - 1) << "it is behind the breakpoint";
    EXPECT_EQ(first_frame(0x90cc, 0, code + 0x30), at) << "its first instruction was run";
    EXPECT_EQ(first_frame(0xcc90, 0, code + 0x30), at + 1) << "its `push` was run";
    EXPECT_EQ(first_frame(0xcc90, code + 0x30, code + 0x30), at);
    EXPECT_EQ(first_frame(0xcc90, 0, 0), at);
    EXPECT_EQ(first_frame(0x9090, code + 0x30, 0), at);
    EXPECT_EQ(first_frame(0x9090, 0, code + 0x30), at);
    kernel_.user_words[at - 1] = 0x90cc;
    frame(stack + 16, 0, code + 0x30);
    EXPECT_EQ(sample(at).frames.at(0), at - 1);
    EXPECT_EQ(sample(at, false).frames.at(0), at) << "it was not in the kernel";
    EXPECT_EQ(walk_at(at).frames.at(0), at) << "it is not sampled";
    saved_.named.orig_ax = call_sleep;
    EXPECT_EQ(sample(at).frames.at(0), at) << "it is in a system call";
    saved_.named.orig_ax = no_call;
    kernel_.user_words.erase(stack + 8);
    EXPECT_EQ(sample(at).frames.at(0), at);
}

TEST_F(UserStack, of_32_bit_code_or_an_unknown_process_has_one_frame) {
    Walk found = walk();
    EXPECT_EQ(found.frames, (Frames{code}));
    EXPECT_EQ(found.end, LAGTRAP_STACK_END_NO_PROCESS);
    add_code({{0, by(rsp, 16)}});
    frame(stack + 16, 0x1111);
    saved_.named.cs = 0x23;
    found = walk();
    EXPECT_EQ(found.frames, (Frames{code}));
    EXPECT_EQ(found.end, LAGTRAP_STACK_END_32_BIT);
    found = walk_asleep();
    EXPECT_EQ(found.frames, (Frames{code}));
    EXPECT_EQ(found.end, LAGTRAP_STACK_END_32_BIT);
    saved_.named.cs = 0x33;
    EXPECT_EQ(walk().frames.size(), 2U);
    EXPECT_EQ(walk_at(0).end, -1) << "a worker of the kernel";
    saved_.named.ip = code;
    task(101).task.mm = nullptr;
    EXPECT_EQ(walk().end, -1) << "it is ending";
}

}  // namespace

}  // namespace lagtrap::native::user_stack_test
