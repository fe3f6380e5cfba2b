#include "binaries/unwind/call_frame_state.hpp"

#include <array>
#include <cstdlib>
#include <limits>
#include <optional>

#include "binaries/elf/byte_cursor.hpp"

namespace lagtrap::binaries {
namespace {

// Operations of DWARF expressions (DWARF 5, 7.7.1).
constexpr std::uint8_t op_dereference = 0x06;
constexpr std::uint8_t op_const1u = 0x08;
constexpr std::uint8_t op_const1s = 0x09;
constexpr std::uint8_t op_const2u = 0x0a;
constexpr std::uint8_t op_const2s = 0x0b;
constexpr std::uint8_t op_const4u = 0x0c;
constexpr std::uint8_t op_const4s = 0x0d;
constexpr std::uint8_t op_const8u = 0x0e;
constexpr std::uint8_t op_const8s = 0x0f;
constexpr std::uint8_t op_const_unsigned = 0x10;
constexpr std::uint8_t op_const_signed = 0x11;
constexpr std::uint8_t op_minus = 0x1c;
constexpr std::uint8_t op_plus = 0x22;
constexpr std::uint8_t op_plus_constant = 0x23;
constexpr std::uint8_t op_literal0 = 0x30;
constexpr std::uint8_t op_literal31 = 0x4f;
constexpr std::uint8_t op_register0 = 0x70;
constexpr std::uint8_t op_register31 = 0x8f;
constexpr std::uint8_t op_register = 0x92;
constexpr std::uint8_t op_nop = 0x96;

constexpr std::uint64_t general_registers = 16;

// A value on the expression's stack, in symbolic form.
struct Term {
    enum class Form : std::uint8_t { Constant, Register, Dereferenced, Cfa };
    Form form = Form::Constant;
    std::uint64_t register_number = 0;
    std::uint64_t offset = 0;  // added to the register before dereferencing
    std::uint64_t addend = 0;  // added to the result
};

class Evaluation {
  public:
    void push(const Term& term) {
        if (depth_ == terms_.size()) {
            clear_ = false;
            return;
        }
        terms_[depth_++] = term;
    }
    void push_constant(std::uint64_t value) { push(Term{Term::Form::Constant, 0, 0, value}); }
    void push_register(std::uint64_t number, std::int64_t offset) {
        push(Term{Term::Form::Register, number, 0, static_cast<std::uint64_t>(offset)});
    }

    // Runs one operation; false if it is not one of those tracked here.
    bool step(std::uint8_t operation, ByteCursor& cursor);

    [[nodiscard]] std::optional<Term> result() const {
        if (!clear_ || depth_ == 0) return std::nullopt;
        return terms_[depth_ - 1];
    }
    [[nodiscard]] bool clear() const { return clear_; }

  private:
    bool step_constant(std::uint8_t operation, ByteCursor& cursor);
    Term pop() {
        if (depth_ > 0) return terms_[--depth_];
        clear_ = false;
        return {};
    }
    void dereference() {
        const Term term = pop();
        if (term.form != Term::Form::Register) clear_ = false;
        push(Term{Term::Form::Dereferenced, term.register_number, term.addend, 0});
    }
    void add(Term a, Term b) {
        if (a.form == Term::Form::Constant) std::swap(a, b);
        if (b.form != Term::Form::Constant) clear_ = false;
        a.addend += b.addend;
        push(a);
    }

