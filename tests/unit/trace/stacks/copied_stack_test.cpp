#include "trace/stacks/copied_stack.hpp"

#include <cstring>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::trace::copied_stack_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t stack_start = 0x7000'0000'1000;
constexpr unsigned rbx = 3, rbp = 6, rsp = 7, r10 = 10;

CodeRule rule(unsigned kind, unsigned base, int cfa_offset,
              unsigned rbp_place = LAGTRAP_UNWIND_RBP_SAME, int rbp_offset = 0, int rbx_words = 0) {
    CodeRule code;
    code.kind = CodeRule::Kind::Rule;
    code.rule.cfa_offset = cfa_offset;
    code.rule.rbx_words = static_cast<signed char>(rbx_words);
    code.rule.rbp_offset = static_cast<std::int16_t>(rbp_offset);
    code.rule.kind_and_rbp = static_cast<std::uint8_t>(kind | rbp_place << 4);
    code.rule.register_and_add = static_cast<std::uint8_t>(base);
    return code;
}

CodeRule by_stack_pointer(int frame_bytes) {
    return rule(LAGTRAP_UNWIND_REGISTER, rsp, frame_bytes);
}

class CopiedStack : public testing::Test {
  protected:
    CopiedStack() {
        copy_.pc = 0x1000;
        copy_.sp = copy_.copied_from = stack_start;
        code_[0x9000] = rule(LAGTRAP_UNWIND_END, 0, 0);
    }
    // Functions of 4 KiB each, by their start address.
    ContinuedStack walk(const std::vector<std::uint64_t>& memory, std::size_t frames_before = 1) {
        std::vector<char> record(sizeof(lagtrap_stack_copy) + memory.size() * sizeof(memory[0]));
        copy_.copied_bytes = static_cast<__u32>(memory.size() * sizeof(memory[0]));
        std::memcpy(record.data(), &copy_, sizeof copy_);
        if (!memory.empty())
            std::memcpy(record.data() + sizeof copy_, memory.data(), copy_.copied_bytes);
        return continue_stack(*reinterpret_cast<const lagtrap_stack_copy*>(record.data()),
                              frames_before, [this](std::uint64_t address) {
                                  const auto found = code_.find(address & ~0xfffULL);
                                  return found == code_.end() ? CodeRule() : found->second;
                              });
    }

    lagtrap_stack_copy copy_{};
    std::map<std::uint64_t, CodeRule> code_;
};

TEST_F(CopiedStack, GoesOnToTheFirstFrame) {
    code_[0x1000] = by_stack_pointer(16);
    code_[0x2000] = by_stack_pointer(8);
    const auto stack = walk({0, 0x2010, 0x9004});
    EXPECT_THAT(stack.frames, ElementsAre(0x2010, 0x9004));
    EXPECT_EQ(stack.end, LAGTRAP_STACK_END_COMPLETE);
}

TEST_F(CopiedStack, LooksUpTheCallAndNotWhatFollowsIt) {
    code_[0x1000] = by_stack_pointer(8);
    code_[0x2000] = by_stack_pointer(8);  // its last instruction is the call
    const auto stack = walk({0x3000, 0x9004});
    EXPECT_THAT(stack.frames, ElementsAre(0x3000, 0x9004));
    EXPECT_EQ(stack.end, LAGTRAP_STACK_END_COMPLETE);
    copy_.pc = 0x2000;
    copy_.known = LAGTRAP_COPY_AFTER_CALL;
    EXPECT_EQ(walk({0x9004}).frames.size(), 1U);  // by the rule of 0x1fff
}

// The function that follows a call at the end of another one has a frame of a different size.
TEST_F(CopiedStack, ACopyMayBeginAfterACall) {
    code_[0x1000] = by_stack_pointer(8);
    code_[0x2000] = by_stack_pointer(16);
    copy_.pc = 0x2000;
    EXPECT_THAT(walk({0x3333, 0x9004}).frames, ElementsAre(0x9004));
    copy_.known = LAGTRAP_COPY_AFTER_CALL;
    EXPECT_THAT(walk({0x9004, 0x3333}).frames, ElementsAre(0x9004));
}

