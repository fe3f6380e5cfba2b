#include "binaries/code/code_branches.hpp"

#include <capstone/capstone.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include <fmt/core.h>

#include "binaries/code/instruction_decoder.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::uint8_t notrack_prefix = 0x3e;

// The number of a general register in machine code; no_jump_register for others.
std::uint8_t number_of(x86_reg wanted) {
    constexpr std::array<x86_reg, 16> registers = {
        X86_REG_RAX, X86_REG_RCX, X86_REG_RDX, X86_REG_RBX, X86_REG_RSP, X86_REG_RBP,
        X86_REG_RSI, X86_REG_RDI, X86_REG_R8,  X86_REG_R9,  X86_REG_R10, X86_REG_R11,
        X86_REG_R12, X86_REG_R13, X86_REG_R14, X86_REG_R15};
    const auto* const found = std::find(registers.begin(), registers.end(), wanted);
    return found == registers.end() ? no_jump_register
                                    : static_cast<std::uint8_t>(found - registers.begin());
}

bool is_relative(const cs_x86_op& operand) {
    return operand.type == X86_OP_MEM && operand.mem.base == X86_REG_RIP &&
           operand.mem.index == X86_REG_INVALID;
}

std::uint64_t relative_address(const cs_insn& instruction, const cs_x86_op& operand) {
    return instruction.address + instruction.size + static_cast<std::uint64_t>(operand.mem.disp);
}

// Tracks which registers hold a table's address, and which a sum (table + table[index]), to
// recognise switches.
class Sums {
  public:
    void note(const cs_insn& instruction) {
        if (instruction.id == X86_INS_CALL) registers_.fill({});
        const cs_x86& x86 = instruction.detail->x86;
        if (x86.op_count == 0 || x86.operands[0].type != X86_OP_REG) return;
        if ((x86.operands[0].access & CS_AC_WRITE) == 0) return;
        Content& target = registers_[x86.operands[0].reg];
        if (instruction.id == X86_INS_ADD && x86.operands[1].type == X86_OP_REG) {
            const Content& other = registers_[x86.operands[1].reg];
            target = {true, target.table != 0 ? target.table : other.table};
        } else if (instruction.id == X86_INS_LEA && is_relative(x86.operands[1])) {
            target = {false, relative_address(instruction, x86.operands[1])};
        } else {
            target = {};
        }
    }
    [[nodiscard]] bool holds_sum(x86_reg target) const { return registers_[target].is_sum; }
    [[nodiscard]] std::uint64_t table(x86_reg target) const { return registers_[target].table; }

  private:
    struct Content {
        bool is_sum = false;
        std::uint64_t table = 0;
    };
    std::array<Content, X86_REG_ENDING> registers_{};
};

Branch indirect_jump(const cs_insn& instruction, const Sums& sums);

// Like a jump, but without a table.
Branch indirect_call(const cs_insn& instruction) {
    Branch branch = indirect_jump(instruction, Sums());
    branch.kind = branch.kind == BranchKind::JumpThroughSlot ? BranchKind::CallThroughSlot
                                                             : BranchKind::IndirectCall;
    branch.table = TableKind::None;
    branch.table_address = 0;
    return branch;
}

Branch indirect_jump(const cs_insn& instruction, const Sums& sums) {
    const cs_x86& x86 = instruction.detail->x86;
    const cs_x86_op& operand = x86.operands[0];
    Branch branch{.kind = BranchKind::IndirectJump, .address = instruction.address};
    if (operand.type == X86_OP_REG) {
        branch.computed.base = number_of(operand.reg);
        if (sums.holds_sum(operand.reg)) branch.table = TableKind::Sum;
        branch.table_address = sums.table(operand.reg);
    } else if (operand.mem.segment == X86_REG_FS || operand.mem.segment == X86_REG_GS) {
        branch.computed = {};  // only the processor knows the segment's base
    } else if (is_relative(operand)) {
        branch.kind = BranchKind::JumpThroughSlot;
        branch.target = relative_address(instruction, operand);
    } else if (operand.type == X86_OP_MEM) {
        branch.computed = {
            operand.mem.disp, number_of(operand.mem.base), number_of(operand.mem.index),
            static_cast<std::uint8_t>(operand.mem.scale == 8 ? 3 : operand.mem.scale / 2), true};
        const bool is_table =
            operand.mem.base == X86_REG_INVALID && operand.mem.index != X86_REG_INVALID;
        if (is_table) branch.table = TableKind::Pointers;
        if (is_table) branch.table_address = static_cast<std::uint64_t>(operand.mem.disp);
    }
    if (x86.prefix[1] == notrack_prefix) branch.table = TableKind::Marked;
    return branch;
}