    std::array<Term, 8> terms_{};
    std::size_t depth_ = 0;
    bool clear_ = true;
};

bool Evaluation::step_constant(std::uint8_t operation, ByteCursor& cursor) {
    const auto widened = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    switch (operation) {
        case op_const1u: push_constant(cursor.number<std::uint8_t>()); return true;
        case op_const1s: push_constant(widened(cursor.number<std::int8_t>())); return true;
        case op_const2u: push_constant(cursor.number<std::uint16_t>()); return true;
        case op_const2s: push_constant(widened(cursor.number<std::int16_t>())); return true;
        case op_const4u: push_constant(cursor.number<std::uint32_t>()); return true;
        case op_const4s: push_constant(widened(cursor.number<std::int32_t>())); return true;
        case op_const8u:
        case op_const8s: push_constant(cursor.number<std::uint64_t>()); return true;
        case op_const_unsigned: push_constant(cursor.unsigned_leb128()); return true;
        case op_const_signed: push_constant(widened(cursor.signed_leb128())); return true;
        default: return false;
    }
}

bool Evaluation::step(std::uint8_t operation, ByteCursor& cursor) {
    if (operation >= op_literal0 && operation <= op_literal31) {
        push_constant(operation - op_literal0);
        return true;
    }
    if (operation >= op_register0 && operation <= op_register31) {
        push_register(operation - op_register0, cursor.signed_leb128());
        return true;
    }
    if (step_constant(operation, cursor)) return true;
    switch (operation) {
        case op_register: {
            const std::uint64_t number = cursor.unsigned_leb128();
            push_register(number, cursor.signed_leb128());
            return true;
        }
        case op_plus_constant:
            add(pop(), Term{Term::Form::Constant, 0, 0, cursor.unsigned_leb128()});
            return true;
        case op_plus: {
            const Term top = pop();
            add(pop(), top);
            return true;
        }
        case op_minus: {
            Term top = pop();
            if (top.form != Term::Form::Constant) return false;
            top.addend = 0 - top.addend;
            add(pop(), top);
            return true;
        }
        case op_dereference: dereference(); return true;
        case op_nop: return true;
        default: return false;
    }
}

std::optional<Term> evaluate(std::string_view expression, bool from_cfa) {
    Evaluation evaluation;
    if (from_cfa) evaluation.push(Term{Term::Form::Cfa, 0, 0, 0});
    ByteCursor cursor(expression);
    while (!cursor.at_end()) {
        if (!evaluation.step(cursor.number<std::uint8_t>(), cursor) || !evaluation.clear())
            return std::nullopt;
    }
    return cursor.ok() ? evaluation.result() : std::nullopt;
}

// The expression for procedure linkage table entries of 16 bytes: instructions before an entry's
// push have one CFA offset, those after it another; the literal is the offset at which the push
// ends. breg7 8, breg16 0, lit15, and, LITERAL, ge, lit3, shl, plus.
std::optional<std::int64_t> plt_threshold(std::string_view expression) {
    constexpr std::string_view before("\x77\x08\x80\x00\x3f\x1a", 6);
    constexpr std::string_view after("\x2a\x33\x24\x22", 4);
    if (expression.size() != before.size() + 1 + after.size()) return std::nullopt;
    if (!expression.starts_with(before) || !expression.ends_with(after)) return std::nullopt;
    const auto literal = static_cast<std::uint8_t>(expression[before.size()]);
    if (literal < op_literal0 || literal > op_literal31) return std::nullopt;
    return literal - op_literal0;
}

template <typename Narrow>
bool fits(std::int64_t value) {
    return value >= std::numeric_limits<Narrow>::min() &&
           value <= std::numeric_limits<Narrow>::max();
}

// The frame in which the kernel calls a signal handler, as glibc and others describe it to
// unwinders: the interrupted registers are in the ucontext at rsp (Linux
// arch/x86/include/uapi/asm/sigcontext.h and ucontext.h).
bool is_kernel_signal_frame(const CallFrameState& state) {
    constexpr std::int64_t rbp_in_context = 120;
    constexpr std::int64_t rsp_in_context = 160;
    constexpr std::int64_t rip_in_context = 168;
    const auto at = [](const SavedRegister& saved, std::int64_t offset) {
        return saved.form == SavedRegister::Form::AtRegister &&
               saved.register_number == register_rsp && saved.offset == offset;
    };
    return state.cfa.form == CfaRule::Form::Dereference &&
           state.cfa.register_number == register_rsp && state.cfa.offset == rsp_in_context &&
           state.cfa.addend == 0 && at(state.rbp, rbp_in_context) &&
           at(state.return_address, rip_in_context);
}

// Its offset from the CFA, if it is in memory at a fixed distance from the CFA.
std::optional<std::int64_t> offset_from_cfa(const SavedRegister& saved, const CfaRule& cfa) {
    if (saved.form == SavedRegister::Form::AtCfa) return saved.offset;
    if (saved.form != SavedRegister::Form::AtRegister || cfa.form != CfaRule::Form::Register)
        return std::nullopt;
    if (saved.register_number != cfa.register_number) return std::nullopt;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(saved.offset) -
                                     static_cast<std::uint64_t>(cfa.offset));
}

lagtrap_unwind_rule plain_rule(lagtrap_unwind_kind kind) {
    return {0, 0, 0, static_cast<__u8>(kind), 0};
}

// The rule for only the CFA.
lagtrap_unwind_rule cfa_rule(const CfaRule& cfa) {
    const auto unsupported = plain_rule(LAGTRAP_UNWIND_UNSUPPORTED);
    constexpr std::int64_t max_offset = (1 << 23) - 1;
    if (cfa.offset < -max_offset || cfa.offset > max_offset ||
        cfa.register_number >= general_registers)
        return unsupported;
    auto rule = plain_rule(LAGTRAP_UNWIND_REGISTER);
    rule.cfa_offset = static_cast<__s32>(cfa.offset);
    rule.register_and_add = static_cast<__u8>(cfa.register_number);
    switch (cfa.form) {
        case CfaRule::Form::Register: return rule;
        case CfaRule::Form::Plt: rule.kind_and_rbp = LAGTRAP_UNWIND_PLT; return rule;
        case CfaRule::Form::Dereference: {
            constexpr std::int64_t max_added = 15 * 8;
            if (cfa.addend < 0 || cfa.addend > max_added || cfa.addend % 8 != 0) return unsupported;
            rule.kind_and_rbp = LAGTRAP_UNWIND_DEREFERENCE;
            rule.register_and_add = static_cast<__u8>(cfa.register_number | cfa.addend / 8 << 4);
            return rule;
        }
        default: return unsupported;
    }
}

void add_rbp(lagtrap_unwind_rule& rule, const CallFrameState& state) {
    const auto set = [&rule](lagtrap_unwind_rbp place, std::int64_t offset) {
        rule.kind_and_rbp = static_cast<__u8>(rule.kind_and_rbp | place << 4);
        rule.rbp_offset = static_cast<__s16>(offset);
    };
    const auto& rbp = state.rbp;
    if (rbp.form == SavedRegister::Form::Unspecified || rbp.form == SavedRegister::Form::Same)
        return;
    if (const auto offset = offset_from_cfa(rbp, state.cfa); offset && fits<__s16>(*offset))
        return set(LAGTRAP_UNWIND_RBP_AT_CFA, *offset);
    if (rbp.form == SavedRegister::Form::AtRegister && rbp.register_number == register_rbp &&
        fits<__s16>(rbp.offset))
        return set(LAGTRAP_UNWIND_RBP_AT_RBP, rbp.offset);
    set(LAGTRAP_UNWIND_RBP_UNDEFINED, 0);
}

// The dynamic linker has code that finds its frame by rbx, which its callees may have saved.
void add_rbx(lagtrap_unwind_rule& rule, const CallFrameState& state) {
    constexpr std::int64_t max_words = 127;
    const auto& rbx = state.rbx;
    if (rbx.form == SavedRegister::Form::Unspecified || rbx.form == SavedRegister::Form::Same)
        return;
    const auto offset = offset_from_cfa(rbx, state.cfa);
    const bool sayable =
        offset && *offset % 8 == 0 && *offset != 0 && std::abs(*offset / 8) <= max_words;
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): a number of words, no character
    rule.rbx_words =
        sayable ? static_cast<__s8>(*offset / 8) : static_cast<__s8>(LAGTRAP_UNWIND_RBX_UNKNOWN);
}

}  // namespace

