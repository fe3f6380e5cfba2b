#include "trace/stacks/copied_stack.hpp"

#include <array>
#include <cstring>
#include <optional>

namespace lagtrap::trace {
namespace {

// Index of each register in struct pt_regs (x86-64) and in a ucontext's general registers, in
// words, by DWARF number.
constexpr std::array<std::uint8_t, 16> pt_regs_word{10, 12, 11, 5, 13, 14, 4, 19,
                                                    9,  8,  7,  6, 3,  2,  1, 0};
constexpr std::array<std::uint8_t, 16> ucontext_word{13, 12, 14, 11, 9, 8, 10, 15,
                                                     0,  1,  2,  3,  4, 5, 6,  7};
// their offset in struct ucontext (asm/ucontext.h)
constexpr std::uint64_t ucontext_registers_bytes = 40;
constexpr std::uint64_t max_frame_bytes = 1 << 20;  // if found through its frame pointer
constexpr std::uint64_t word_bytes = 8;
constexpr unsigned rbx_number = 3, rbp_number = 6, rsp_number = 7;

// The same steps as in bpf/user_stack.bpf.h.
class Walk {
  public:
    Walk(const lagtrap_stack_copy& copy, const FindCodeRule& find)
        : copy_(copy),
          find_(find),
          pc_(copy.pc),
          sp_(copy.sp),
          bp_(copy.bp),
          after_call_((copy.known & LAGTRAP_COPY_AFTER_CALL) != 0) {
        if ((copy.known & LAGTRAP_COPY_HAS_RBX) != 0) rbx_ = copy.rbx;
        if ((copy.known & LAGTRAP_COPY_HAS_REGISTERS) == 0) return;
        for (std::size_t number = 0; number < pt_regs_word.size(); ++number)
            registers_[number] = copy.registers[pt_regs_word[number]];
        has_registers_ = true;
    }

    ContinuedStack run(std::size_t frames_before) {
        ContinuedStack stack;
        while (step()) {
            if (frames_before + stack.frames.size() >= LAGTRAP_MAX_FRAMES) {
                end_ |= LAGTRAP_STACK_END_TOO_DEEP;
                break;
            }
            stack.frames.push_back(pc_);
        }
        stack.end = end_;
        return stack;
    }

  private:
    bool end(lagtrap_stack_end reason) {
        end_ |= static_cast<std::uint8_t>(reason);
        return false;
    }

    // For a word that was not copied: the stack was longer than a copy may be, or nothing was
    // mapped there.
    bool end_unread(std::uint64_t from) {
        const bool cut = copy_.copied_bytes + 4096 > LAGTRAP_COPIED_STACK_BYTES;
        return end(cut && from >= copy_.copied_from ? LAGTRAP_STACK_END_COPY_ENDED
                                                    : LAGTRAP_STACK_END_BAD_ADDRESS);
    }

    [[nodiscard]] std::optional<std::uint64_t> word_at(std::uint64_t address) const {
        const std::uint64_t within = address - copy_.copied_from;
        if (within >= copy_.copied_bytes || copy_.copied_bytes - within < word_bytes)
            return std::nullopt;
        std::uint64_t word = 0;
        std::memcpy(&word, reinterpret_cast<const char*>(&copy_ + 1) + within, sizeof word);
        return word;
    }

    [[nodiscard]] std::optional<std::uint64_t> register_value(unsigned number) const {
        if (number == rbp_number) return bp_;
        if (number == rsp_number) return sp_;
        if (number == rbx_number) return rbx_;
        if (!has_registers_) return std::nullopt;
        return registers_[number];
    }

    [[nodiscard]] bool is_code(std::uint64_t address) const {
        return find_(address).kind != CodeRule::Kind::NoCode;
    }

    std::uint64_t true_return_address(std::uint64_t slot, std::uint64_t found) {
        for (; next_return_ < copy_.return_count && copy_.returns[next_return_].slot <= slot;
             ++next_return_)
            if (copy_.returns[next_return_].slot == slot)
                found = copy_.returns[next_return_].address;
        return found;
    }

    bool go_to_caller(std::uint64_t cfa, std::uint64_t return_address, std::uint64_t bp) {
        return_address = true_return_address(cfa - word_bytes, return_address);
        if (return_address == 0) return end(LAGTRAP_STACK_END_COMPLETE);
        pc_ = return_address;
        sp_ = cfa;
        bp_ = bp;
        has_registers_ = false;
        after_call_ = true;
        return true;
    }

    // Guesses by frame pointer, or by a return address on top of the stack; accepted if it leads to
    // known code.
    bool step_by_guess(lagtrap_stack_end reason, bool try_top) {
        end_ |= LAGTRAP_STACK_BY_FRAME_POINTER;
        if (try_top && !after_call_)
            if (const auto top = word_at(sp_); top && is_code(*top - 1))
                return go_to_caller(sp_ + word_bytes, *top, bp_);
        rbx_.reset();
        if (bp_ == 0 && !try_top) return end(LAGTRAP_STACK_END_COMPLETE);
        if (bp_ < sp_ || bp_ % word_bytes != 0 || bp_ - sp_ > max_frame_bytes) return end(reason);
        const auto bp = word_at(bp_), return_address = word_at(bp_ + word_bytes);
        if (!bp || !return_address) return end_unread(bp_);
        if (*return_address == 0) return end(LAGTRAP_STACK_END_COMPLETE);
        if (next_return_ >= copy_.return_count && !is_code(*return_address - 1)) return end(reason);
        return go_to_caller(bp_ + 2 * word_bytes, *return_address, *bp);
    }