JumpCondition condition_of(const cs_insn& instruction) {
    if (instruction.id == X86_INS_JRCXZ) return JumpCondition::RcxZero;
    if (instruction.id == X86_INS_JECXZ) return JumpCondition::EcxZero;
    const auto& opcode = instruction.detail->x86.opcode;
    const std::uint8_t code = opcode[0] == 0x0f ? opcode[1] : opcode[0];
    return static_cast<JumpCondition>(1 + (code & 0x0f));
}

std::optional<Branch> branch_of(const cs_insn& instruction, const Sums& sums) {
    const cs_x86& x86 = instruction.detail->x86;
    const auto is = [&](BranchKind kind) {
        return Branch{.kind = kind, .address = instruction.address};
    };
    const auto direct = [&](BranchKind kind, JumpCondition condition = JumpCondition::Always) {
        return Branch{.kind = kind,
                      .address = instruction.address,
                      .target = static_cast<std::uint64_t>(x86.operands[0].imm),
                      .condition = condition};
    };
    const bool is_direct = x86.op_count > 0 && x86.operands[0].type == X86_OP_IMM;
    switch (instruction.id) {
        case X86_INS_RET: return is(BranchKind::Return);
        case X86_INS_RETF:
        case X86_INS_RETFQ:
        case X86_INS_IRET:
        case X86_INS_IRETD:
        case X86_INS_IRETQ:
        case X86_INS_SYSRET:
        case X86_INS_SYSEXIT:
        case X86_INS_LJMP: return is(BranchKind::FarReturn);
        case X86_INS_UD2:
        case X86_INS_HLT:
        case X86_INS_INT3: return is(BranchKind::Stop);
        case X86_INS_CALL: return is_direct ? direct(BranchKind::Call) : indirect_call(instruction);
        case X86_INS_JMP:
            return is_direct ? direct(BranchKind::Jump) : indirect_jump(instruction, sums);
        case X86_INS_LOOP:
        case X86_INS_LOOPE:
        case X86_INS_LOOPNE: return direct(BranchKind::ConditionalJump);
        default:
            if (!is_direct || !is_in_group(instruction, CS_GRP_JUMP)) return std::nullopt;
            return direct(BranchKind::ConditionalJump, condition_of(instruction));
    }
}

// As Linux decides it: arch/x86/kernel/uprobes.c, is_prefix_bad() and branch_setup_xol_ops().
bool can_be_probed(const cs_insn& instruction) {
    const auto& prefix = instruction.detail->x86.prefix;
    const bool segment =
        prefix[1] == 0x26 || prefix[1] == 0x2e || prefix[1] == 0x36 || prefix[1] == notrack_prefix;
    return !segment && prefix[0] != 0xf0 && prefix[2] != 0x66;
}

}  // namespace

Result<std::vector<Branch>> decode_branches(std::string_view code, std::uint64_t address) {
    InstructionDecoder decoder;
    if (!decoder.ready())
        return make_error(ErrorKind::Unsupported, "libcapstone cannot decode x86-64");
    std::vector<Branch> branches;
    Sums sums;
    while (!code.empty()) {
        const cs_insn* instruction = decoder.next(code, address);
        if (instruction == nullptr)
            return make_error(
                ErrorKind::Unsupported,
                fmt::format("the bytes at {:#x} are not an instruction known to capstone {}.{}",
                            address, CS_API_MAJOR, CS_API_MINOR));
        address += instruction->size;
        if (auto branch = branch_of(*instruction, sums)) {
            branch->next = address;
            branch->can_be_probed = can_be_probed(*instruction);
            branches.push_back(*branch);
        }
        sums.note(*instruction);
    }
    return branches;
}

}  // namespace lagtrap::binaries
