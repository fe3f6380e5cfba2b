// Single instructions of x86-64 and what they say about the flow of control.
#include "binaries/code/code_branches.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::binaries::test::code_branches_test {
namespace {

using ::testing::StartsWith;
constexpr std::uint64_t address = 0x401000;
using Code = std::vector<unsigned>;

std::vector<Branch> branches_of(const Code& code) {
    std::string bytes;
    for (const unsigned byte : code) bytes += static_cast<char>(byte);
    const auto decoded = decode_branches(bytes, address);
    EXPECT_TRUE(decoded) << decoded.error().message;
    return decoded ? *decoded : std::vector<Branch>{};
}

// The only branch of one instruction, which follows a nop.
Branch branch_of(const Code& instruction) {
    Code code{0x90};
    code.insert(code.end(), instruction.begin(), instruction.end());
    const auto branches = branches_of(code);
    EXPECT_EQ(branches.size(), 1U);
    if (branches.size() != 1) return {};
    EXPECT_EQ(branches[0].address, address + 1);
    EXPECT_EQ(branches[0].next, address + code.size());
    return branches[0];
}

TEST(CodeBranches, ReturnsAndWhatDoesNotContinue) {
    for (const Code& code : {Code{0xc3}, {0xc2, 8, 0}, {0xf3, 0xc3}, {0xf2, 0xc3}})
        EXPECT_EQ(branch_of(code).kind, BranchKind::Return);
    for (const Code& code : {Code{0xcb},
                             {0x48, 0xcb},
                             {0xcf},
                             {0x48, 0xcf},
                             {0x0f, 0x07},
                             {0x0f, 0x35},
                             {0xff, 0x2d, 0, 0, 0, 0}})
        EXPECT_EQ(branch_of(code).kind, BranchKind::FarReturn) << code[0];
    for (const Code& code : {Code{0x0f, 0x0b}, {0xf4}, {0xcc}})
        EXPECT_EQ(branch_of(code).kind, BranchKind::Stop) << code[0];
    EXPECT_TRUE(branches_of({0x90, 0x55, 0x0f, 0x05, 0x48, 0x89, 0xe5}).empty());
    EXPECT_TRUE(branches_of({}).empty());
}

TEST(CodeBranches, DirectBranchesHaveATarget) {
    const Branch call = branch_of({0xe8, 0x10, 0, 0, 0});
    EXPECT_EQ(call.kind, BranchKind::Call);
    EXPECT_EQ(call.target, address + 6 + 0x10);
    const Branch backwards = branch_of({0xe9, 0xf0, 0xff, 0xff, 0xff});
    EXPECT_EQ(backwards.kind, BranchKind::Jump);
    EXPECT_EQ(backwards.target, address + 6 - 0x10);
    EXPECT_EQ(backwards.condition, JumpCondition::Always);
    EXPECT_EQ(branch_of({0xeb, 0x02}).kind, BranchKind::Jump);
    EXPECT_EQ(branch_of({0xeb, 0x02}).target, address + 3 + 2);
}

TEST(CodeBranches, ConditionsAreThoseOfTheInstruction) {
    for (unsigned code = 0; code < 16; ++code) {
        for (const Code& jump : {Code{0x70 + code, 0x10}, {0x0f, 0x80 + code, 0x10, 0, 0, 0}}) {
            const Branch branch = branch_of(jump);
            EXPECT_EQ(branch.kind, BranchKind::ConditionalJump);
            EXPECT_EQ(static_cast<unsigned>(branch.condition), 1 + code);
            EXPECT_EQ(branch.target, branch.next + 0x10);
        }
    }
    EXPECT_EQ(branch_of({0xe3, 0x10}).condition, JumpCondition::RcxZero);
    EXPECT_EQ(branch_of({0x67, 0xe3, 0x10}).condition, JumpCondition::EcxZero);
    for (const unsigned loop : {0xe0U, 0xe1U, 0xe2U}) {
        const Branch branch = branch_of({loop, 0x10});
        EXPECT_EQ(branch.kind, BranchKind::ConditionalJump);
        EXPECT_EQ(branch.condition, JumpCondition::Always);
        EXPECT_EQ(branch.target, address + 3 + 0x10);
    }
}

TEST(CodeBranches, SlotsAreAtAFixedAddress) {
    const Branch call = branch_of({0xff, 0x15, 0x10, 0, 0, 0});
    EXPECT_EQ(call.kind, BranchKind::CallThroughSlot);
    EXPECT_EQ(call.target, address + 7 + 0x10);
    const Branch jump = branch_of({0xff, 0x25, 0xf0, 0xff, 0xff, 0xff});
    EXPECT_EQ(jump.kind, BranchKind::JumpThroughSlot);
    EXPECT_EQ(jump.target, address + 7 - 0x10);
}

TEST(CodeBranches, IndirectBranchesSayHowTheTargetIsComputed) {
    // Through rax to r15.
    for (unsigned number = 0; number < 16; ++number) {
        const bool extended = number >= 8;
        const Code jump =
            extended ? Code{0x41, 0xff, 0xe0 + number - 8} : Code{0xff, 0xe0 + number};
        const Code call =
            extended ? Code{0x41, 0xff, 0xd0 + number - 8} : Code{0xff, 0xd0 + number};
        EXPECT_EQ(branch_of(jump).kind, BranchKind::IndirectJump);
        EXPECT_EQ(branch_of(call).kind, BranchKind::IndirectCall);
        EXPECT_EQ(branch_of(jump).computed.base, number);
        EXPECT_EQ(branch_of(call).computed.base, number);
        EXPECT_FALSE(branch_of(jump).computed.in_memory);
    }
    // call *-8(%rbx,%rcx,SCALE)
    for (const unsigned shift : {0U, 1U, 2U, 3U}) {
        const Branch branch = branch_of({0xff, 0x54, 0x0b | shift << 6, 0xf8});
        EXPECT_EQ(branch.kind, BranchKind::IndirectCall);
        EXPECT_TRUE(branch.computed.in_memory);
        EXPECT_EQ(branch.computed.displacement, -8);
        EXPECT_EQ(branch.computed.base, 3);
        EXPECT_EQ(branch.computed.index, 1);
        EXPECT_EQ(branch.computed.scale_shift, shift);
    }
    const Branch plain = branch_of({0xff, 0x60, 0x18});  // jmp *0x18(%rax)
    EXPECT_EQ(plain.computed.base, 0);
    EXPECT_EQ(plain.computed.index, no_jump_register);
    EXPECT_EQ(plain.computed.displacement, 0x18);
    EXPECT_EQ(plain.table, TableKind::None);
    // jmp *%fs:(%rax): only the processor knows the segment's base.
    const Branch segment = branch_of({0x64, 0xff, 0x20});
    EXPECT_EQ(segment.kind, BranchKind::IndirectJump);
    EXPECT_EQ(segment.computed.base, no_jump_register);
    EXPECT_FALSE(segment.computed.in_memory);
}

TEST(CodeBranches, ATableOfPointersHasAnAddress) {
    const Branch branch = branch_of({0xff, 0x24, 0xc5, 0x00, 0x20, 0x40, 0x00});
    EXPECT_EQ(branch.kind, BranchKind::IndirectJump);
    EXPECT_EQ(branch.table, TableKind::Pointers);
    EXPECT_EQ(branch.table_address, 0x402000U);
    const Branch marked = branch_of({0x3e, 0xff, 0x24, 0xc5, 0x00, 0x20, 0x40, 0x00});
    EXPECT_EQ(marked.table, TableKind::Marked);
    EXPECT_EQ(marked.table_address, 0x402000U);
    // A call is no switch.
    const Branch call = branch_of({0xff, 0x14, 0xc5, 0x00, 0x20, 0x40, 0x00});
    EXPECT_EQ(call.kind, BranchKind::IndirectCall);
    EXPECT_EQ(call.table, TableKind::None);
    EXPECT_EQ(call.table_address, 0U);
}

const Code load_table{0x48, 0x8d, 0x15, 0x10, 0, 0, 0};  // lea 0x10(%rip),%rdx
const Code load_entry{0x48, 0x63, 0x04, 0x82};           // movslq (%rdx,%rax,4),%rax
const Code add_table{0x48, 0x01, 0xd0};                  // add %rdx,%rax
const Code add_entry{0x48, 0x01, 0xc2};                  // add %rax,%rdx
const Code jump_rax{0xff, 0xe0}, jump_rdx{0xff, 0xe2};

Branch last_of(const std::vector<Code>& instructions) {
    Code code;
    for (const Code& one : instructions) code.insert(code.end(), one.begin(), one.end());
    const auto branches = branches_of(code);
    return branches.empty() ? Branch{} : branches.back();
}

TEST(CodeBranches, ASumWithATableIsASwitch) {
    for (const Branch& branch : {last_of({load_table, load_entry, add_table, jump_rax}),
                                 last_of({load_table, load_entry, add_entry, jump_rdx})}) {
        EXPECT_EQ(branch.table, TableKind::Sum);
        EXPECT_EQ(branch.table_address, address + 7 + 0x10);
    }
    EXPECT_EQ(last_of({load_table, load_entry, jump_rax}).table, TableKind::None);
    // What is loaded, or left of a call, is no sum.
    EXPECT_EQ(last_of({load_table, load_entry, add_table, load_entry, jump_rax}).table,
              TableKind::None);
    const Branch called =
        last_of({load_table, load_entry, add_table, {0xe8, 0, 0, 0, 0}, jump_rax});
    EXPECT_EQ(called.table, TableKind::None);
    EXPECT_EQ(called.table_address, 0U);
    // A comparison changes nothing.
    EXPECT_EQ(last_of({load_table, load_entry, add_table, {0x48, 0x39, 0xc8}, jump_rax}).table,
              TableKind::Sum);
    const Branch marked = last_of({load_table, load_entry, add_table, {0x3e, 0xff, 0xe0}});
    EXPECT_EQ(marked.table, TableKind::Marked);
    EXPECT_EQ(marked.table_address, address + 7 + 0x10);
}

// As arch/x86/kernel/uprobes.c decides it.
TEST(CodeBranches, SomePrefixesPreventProbes) {
    for (const Code& code :
         {Code{0xc3}, {0xf3, 0xc3}, {0xf2, 0xe9, 0, 0, 0, 0}, {0x64, 0xff, 0x20}})
        EXPECT_TRUE(branch_of(code).can_be_probed) << code[0];
    for (const unsigned prefix : {0x26U, 0x2eU, 0x36U, 0x3eU})
        EXPECT_FALSE(branch_of({prefix, 0xff, 0xe0}).can_be_probed) << prefix;
    EXPECT_FALSE(branch_of({0x66, 0xc3}).can_be_probed);
}

TEST(CodeBranches, BytesThatAreNoInstructionAreRefused) {
    for (const std::string& code : {std::string("\x90\x06", 2), std::string("\x90\xe8\x00", 3)}) {
        const auto decoded = decode_branches(code, address);
        ASSERT_FALSE(decoded);
        EXPECT_EQ(decoded.error().kind, ErrorKind::Unsupported);
        EXPECT_THAT(decoded.error().message,
                    StartsWith("the bytes at 0x401001 are not an instruction known to capstone "));
    }
}

TEST(CodeBranches, AFunctionGoesOnAfterACall) {
    for (const BranchKind kind :
         {BranchKind::Call, BranchKind::CallThroughSlot, BranchKind::IndirectCall})
        EXPECT_TRUE(is_call(kind));
    for (const BranchKind kind :
         {BranchKind::Return, BranchKind::FarReturn, BranchKind::Jump, BranchKind::ConditionalJump,
          BranchKind::JumpThroughSlot, BranchKind::IndirectJump, BranchKind::Stop})
        EXPECT_FALSE(is_call(kind));
}

}  // namespace
}  // namespace lagtrap::binaries::test::code_branches_test
