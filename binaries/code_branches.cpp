#include "binaries/code_branches.hpp"

#include <capstone/capstone.h>

#include <array>
#include <memory>
#include <optional>

#include <fmt/core.h>

namespace lagtrap::binaries {
namespace {

constexpr std::uint8_t kNotrackPrefix = 0x3e;

// A handle of capstone and room for one instruction.
class Decoder {
  public:
    Decoder() {
        if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) return;
        cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
        instruction_ = cs_malloc(handle_);
    }
    ~Decoder() {
        if (instruction_ != nullptr) cs_free(instruction_, 1);
        if (handle_ != 0) cs_close(&handle_);
    }
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;

    [[nodiscard]] bool ready() const { return instruction_ != nullptr; }
    // The instruction at the front of `code`, which loses it; nullptr where there is none.
    [[nodiscard]] const cs_insn* next(std::string_view& code, std::uint64_t address) {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.data());
        std::size_t left = code.size();
        if (!cs_disasm_iter(handle_, &bytes, &left, &address, instruction_)) return nullptr;
        code.remove_prefix(code.size() - left);
        return instruction_;
    }

  private:
    csh handle_ = 0;
    cs_insn* instruction_ = nullptr;
};

// Which registers hold a sum, the way to a case of a switch: table + table[index].
class Sums {
  public:
    void note(const cs_insn& instruction) {
        if (instruction.id == X86_INS_CALL) holds_sum_.fill(false);
        const cs_x86& x86 = instruction.detail->x86;
        if (x86.op_count == 0 || x86.operands[0].type != X86_OP_REG) return;
        if ((x86.operands[0].access & CS_AC_WRITE) == 0) return;
        const x86_reg target = x86.operands[0].reg;
        holds_sum_[target] = instruction.id == X86_INS_ADD && x86.operands[1].type == X86_OP_REG;
    }
    [[nodiscard]] bool holds_sum(x86_reg target) const { return holds_sum_[target]; }

  private:
    std::array<bool, X86_REG_ENDING> holds_sum_{};
};

bool is_in_group(const cs_insn& instruction, std::uint8_t group) {
    const cs_detail& detail = *instruction.detail;
    for (std::uint8_t index = 0; index < detail.groups_count; ++index)
        if (detail.groups[index] == group) return true;
    return false;
}

std::optional<Branch> indirect_jump(const cs_insn& instruction, const Sums& sums) {
    const cs_x86& x86 = instruction.detail->x86;
    const cs_x86_op& operand = x86.operands[0];
    if (x86.prefix[1] == kNotrackPrefix) return std::nullopt;
    if (operand.type == X86_OP_REG && sums.holds_sum(operand.reg)) return std::nullopt;
    if (operand.type == X86_OP_MEM && operand.mem.base == X86_REG_RIP && operand.mem.index == X86_REG_INVALID) {
        const std::uint64_t after = instruction.address + instruction.size;
        return Branch{BranchKind::JumpThroughSlot, instruction.address,
                      after + static_cast<std::uint64_t>(operand.mem.disp)};
    }
    return Branch{BranchKind::UnclearJump, instruction.address, 0};
}

std::optional<Branch> branch_of(const cs_insn& instruction, const Sums& sums) {
    const cs_x86& x86 = instruction.detail->x86;
    const auto direct = [&](BranchKind kind) {
        return Branch{kind, instruction.address, static_cast<std::uint64_t>(x86.operands[0].imm)};
    };
    const bool is_direct = x86.op_count > 0 && x86.operands[0].type == X86_OP_IMM;
    switch (instruction.id) {
        case X86_INS_RET: return Branch{BranchKind::Return, instruction.address, 0};
        case X86_INS_RETF:
        case X86_INS_RETFQ:
        case X86_INS_IRET:
        case X86_INS_IRETD:
        case X86_INS_IRETQ:
        case X86_INS_SYSRET:
        case X86_INS_SYSEXIT: return Branch{BranchKind::FarReturn, instruction.address, 0};
        case X86_INS_CALL: return is_direct ? std::optional(direct(BranchKind::Call)) : std::nullopt;
        case X86_INS_JMP: return is_direct ? direct(BranchKind::Jump) : indirect_jump(instruction, sums);
        case X86_INS_LJMP: return Branch{BranchKind::UnclearJump, instruction.address, 0};
        case X86_INS_LOOP:
        case X86_INS_LOOPE:
        case X86_INS_LOOPNE: return direct(BranchKind::ConditionalJump);
        default:
            if (!is_direct || !is_in_group(instruction, CS_GRP_JUMP)) return std::nullopt;
            return direct(BranchKind::ConditionalJump);
    }
}

}  // namespace

Result<std::vector<Branch>> decode_branches(std::string_view code, std::uint64_t address) {
    Decoder decoder;
    if (!decoder.ready()) return make_error(ErrorKind::Unsupported, "the library capstone can not decode x86-64");
    std::vector<Branch> branches;
    Sums sums;
    while (!code.empty()) {
        const cs_insn* instruction = decoder.next(code, address);
        if (instruction == nullptr)
            return make_error(ErrorKind::Unsupported,
                              fmt::format("the bytes at {:#x} are no instruction that capstone {}.{} knows", address,
                                          CS_API_MAJOR, CS_API_MINOR));
        address += instruction->size;
        if (const auto branch = branch_of(*instruction, sums)) branches.push_back(*branch);
        sums.note(*instruction);
    }
    return branches;
}

}  // namespace lagtrap::binaries