CfaRule cfa_of_expression(std::string_view expression) {
    CfaRule rule;
    rule.form = CfaRule::Form::Unclear;
    rule.by_expression = true;
    if (const auto threshold = plt_threshold(expression)) {
        rule.form = CfaRule::Form::Plt;
        rule.register_number = register_rsp;
        rule.offset = *threshold;
        return rule;
    }
    const auto term = evaluate(expression, false);
    if (!term) return rule;
    rule.register_number = term->register_number;
    if (term->form == Term::Form::Register) {
        rule.form = CfaRule::Form::Register;
        rule.offset = static_cast<std::int64_t>(term->addend);
    } else if (term->form == Term::Form::Dereferenced) {
        rule.form = CfaRule::Form::Dereference;
        rule.offset = static_cast<std::int64_t>(term->offset);
        rule.addend = static_cast<std::int64_t>(term->addend);
    }
    return rule;
}

SavedRegister place_of_expression(std::string_view expression) {
    const auto term = evaluate(expression, true);
    if (term && term->form == Term::Form::Cfa)
        return SavedRegister{SavedRegister::Form::AtCfa, 0,
                             static_cast<std::int64_t>(term->addend)};
    if (term && term->form == Term::Form::Register && term->register_number < general_registers)
        return SavedRegister{SavedRegister::Form::AtRegister,
                             static_cast<std::uint8_t>(term->register_number),
                             static_cast<std::int64_t>(term->addend)};
    return SavedRegister{SavedRegister::Form::Unclear, 0, 0};
}

lagtrap_unwind_rule rule_of(const CallFrameState& state, bool signal_frame) {
    constexpr std::int64_t return_address_from_cfa = -8;
    if (state.return_address.form == SavedRegister::Form::Undefined)
        return plain_rule(LAGTRAP_UNWIND_END);
    // The walk knows only this layout of signal frames.
    if (signal_frame)
        return plain_rule(is_kernel_signal_frame(state) ? LAGTRAP_UNWIND_SIGNAL
                                                        : LAGTRAP_UNWIND_UNSUPPORTED);
    const bool usual_rsp = state.rsp.form == SavedRegister::Form::Unspecified ||
                           (state.rsp.form == SavedRegister::Form::IsCfa && state.rsp.offset == 0);
    if (!usual_rsp || offset_from_cfa(state.return_address, state.cfa) != return_address_from_cfa)
        return plain_rule(LAGTRAP_UNWIND_UNSUPPORTED);
    auto rule = cfa_rule(state.cfa);
    if (rule.kind_and_rbp == LAGTRAP_UNWIND_UNSUPPORTED) return rule;
    add_rbp(rule, state);
    add_rbx(rule, state);
    return rule;
}

}  // namespace lagtrap::binaries
