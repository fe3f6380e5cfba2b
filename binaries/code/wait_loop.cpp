#include "binaries/code/wait_loop.hpp"

#include <capstone/capstone.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <optional>

#include "binaries/code/instruction_decoder.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::uint8_t lock_prefix = 0xf0;

struct Loop {
    std::size_t begin = 0;
    std::size_t end = 0;
};

bool is_jump(const cs_insn& instruction) { return is_in_group(instruction, CS_GRP_JUMP); }

bool leaves_the_function(const cs_insn& instruction) {
    if (is_jump(instruction)) return instruction.detail->x86.operands[0].type != X86_OP_IMM;
    return is_in_group(instruction, CS_GRP_CALL) || is_in_group(instruction, CS_GRP_RET) ||
           is_in_group(instruction, CS_GRP_INT) || is_in_group(instruction, CS_GRP_IRET) ||
           instruction.id == X86_INS_SYSCALL || instruction.id == X86_INS_UD2;
}

// From the target of the first jump back across `place`.
std::optional<Loop> loop_around(InstructionDecoder& decoder, std::string_view code,
                                std::size_t place) {
    const std::size_t limit = std::min(code.size(), place + max_wait_loop_bytes);
    for (std::size_t at = place; at < limit;) {
        std::string_view rest = code.substr(at);
        const cs_insn* instruction = decoder.next(rest, at);
        if (instruction == nullptr || leaves_the_function(*instruction)) return std::nullopt;
        const std::size_t next = at + instruction->size;
        if (!is_jump(*instruction)) {
            at = next;
            continue;
        }
        const auto target = static_cast<std::size_t>(instruction->detail->x86.operands[0].imm);
        if (target <= place && next - target <= max_wait_loop_bytes) return Loop{target, next};
        if (instruction->id != X86_INS_JMP)
            at = next;
        else if (target > at)
            at = target;
        else
            return std::nullopt;
    }
    return std::nullopt;
}

