// An independent check of unwind rules by libdw from elfutils. Its answer and a table's rule are
// evaluated for the same invented registers and memory, and must give the same result.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "binaries/unwind/unwind_table.hpp"
#include "core/unique_fd.hpp"
#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test {

// Registers with distinct values, and memory in which every address has a distinct value.
struct MadeUpMachine {
    std::uint64_t pc = 0;
    [[nodiscard]] std::uint64_t in_register(std::uint64_t number) const {
        return number == 16 ? pc : 0x7f0000000000 + number * 0x1234560;
    }
    [[nodiscard]] static std::uint64_t in_memory(std::uint64_t address) {
        return (address ^ address >> 29) * 0xbf58476d1ce4e5b9;
    }
};

// A register of the caller: the content of a memory address, unchanged, or unknown.
struct CallerRegister {
    enum class Form { Unknown, Same, Memory, Other } form = Form::Unknown;
    std::uint64_t address = 0;
    bool operator==(const CallerRegister&) const = default;
};

struct CallerFrame {
    bool found = false;
    bool signal = false;
    std::optional<std::uint64_t> cfa;
    CallerRegister rbp;
    CallerRegister rbx;
    CallerRegister return_address;
};

class Witness {
  public:
    explicit Witness(const std::filesystem::path& path)
        : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        elf_version(EV_CURRENT);
        elf_ = elf_begin(fd_.get(), ELF_C_READ_MMAP, nullptr);
        start();
    }
    // A plain string could be mistaken for either of the two.
    struct Image {
        std::string bytes;
    };
    explicit Witness(Image image) : bytes_(std::move(image.bytes)) {
        elf_version(EV_CURRENT);
        elf_ = elf_memory(bytes_.data(), bytes_.size());
        start();
    }
    ~Witness() {
        if (cfi_ != nullptr) dwarf_cfi_end(cfi_);
        if (dwarf_ != nullptr) dwarf_end(dwarf_);
        elf_end(elf_);
    }
    Witness(const Witness&) = delete;
    Witness& operator=(const Witness&) = delete;

    [[nodiscard]] CallerFrame frame_at(const MadeUpMachine& machine) const {
        CallerFrame result;
        Dwarf_Frame* frame = find(machine.pc);
        if (frame == nullptr) return result;
        result.found = true;
        dwarf_frame_info(frame, nullptr, nullptr, &result.signal);
        Dwarf_Op* ops = nullptr;
        std::size_t count = 0;
        if (dwarf_frame_cfa(frame, &ops, &count) == 0 && count > 0)
            result.cfa = evaluate(ops, count, machine, 0);
        result.rbp = in_caller(frame, 6, machine, result.cfa);
        result.rbx = in_caller(frame, 3, machine, result.cfa);
        result.return_address = in_caller(frame, 16, machine, result.cfa);
        std::free(frame);
        return result;
    }

    // Where rows begin and end that libdw finds in the functions starting at these addresses.
    [[nodiscard]] std::set<std::uint64_t> row_starts(
        const std::vector<std::uint64_t>& functions) const {
        std::set<std::uint64_t> starts;
        for (std::size_t index = 0; index < functions.size(); ++index) {
            const std::uint64_t next =
                index + 1 < functions.size() ? functions[index + 1] : ~std::uint64_t{0};
            for (std::uint64_t address = functions[index]; address < next;) {
                starts.insert(address);
                Dwarf_Frame* frame = find(address);
                if (frame == nullptr) break;
                Dwarf_Addr end = 0;
                dwarf_frame_info(frame, nullptr, &end, nullptr);
                std::free(frame);
                if (end <= address) break;
                address = end;
            }
        }
        return starts;
    }

    // Where functions start according to the linker's index of .eh_frame (.eh_frame_hdr), in
    // ascending order.
    [[nodiscard]] std::vector<std::uint64_t> indexed_functions() const {
        std::vector<std::uint64_t> starts;
        std::size_t count = 0;
        elf_getphdrnum(elf_, &count);
        for (std::size_t index = 0; index < count; ++index) {
            GElf_Phdr header;
            if (gelf_getphdr(elf_, static_cast<int>(index), &header) == nullptr ||
                header.p_type != PT_GNU_EH_FRAME)
                continue;
            std::size_t size = 0;
            const char* const all = elf_rawfile(elf_, &size);
            const std::string content =
                std::string(all, size).substr(header.p_offset, header.p_filesz);
            // Version 1, pointer of pcrel|sdata4, count of udata4, entries of datarel|sdata4.
            if (content.substr(0, 4) != std::string("\x01\x1b\x03\x3b", 4)) continue;
            const auto entries = number_at<std::uint32_t>(content, 8);
            for (std::uint64_t entry = 0; entry < entries; ++entry)
                starts.push_back(
                    header.p_vaddr +
                    static_cast<std::uint64_t>(number_at<std::int32_t>(content, 12 + entry * 8)));
        }
        return starts;
    }

  private:
    void start() {
        cfi_ = dwarf_getcfi_elf(elf_);
        dwarf_ = dwarf_begin_elf(elf_, DWARF_C_READ, nullptr);
        debug_cfi_ = dwarf_ == nullptr ? nullptr : dwarf_getcfi(dwarf_);
    }
    [[nodiscard]] Dwarf_Frame* find(std::uint64_t address) const {
        Dwarf_Frame* frame = nullptr;
        if (cfi_ != nullptr && dwarf_cfi_addrframe(cfi_, address, &frame) == 0) return frame;
        if (debug_cfi_ != nullptr && dwarf_cfi_addrframe(debug_cfi_, address, &frame) == 0)
            return frame;
        return nullptr;
    }
    static CallerRegister in_caller(Dwarf_Frame* frame, int number, const MadeUpMachine& machine,
                                    std::optional<std::uint64_t> cfa) {
        std::array<Dwarf_Op, 3> room{};
        Dwarf_Op* ops = nullptr;
        std::size_t count = 0;
        if (dwarf_frame_register(frame, number, room.data(), &ops, &count) != 0) return {};
        if (count == 0)
            return {ops == nullptr ? CallerRegister::Form::Same : CallerRegister::Form::Unknown, 0};
        const auto last = ops[count - 1].atom;
        if (last == DW_OP_stack_value ||
            (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31) || ops[0].atom == DW_OP_regx)
            return {CallerRegister::Form::Other, 0};
        const auto address = evaluate(ops, count, machine, cfa.value_or(0));
        if (!address) return {CallerRegister::Form::Other, 0};
        return {CallerRegister::Form::Memory, *address};
    }
    static std::optional<std::uint64_t> evaluate(const Dwarf_Op* ops, std::size_t count,
                                                 const MadeUpMachine& machine, std::uint64_t cfa) {
        std::vector<std::uint64_t> stack;
        for (std::size_t index = 0; index < count; ++index) {
            if (!step(ops[index], stack, machine, cfa)) return std::nullopt;
        }
        if (stack.empty()) return std::nullopt;
        return stack.back();
    }
    static bool step(const Dwarf_Op& op, std::vector<std::uint64_t>& stack,
                     const MadeUpMachine& machine, std::uint64_t cfa) {
        const auto pop = [&stack] {
            const std::uint64_t top = stack.empty() ? 0 : stack.back();
            if (!stack.empty()) stack.pop_back();
            return top;
        };
        if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) {
            stack.push_back(machine.in_register(op.atom - DW_OP_breg0) + op.number);
            return true;
        }
        if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31) {
            stack.push_back(op.atom - DW_OP_lit0);
            return true;
        }
        switch (op.atom) {
            case DW_OP_call_frame_cfa: stack.push_back(cfa); return true;
            case DW_OP_bregx:
                stack.push_back(machine.in_register(op.number) + op.number2);
                return true;
            case DW_OP_const1u:
            case DW_OP_const1s:
            case DW_OP_const2u:
            case DW_OP_const2s:
            case DW_OP_const4u:
            case DW_OP_const4s:
            case DW_OP_constu:
            case DW_OP_consts: stack.push_back(op.number); return true;
            case DW_OP_plus_uconst: stack.push_back(pop() + op.number); return true;
            case DW_OP_deref: stack.push_back(MadeUpMachine::in_memory(pop())); return true;
            default: break;
        }
        const std::uint64_t b = pop();
        const std::uint64_t a = pop();
        switch (op.atom) {
            case DW_OP_plus: stack.push_back(a + b); return true;
            case DW_OP_minus: stack.push_back(a - b); return true;
            case DW_OP_and: stack.push_back(a & b); return true;
            case DW_OP_shl: stack.push_back(a << b); return true;
            case DW_OP_ge:
                stack.push_back(static_cast<std::int64_t>(a) >= static_cast<std::int64_t>(b) ? 1
                                                                                             : 0);
                return true;
            default: return false;
        }
    }

    UniqueFd fd_;
    std::string bytes_;
    Elf* elf_ = nullptr;
    Dwarf* dwarf_ = nullptr;
    Dwarf_CFI* cfi_ = nullptr;
    Dwarf_CFI* debug_cfi_ = nullptr;
};

