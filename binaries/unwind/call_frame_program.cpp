#include "binaries/unwind/call_frame_program.hpp"

#include <cstring>

namespace lagtrap::binaries {
namespace {

// Compilers nest one or two; the limit keeps damaged input from using memory.
constexpr std::size_t max_remembered_states = 64;

constexpr std::uint8_t cfa_advance = 0x40;  // the upper two bits; the lower six are the operand
constexpr std::uint8_t cfa_offset = 0x80;
constexpr std::uint8_t cfa_restore = 0xc0;
constexpr std::uint8_t operand_mask = 0x3f;

enum Instruction : std::uint8_t {
    cfa_nop = 0x00,
    cfa_set_location = 0x01,
    cfa_advance1 = 0x02,
    cfa_advance2 = 0x03,
    cfa_advance4 = 0x04,
    cfa_offset_extended = 0x05,
    cfa_restore_extended = 0x06,
    cfa_undefined = 0x07,
    cfa_same_value = 0x08,
    cfa_register = 0x09,
    cfa_remember_state = 0x0a,
    cfa_restore_state = 0x0b,
    cfa_define_cfa = 0x0c,
    cfa_define_cfa_register = 0x0d,
    cfa_define_cfa_offset = 0x0e,
    cfa_define_cfa_expression = 0x0f,
    cfa_expression = 0x10,
    cfa_offset_extended_signed = 0x11,
    cfa_define_cfa_signed = 0x12,
    cfa_define_cfa_offset_signed = 0x13,
    cfa_value_offset = 0x14,
    cfa_value_offset_signed = 0x15,
    cfa_value_expression = 0x16,
    cfa_gnu_arguments_size = 0x2e,
    cfa_gnu_negative_offset_extended = 0x2f,
};

using SavedForm = SavedRegister::Form;

// Wraps around, because damaged operands may overflow.
std::int64_t product(std::uint64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(a * static_cast<std::uint64_t>(b));
}

bool same_rule(const lagtrap_unwind_rule& a, const lagtrap_unwind_rule& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

class Machine {
  public:
    // `rows` may be nullptr if only the state is needed.
    Machine(const CallFrameCode& code, const CallFrameCie& cie, std::uint64_t begin,
            std::uint32_t size, std::vector<CallFrameRow>* rows)
        : code_(code),
          cie_(cie),
          cursor_(code.section.substr(0, code.end), code.begin),
          begin_(begin),
          size_(size),
          rows_(rows),
          state_(cie.initial) {}

    // False if something is damaged.
    bool run() {
        while (!cursor_.at_end() && !finished_) {
            if (!step(cursor_.number<std::uint8_t>()) || !cursor_.ok()) return false;
        }
        if (!finished_) add_row();
        return cursor_.ok();
    }
    [[nodiscard]] const CallFrameState& state() const { return state_; }

  private:
    bool step(std::uint8_t instruction);
    bool step_location(std::uint8_t instruction);
    bool step_cfa(std::uint8_t instruction);
    bool step_register(std::uint8_t instruction);
    bool step_remembered(std::uint8_t instruction);

    // The entry for this register in `state`; nullptr for registers that are not tracked.
    template <typename State>
    static auto place_of(State& state, std::uint64_t number) -> decltype(&state.rbp) {
        switch (number) {
            case register_rbp: return &state.rbp;
            case register_rbx: return &state.rbx;
            case register_rsp: return &state.rsp;
            case register_return_address: return &state.return_address;
            default: return nullptr;
        }
    }
    void save(std::uint64_t number, const SavedRegister& saved) {
        if (SavedRegister* place = place_of(state_, number)) *place = saved;
    }
    void save_at_cfa(std::uint64_t number, std::int64_t offset) {
        save(number, {SavedForm::AtCfa, 0, offset});
    }
    void restore(std::uint64_t number) {
        if (const SavedRegister* place = place_of(cie_.initial, number)) save(number, *place);
    }
    [[nodiscard]] std::int64_t factored(std::uint64_t operand) const {
        return product(operand, cie_.data_alignment);
    }
    [[nodiscard]] std::int64_t factored_signed(std::int64_t operand) const {
        return factored(static_cast<std::uint64_t>(operand));
    }

    bool define_cfa(std::uint64_t number, std::int64_t offset) {
        state_.cfa = CfaRule{CfaRule::Form::Register, false, number, offset, 0};
        state_.sum_offset = offset;
        return true;
    }
    // After an expression, hand-written code (libgcrypt) specifies only a register and means the
    // offset before the expression, which is also how GCC's unwinder reads it. An offset on its own
    // applies to the next register.
    bool define_cfa_register(std::uint64_t number) { return define_cfa(number, state_.sum_offset); }
    bool define_cfa_offset(std::int64_t offset) {
        state_.sum_offset = offset;
        if (!state_.cfa.by_expression) state_.cfa.offset = offset;
        return true;
    }

    void add_row() {
        if (rows_ == nullptr) return;
        const auto rule = rule_of(state_, cie_.signal_frame);
        if (!rows_->empty() && same_rule(rows_->back().rule, rule)) return;
        rows_->push_back(CallFrameRow{static_cast<std::uint32_t>(offset_), rule});
    }
    bool advance_to(std::uint64_t offset) {
        if (offset < offset_) return false;
        if (offset > offset_) add_row();
        offset_ = offset;
        finished_ = rows_ != nullptr && offset_ >= size_;
        return true;
    }
    bool advance(std::uint64_t count) {
        std::uint64_t bytes = 0;
        std::uint64_t to = 0;
        if (__builtin_mul_overflow(count, cie_.code_alignment, &bytes)) return false;
        return !__builtin_add_overflow(offset_, bytes, &to) && advance_to(to);
    }

    const CallFrameCode& code_;
    const CallFrameCie& cie_;
    ByteCursor cursor_;
    std::uint64_t begin_;
    std::uint64_t offset_ = 0;
    std::uint32_t size_;
    bool finished_ = false;
    std::vector<CallFrameRow>* rows_;
    CallFrameState state_;
    std::vector<CallFrameState> remembered_;
};

bool Machine::step_location(std::uint8_t instruction) {
    switch (instruction) {
        case cfa_set_location: {
            const auto address = read_pointer(cursor_, cie_.address_encoding, code_.bases);
            return address && *address >= begin_ && advance_to(*address - begin_);
        }
        case cfa_advance1: return advance(cursor_.number<std::uint8_t>());
        case cfa_advance2: return advance(cursor_.number<std::uint16_t>());
        case cfa_advance4: return advance(cursor_.number<std::uint32_t>());
        default: return false;
    }
}

bool Machine::step_cfa(std::uint8_t instruction) {
    if (instruction == cfa_define_cfa_expression) {
        state_.cfa = cfa_of_expression(cursor_.take(cursor_.unsigned_leb128()));
        return true;
    }
    if (instruction == cfa_define_cfa || instruction == cfa_define_cfa_signed) {
        const std::uint64_t number = cursor_.unsigned_leb128();
        return instruction == cfa_define_cfa
                   ? define_cfa(number, static_cast<std::int64_t>(cursor_.unsigned_leb128()))
                   : define_cfa(number, factored_signed(cursor_.signed_leb128()));
    }
    if (state_.cfa.form == CfaRule::Form::Unset) return false;
    switch (instruction) {
        case cfa_define_cfa_register: return define_cfa_register(cursor_.unsigned_leb128());
        case cfa_define_cfa_offset:
            return define_cfa_offset(static_cast<std::int64_t>(cursor_.unsigned_leb128()));
        case cfa_define_cfa_offset_signed:
            return define_cfa_offset(factored_signed(cursor_.signed_leb128()));
        default: return false;
    }
}

// Instructions whose first operand is a register number.
bool Machine::step_register(std::uint8_t instruction) {
    const std::uint64_t number = cursor_.unsigned_leb128();
    switch (instruction) {
        case cfa_offset_extended:
            save_at_cfa(number, factored(cursor_.unsigned_leb128()));
            return true;
        case cfa_offset_extended_signed:
            save_at_cfa(number, factored_signed(cursor_.signed_leb128()));
            return true;
        case cfa_gnu_negative_offset_extended:
            save_at_cfa(number, factored(0 - cursor_.unsigned_leb128()));
            return true;
        case cfa_restore_extended: restore(number); return true;
        case cfa_undefined: save(number, {SavedForm::Undefined, 0, 0}); return true;
        case cfa_same_value: save(number, {SavedForm::Same, 0, 0}); return true;
        case cfa_register:
            static_cast<void>(cursor_.unsigned_leb128());
            save(number, {SavedForm::Unclear, 0, 0});
            return true;
        case cfa_value_offset:
            save(number, {SavedForm::IsCfa, 0, factored(cursor_.unsigned_leb128())});
            return true;
        case cfa_value_offset_signed:
            save(number, {SavedForm::IsCfa, 0, factored_signed(cursor_.signed_leb128())});
            return true;
        case cfa_expression:
            save(number, place_of_expression(cursor_.take(cursor_.unsigned_leb128())));
            return true;
        case cfa_value_expression:
            static_cast<void>(cursor_.take(cursor_.unsigned_leb128()));
            save(number, {SavedForm::Unclear, 0, 0});
            return true;
        default: return false;
    }
}

bool Machine::step_remembered(std::uint8_t instruction) {
    if (instruction == cfa_remember_state) {
        if (remembered_.size() == max_remembered_states) return false;
        remembered_.push_back(state_);
        return true;
    }
    if (remembered_.empty()) return false;
    state_ = remembered_.back();
    remembered_.pop_back();
    return true;
}

bool Machine::step(std::uint8_t instruction) {
    const std::uint8_t operand = instruction & operand_mask;
    switch (instruction & ~operand_mask) {
        case cfa_advance: return advance(operand);
        case cfa_offset: save_at_cfa(operand, factored(cursor_.unsigned_leb128())); return true;
        case cfa_restore: restore(operand); return true;
        default: break;
    }
    switch (instruction) {
        case cfa_nop: return true;
        case cfa_gnu_arguments_size: static_cast<void>(cursor_.unsigned_leb128()); return true;
        case cfa_set_location:
        case cfa_advance1:
        case cfa_advance2:
        case cfa_advance4: return step_location(instruction);
        case cfa_remember_state:
        case cfa_restore_state: return step_remembered(instruction);
        case cfa_define_cfa:
        case cfa_define_cfa_signed:
        case cfa_define_cfa_register:
        case cfa_define_cfa_offset:
        case cfa_define_cfa_offset_signed:
        case cfa_define_cfa_expression: return step_cfa(instruction);
        default: return step_register(instruction);
    }
}

}  // namespace

std::optional<std::uint64_t> read_unbased_pointer(ByteCursor& cursor, std::uint8_t encoding) {
    constexpr std::uint8_t form_mask = 0x0f;
    switch (encoding & form_mask) {
        case 0x00:
        case 0x04:
        case 0x0c: return cursor.number<std::uint64_t>();
        case 0x01: return cursor.unsigned_leb128();
        case 0x02: return cursor.number<std::uint16_t>();
        case 0x03: return cursor.number<std::uint32_t>();
        case 0x09: return static_cast<std::uint64_t>(cursor.signed_leb128());
        case 0x0a: return static_cast<std::uint64_t>(std::int64_t{cursor.number<std::int16_t>()});
        case 0x0b: return static_cast<std::uint64_t>(std::int64_t{cursor.number<std::int32_t>()});
        default: return std::nullopt;
    }
}

std::optional<std::uint64_t> read_pointer(ByteCursor& cursor, std::uint8_t encoding,
                                          const PointerBases& bases) {
    constexpr std::uint8_t base_mask = 0xf0;  // including the flag for indirect pointers
    const std::uint64_t place = bases.section_address + cursor.position();
    std::uint64_t base = 0;
    switch (encoding & base_mask) {
        case 0x00: break;
        case 0x10: base = place; break;
        case 0x30:
            if (!bases.data) return std::nullopt;
            base = *bases.data;
            break;
        default: return std::nullopt;
    }
    const auto value = read_unbased_pointer(cursor, encoding);
    if (!value || !cursor.ok()) return std::nullopt;
    return base + *value;
}

bool run_initial_program(const CallFrameCode& code, CallFrameCie& cie) {
    cie.initial = {};
    Machine machine(code, cie, 0, 0, nullptr);
    if (!machine.run()) return false;
    cie.initial = machine.state();
    return true;
}

bool run_program(const CallFrameCode& code, const CallFrameCie& cie, std::uint64_t begin,
                 std::uint32_t size, std::vector<CallFrameRow>& rows) {
    rows.clear();
    Machine machine(code, cie, begin, size, &rows);
    return machine.run();
}

}  // namespace lagtrap::binaries