TEST_F(CopiedStack, RbxIsUsedIfItWasCopied) {
    code_[0x1000] = rule(LAGTRAP_UNWIND_REGISTER, rbx, 8);
    copy_.rbx = stack_start;
    EXPECT_EQ(walk({0x9004}).end, LAGTRAP_STACK_END_UNSUPPORTED);
    copy_.known = LAGTRAP_COPY_HAS_RBX;
    EXPECT_THAT(walk({0x9004}).frames, ElementsAre(0x9004));
}

TEST_F(CopiedStack, SaysThatThePartBeforeItWasGuessed) {
    code_[0x1000] = by_stack_pointer(8);
    copy_.end = LAGTRAP_STACK_BY_FRAME_POINTER | LAGTRAP_STACK_END_GAP;
    EXPECT_EQ(walk({0x9004}).end, LAGTRAP_STACK_END_COMPLETE | LAGTRAP_STACK_BY_FRAME_POINTER);
}

TEST_F(CopiedStack, FollowsFramePointersAndSavedRegisters) {
    // Saves rbp and rbx; its caller's frame is found with the one, the next with the other.
    code_[0x1000] = rule(LAGTRAP_UNWIND_REGISTER, rsp, 24, LAGTRAP_UNWIND_RBP_AT_CFA, -16, -3);
    code_[0x2000] = rule(LAGTRAP_UNWIND_REGISTER, rbp, 16, LAGTRAP_UNWIND_RBP_UNDEFINED);
    code_[0x3000] = rule(LAGTRAP_UNWIND_REGISTER, rbx, 8);
    const auto stack = walk({stack_start + 56, stack_start + 32, 0x2010, 0, 0, 0x3010, 0, 0x9004});
    EXPECT_THAT(stack.frames, ElementsAre(0x2010, 0x3010, 0x9004));
    EXPECT_EQ(stack.end, LAGTRAP_STACK_END_COMPLETE);
}

TEST_F(CopiedStack, OtherRegistersAreKnownOfTheFirstFrameAlone) {
    code_[0x1000] = rule(LAGTRAP_UNWIND_DEREFERENCE, r10, 0);
    copy_.registers[7] = stack_start;  // r10 of struct pt_regs
    EXPECT_EQ(walk({stack_start + 16, 0x9004}).end, LAGTRAP_STACK_END_UNSUPPORTED);
    copy_.known = LAGTRAP_COPY_HAS_REGISTERS;
    const auto stack = walk({stack_start + 16, 0x9004});
    EXPECT_THAT(stack.frames, ElementsAre(0x9004));
    EXPECT_EQ(stack.end, LAGTRAP_STACK_END_COMPLETE);
    code_[0x2000] = code_[0x1000];
    EXPECT_EQ(walk({stack_start + 16, 0x2004}).end, LAGTRAP_STACK_END_UNSUPPORTED);
}

TEST_F(CopiedStack, GivesBackReturnAddressesThatProbesReplaced) {
    code_[0x1000] = by_stack_pointer(8);
    code_[0x2000] = by_stack_pointer(8);
    copy_.return_count = 2;
    copy_.returns[0] = {stack_start - 8, 0x3000};  // of a frame that was left
    copy_.returns[1] = {stack_start, 0x2010};
    const auto stack = walk({0x7fff'ffff'e000, 0x9004});
    EXPECT_THAT(stack.frames, ElementsAre(0x2010, 0x9004));
}

TEST_F(CopiedStack, GoesOverASignal) {
    code_[0x1000] = rule(LAGTRAP_UNWIND_SIGNAL, 0, 0);
    code_[0x2000] = by_stack_pointer(8);
    std::vector<std::uint64_t> memory(64);
    memory[5 + 15] = stack_start + 50 * 8;  // rsp
    memory[5 + 16] = 0x2000;                // rip: interrupted at a function's first instruction
    memory[50] = 0x9004;
    const auto stack = walk(memory);
    EXPECT_THAT(stack.frames, ElementsAre(0x2000, 0x9004));
    EXPECT_EQ(stack.end, LAGTRAP_STACK_END_COMPLETE);
}