// The 64-bit register that contains a general register; X86_REG_INVALID for others.
x86_reg whole_register(unsigned part) {
    constexpr std::array<std::array<x86_reg, 5>, 16> registers = {{
        {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
        {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
        {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
        {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
        {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
        {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
        {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
        {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
        {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
        {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
        {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B},
        {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
        {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B},
        {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
        {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B},
        {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B},
    }};
    if (part == X86_REG_INVALID) return X86_REG_INVALID;
    for (const auto& parts : registers)
        if (std::find(parts.begin(), parts.end(), static_cast<x86_reg>(part)) != parts.end())
            return parts[0];
    return X86_REG_INVALID;
}

using Registers = std::bitset<X86_REG_ENDING>;

bool compares(const cs_insn& instruction) {
    return instruction.id == X86_INS_CMP || instruction.id == X86_INS_TEST;
}

bool copies(const cs_insn& instruction) {
    return instruction.id == X86_INS_MOV || instruction.id == X86_INS_MOVABS ||
           instruction.id == X86_INS_MOVZX || instruction.id == X86_INS_MOVSX ||
           instruction.id == X86_INS_MOVSXD;
}

bool sets_from_flags(const cs_insn& instruction) {
    return instruction.id == X86_INS_SETE || instruction.id == X86_INS_SETNE;
}

bool writes(const cs_insn& instruction, const cs_x86_op& operand) {
    return !compares(instruction) && (operand.access & CS_AC_WRITE) != 0;
}

Registers written_by(const cs_insn& instruction) {
    Registers registers;
    const cs_x86& x86 = instruction.detail->x86;
    for (int i = 0; i < x86.op_count; ++i)
        if (x86.operands[i].type == X86_OP_REG && writes(instruction, x86.operands[i]))
            registers.set(whole_register(x86.operands[i].reg));
    registers.reset(X86_REG_INVALID);
    return registers;
}

// What the instructions of a loop do, in their order.
class LoopWork {
  public:
    explicit LoopWork(const Registers& written) : written_(written) {}

    void note(const cs_insn& instruction) {
        const cs_x86& x86 = instruction.detail->x86;
        if (instruction.id == X86_INS_PAUSE) pauses_ = true;
        for (int i = 0; i < x86.op_count; ++i)
            if (x86.operands[i].type == X86_OP_MEM) note_memory(instruction, x86.operands[i]);
        note_result(instruction);
    }

    [[nodiscard]] WaitLoop kind() const {
        if (stores_) return WaitLoop::None;
        if (pauses_) return WaitLoop::Waits;
        if (address_changes_) return WaitLoop::None;
        if (tries_lock_) return WaitLoop::TakesLock;
        return loads_ && !counts_ && !stores_locals_ ? WaitLoop::Waits : WaitLoop::None;
    }

  private:
    // Not from an earlier turn of the loop.
    [[nodiscard]] bool is_new(unsigned part) const {
        const x86_reg whole = whole_register(part);
        return !written_[whole] || new_[whole];
    }

    [[nodiscard]] bool is_constant(const cs_x86_op& operand) const {
        return operand.type == X86_OP_IMM ||
               (operand.type == X86_OP_REG && !written_[whole_register(operand.reg)]);
    }

    [[nodiscard]] bool tries_lock(const cs_insn& instruction) const {
        if (instruction.id == X86_INS_XCHG) return true;
        if (instruction.detail->x86.prefix[0] != lock_prefix) return false;
        return instruction.id == X86_INS_BTS ||
               (instruction.id == X86_INS_CMPXCHG && expects_constant_);
    }

    void note_memory(const cs_insn& instruction, const cs_x86_op& operand) {
        loads_ = true;
        if (!is_new(operand.mem.base) || !is_new(operand.mem.index)) address_changes_ = true;
        if (tries_lock(instruction)) {
            tries_lock_ = true;
        } else if (writes(instruction, operand) || instruction.id == X86_INS_CMPXCHG) {
            const bool is_local =
                operand.mem.base == X86_REG_RSP || operand.mem.base == X86_REG_RBP;
            const bool is_atomic = instruction.detail->x86.prefix[0] == lock_prefix;
            (is_local && !is_atomic ? stores_locals_ : stores_) = true;
        }
    }

    void note_result(const cs_insn& instruction) {
        const Registers results = written_by(instruction);
        if (results.none()) return;
        const cs_x86& x86 = instruction.detail->x86;
        const cs_x86_op& last = x86.operands[x86.op_count - 1];
        const bool clears = instruction.id == X86_INS_XOR && x86.op_count == 2 &&
                            last.type == X86_OP_REG && x86.operands[0].reg == last.reg;
        const bool of_new =
            last.type != X86_OP_REG || is_new(last.reg) || instruction.id == X86_INS_XCHG;
        const bool sets = clears || instruction.id == X86_INS_XCHG ||
                          sets_from_flags(instruction) || (copies(instruction) && of_new);
        if (sets)
            new_ |= results;
        else if ((results & ~new_).any())
            counts_ = true;
        if (results[X86_REG_RAX])
            expects_constant_ = clears || (copies(instruction) && is_constant(last));
    }

    Registers written_;  // by the loop
    Registers new_;      // written in this turn already, from nothing of an earlier one
    bool pauses_ = false;
    bool tries_lock_ = false;
    bool loads_ = false;
    bool stores_ = false;
    bool stores_locals_ = false;
    bool counts_ = false;  // computes something from an earlier turn
    bool address_changes_ = false;
    bool expects_constant_ = false;  // in rax, for cmpxchg
};

}  // namespace

WaitLoop wait_loop_at(std::string_view code, std::size_t place) {
    InstructionDecoder decoder;
    if (!decoder.ready()) return WaitLoop::None;
    const auto loop = loop_around(decoder, code, place);
    if (!loop) return WaitLoop::None;
    // Calls `use` for each instruction; false if the place is not the begin of one.
    const auto each = [&](auto use) {
        bool found = false;
        for (std::size_t at = loop->begin; at < loop->end;) {
            std::string_view rest = code.substr(at);
            const cs_insn* instruction = decoder.next(rest, at);
            if (instruction == nullptr || leaves_the_function(*instruction)) return false;
            found = found || at == place;
            use(*instruction);
            at += instruction->size;
        }
        return found;
    };
    Registers written;
    if (!each([&](const cs_insn& instruction) { written |= written_by(instruction); }))
        return WaitLoop::None;
    LoopWork work(written);
    each([&](const cs_insn& instruction) { work.note(instruction); });
    return work.kind();
}

}  // namespace lagtrap::binaries