    bool step_over_signal() {
        const std::uint64_t saved = sp_ + ucontext_registers_bytes;
        const auto pc = word_at(saved + 16 * word_bytes);
        if (!pc) return end_unread(saved);
        for (std::size_t number = 0; number < ucontext_word.size(); ++number)
            registers_[number] = word_at(saved + ucontext_word[number] * word_bytes).value_or(0);
        has_registers_ = true;
        pc_ = *pc;
        sp_ = registers_[rsp_number];
        bp_ = registers_[rbp_number];
        rbx_ = registers_[rbx_number];
        after_call_ = false;
        return true;
    }

    [[nodiscard]] std::optional<std::uint64_t> frame_address(const lagtrap_unwind_rule& rule,
                                                             unsigned kind) {
        if (kind == LAGTRAP_UNWIND_PLT)
            return sp_ + word_bytes +
                   ((pc_ & 15) >= static_cast<std::uint32_t>(rule.cfa_offset) ? word_bytes : 0);
        const auto base = register_value(rule.register_and_add % 16);
        if (!base) {
            (void)end(LAGTRAP_STACK_END_UNSUPPORTED);
            return std::nullopt;
        }
        const std::uint64_t cfa = *base + static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
        if (kind != LAGTRAP_UNWIND_DEREFERENCE) return cfa;
        const auto word = word_at(cfa);
        if (!word) {
            (void)end_unread(cfa);
            return std::nullopt;
        }
        return *word + rule.register_and_add / 16 * word_bytes;
    }

    bool step_by_rule(const lagtrap_unwind_rule& rule, unsigned kind) {
        const auto cfa = frame_address(rule, kind);
        if (!cfa) return false;
        if (*cfa <= sp_) return end(LAGTRAP_STACK_END_NO_PROGRESS);
        const auto return_address = word_at(*cfa - word_bytes);
        if (!return_address) return end_unread(*cfa - word_bytes);
        std::uint64_t bp = bp_;
        unsigned place = rule.kind_and_rbp / 16;
        if (place == LAGTRAP_UNWIND_RBP_UNDEFINED) bp = ~std::uint64_t{0};
        // As on the BPF side: for a function with an aligned stack, gcc's tables say so until its
        // very end.
        if (place == LAGTRAP_UNWIND_RBP_AT_RBP && (bp < sp_ || bp >= *cfa))
            place = LAGTRAP_UNWIND_RBP_SAME;
        if (place == LAGTRAP_UNWIND_RBP_AT_CFA || place == LAGTRAP_UNWIND_RBP_AT_RBP) {
            const std::uint64_t from = (place == LAGTRAP_UNWIND_RBP_AT_CFA ? *cfa : bp_) +
                                       static_cast<std::uint64_t>(std::int64_t{rule.rbp_offset});
            const auto saved = word_at(from);
            if (!saved) return end_unread(from);
            bp = *saved;
        }
        if (rule.rbx_words != 0)
            rbx_ =
                rule.rbx_words == LAGTRAP_UNWIND_RBX_UNKNOWN
                    ? std::nullopt
                    : word_at(*cfa + static_cast<std::uint64_t>(std::int64_t{rule.rbx_words} * 8));
        return go_to_caller(*cfa, *return_address, bp);
    }

    bool step() {
        CodeRule code = find_(pc_ - (after_call_ ? 1 : 0));
        switch (code.kind) {
            case CodeRule::Kind::NoCode: return end(LAGTRAP_STACK_END_NO_MAPPING);
            case CodeRule::Kind::NoTable: return end(LAGTRAP_STACK_END_NO_TABLE);
            case CodeRule::Kind::RunTime: return step_by_guess(LAGTRAP_STACK_END_GAP, false);
            case CodeRule::Kind::Rule: break;
        }
        unsigned kind = code.rule.kind_and_rbp % 16;
        // A function that is returned to but was never called begins at this address.
        if (kind == LAGTRAP_UNWIND_GAP && after_call_) {
            if (const CodeRule here = find_(pc_); here.kind == CodeRule::Kind::Rule) code = here;
            kind = code.rule.kind_and_rbp % 16;
        }
        switch (kind) {
            case LAGTRAP_UNWIND_END: return end(LAGTRAP_STACK_END_COMPLETE);
            case LAGTRAP_UNWIND_SIGNAL: return step_over_signal();
            case LAGTRAP_UNWIND_UNSUPPORTED: return end(LAGTRAP_STACK_END_UNSUPPORTED);
            case LAGTRAP_UNWIND_GAP: return step_by_guess(LAGTRAP_STACK_END_GAP, true);
            default: return step_by_rule(code.rule, kind);
        }
    }

    const lagtrap_stack_copy& copy_;
    const FindCodeRule& find_;
    std::uint64_t pc_, sp_, bp_;
    bool after_call_;
    std::optional<std::uint64_t> rbx_;
    bool has_registers_ = false;
    std::array<std::uint64_t, 16> registers_{};
    std::size_t next_return_ = 0;
    std::uint8_t end_ = 0;
};

}  // namespace

ContinuedStack continue_stack(const lagtrap_stack_copy& copy, std::size_t frames_before,
                              const FindCodeRule& find) {
    Walk walk(copy, find);
    ContinuedStack stack = walk.run(frames_before);
    stack.end |= copy.end & LAGTRAP_STACK_BY_FRAME_POINTER;
    return stack;
}

}  // namespace lagtrap::trace