TEST_F(CopiedStack, WhatHasNoUnwindInformationIsGuessedAndSaysSo) {
    code_[0x1000].kind = CodeRule::Kind::RunTime;
    copy_.bp = stack_start;
    const auto stack = walk({0, 0x9004});
    EXPECT_THAT(stack.frames, ElementsAre(0x9004));
    EXPECT_EQ(stack.end, LAGTRAP_STACK_END_COMPLETE | LAGTRAP_STACK_BY_FRAME_POINTER);
    copy_.bp = stack_start + 4;
    EXPECT_EQ(walk({0, 0x9004}).end, LAGTRAP_STACK_END_GAP | LAGTRAP_STACK_BY_FRAME_POINTER);
}

// At the end of a function, between the last `pop` and the return.
TEST_F(CopiedStack, FindsWhatWasRestoredJustBelowTheStackPointer) {
    code_[0x1000] = rule(LAGTRAP_UNWIND_REGISTER, rsp, 8, LAGTRAP_UNWIND_RBP_AT_CFA, -16);
    code_[0x2000] = rule(LAGTRAP_UNWIND_REGISTER, rbp, 8);
    copy_.sp = stack_start + 16;
    const auto stack = walk({0, stack_start + 24, 0x2010, 0x9004});
    EXPECT_THAT(stack.frames, ElementsAre(0x2010, 0x9004));
    EXPECT_EQ(stack.end, LAGTRAP_STACK_END_COMPLETE);
}

TEST_F(CopiedStack, SaysWhyItEnds) {
    EXPECT_EQ(walk({0x9004}).end, LAGTRAP_STACK_END_NO_MAPPING);
    code_[0x1000].kind = CodeRule::Kind::NoTable;
    EXPECT_EQ(walk({0x9004}).end, LAGTRAP_STACK_END_NO_TABLE);
    code_[0x1000] = by_stack_pointer(0);
    EXPECT_EQ(walk({0x9004}).end, LAGTRAP_STACK_END_NO_PROGRESS);
    code_[0x1000] = by_stack_pointer(8);
    EXPECT_EQ(walk({}).end, LAGTRAP_STACK_END_BAD_ADDRESS);
    EXPECT_EQ(walk({0}).end, LAGTRAP_STACK_END_COMPLETE);
    code_[0x1000] = by_stack_pointer(LAGTRAP_COPIED_STACK_BYTES + 8);
    const auto cut = walk(std::vector<std::uint64_t>(LAGTRAP_COPIED_STACK_BYTES / 8));
    EXPECT_EQ(cut.end, LAGTRAP_STACK_END_COPY_ENDED);
    EXPECT_THAT(cut.frames, IsEmpty());
}

TEST_F(CopiedStack, HasNoMoreFramesThanOthers) {
    code_[0x1000] = by_stack_pointer(8);
    const auto stack = walk(std::vector<std::uint64_t>(500, 0x1010), 100);
    EXPECT_EQ(stack.frames.size(), LAGTRAP_MAX_FRAMES - 100U);
    EXPECT_EQ(stack.end, LAGTRAP_STACK_END_TOO_DEEP);
}

// A hostile stack: offsets and addresses at the limits of their types.
TEST_F(CopiedStack, BelievesNothing) {
    for (const std::uint64_t word :
         std::vector<std::uint64_t>{0, 1, 0x1004, stack_start, ~0ULL, ~7ULL, 1ULL << 63})
        for (const int offset : {-(1 << 23), -16, -1, 0, 1, 8, 17, (1 << 23) - 1})
            for (const unsigned kind :
                 {LAGTRAP_UNWIND_GAP, LAGTRAP_UNWIND_REGISTER, LAGTRAP_UNWIND_DEREFERENCE,
                  LAGTRAP_UNWIND_PLT, LAGTRAP_UNWIND_SIGNAL})
                for (const std::uint64_t bp :
                     std::vector<std::uint64_t>{0, word, stack_start + 8, ~0ULL}) {
                    code_[0x1000] =
                        rule(kind, rsp, offset, LAGTRAP_UNWIND_RBP_AT_RBP, -32768, -127);
                    copy_.bp = bp;
                    EXPECT_LE(walk(std::vector<std::uint64_t>(40, word)).frames.size(),
                              LAGTRAP_MAX_FRAMES);
                }
}

}  // namespace
}  // namespace lagtrap::trace::copied_stack_test