// The caller's frame as the stack walk in the kernel finds it with `rule`.
inline CallerFrame frame_by(const lagtrap_unwind_rule& rule, const MadeUpMachine& machine) {
    CallerFrame frame;
    const auto kind = kind_of(rule);
    const std::uint64_t rsp = machine.in_register(7);
    const auto sum = machine.in_register(rule.register_and_add & 15) +
                     static_cast<std::uint64_t>(rule.cfa_offset);
    frame.found = kind != LAGTRAP_UNWIND_GAP;
    if (kind == LAGTRAP_UNWIND_SIGNAL) {
        // Offsets of struct ucontext and struct sigcontext_64.
        frame.signal = true;
        frame.cfa = MadeUpMachine::in_memory(rsp + 160);
        frame.rbp = {CallerRegister::Form::Memory, rsp + 120};
        frame.return_address = {CallerRegister::Form::Memory, rsp + 168};
        return frame;
    }
    if (kind == LAGTRAP_UNWIND_REGISTER) frame.cfa = sum;
    if (kind == LAGTRAP_UNWIND_DEREFERENCE)
        frame.cfa = MadeUpMachine::in_memory(sum) +
                    static_cast<std::uint64_t>(rule.register_and_add >> 4) * 8;
    if (kind == LAGTRAP_UNWIND_PLT)
        frame.cfa =
            rsp + 8 + ((machine.pc & 15) >= static_cast<std::uint64_t>(rule.cfa_offset) ? 8 : 0);
    if (!frame.cfa) return frame;
    frame.return_address = {CallerRegister::Form::Memory, *frame.cfa - 8};
    const auto offset = static_cast<std::uint64_t>(std::int64_t{rule.rbp_offset});
    switch (rbp_of(rule)) {
        case LAGTRAP_UNWIND_RBP_SAME: frame.rbp = {CallerRegister::Form::Same, 0}; break;
        case LAGTRAP_UNWIND_RBP_AT_CFA:
            frame.rbp = {CallerRegister::Form::Memory, *frame.cfa + offset};
            break;
        case LAGTRAP_UNWIND_RBP_AT_RBP:
            frame.rbp = {CallerRegister::Form::Memory, machine.in_register(6) + offset};
            break;
        default: break;
    }
    if (rule.rbx_words == 0) {
        frame.rbx = {CallerRegister::Form::Same, 0};
    } else if (rule.rbx_words != LAGTRAP_UNWIND_RBX_UNKNOWN) {
        frame.rbx = {CallerRegister::Form::Memory,
                     *frame.cfa + static_cast<std::uint64_t>(std::int64_t{rule.rbx_words} * 8)};
    }
    return frame;
}

}  // namespace lagtrap::binaries::test
