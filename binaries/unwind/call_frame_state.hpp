// The unwind information for one place in the code, and its conversion to a rule of bpf/unwind.h.
// Internal to binaries/.
#pragma once

#include <cstdint>
#include <string_view>

#include "bpf/unwind.h"

namespace lagtrap::binaries {

// DWARF register numbers (System V ABI for x86-64, 3.6.2). Only these registers are tracked.
inline constexpr std::uint64_t register_rbx = 3;
inline constexpr std::uint64_t register_rbp = 6;
inline constexpr std::uint64_t register_rsp = 7;
inline constexpr std::uint64_t register_return_address = 16;

// How the canonical frame address (CFA) is found.
struct CfaRule {
    enum class Form : std::uint8_t {
        Unset,
        Register,     // register + offset
        Dereference,  // *(register + offset) + addend
        Plt,          // LAGTRAP_UNWIND_PLT with threshold `offset`
        Unclear,      // another kind of expression
    };
    Form form = Form::Unset;
    bool by_expression = false;  // defined by an expression, whatever its form
    std::uint64_t register_number = 0;
    std::int64_t offset = 0;
    std::int64_t addend = 0;
};

// Where the caller's value of a register is.
struct SavedRegister {
    enum class Form : std::uint8_t {
        Unspecified,
        Undefined,
        Same,
        AtCfa,       // in memory at CFA + offset
        AtRegister,  // in memory at register + offset
        IsCfa,       // the value is CFA + offset
        Unclear,
    };
    Form form = Form::Unspecified;
    std::uint8_t register_number = 0;
    std::int64_t offset = 0;
};

struct CallFrameState {
    CfaRule cfa;
    std::int64_t sum_offset = 0;  // of the last CFA defined as register + offset
    SavedRegister rbp;
    SavedRegister rbx;
    SavedRegister rsp;
    SavedRegister return_address;
};

// Interprets the DWARF expression of DW_CFA_def_cfa_expression.
[[nodiscard]] CfaRule cfa_of_expression(std::string_view expression);

// The memory location that the DWARF expression of DW_CFA_expression computes from the CFA.
[[nodiscard]] SavedRegister place_of_expression(std::string_view expression);

// The rule for the stack walk. `signal_frame`: the code is marked as the return of a signal
// handler. If rules cannot express where the caller's rbp is, it becomes
// LAGTRAP_UNWIND_RBP_UNDEFINED; the caller's frame is still correct.
[[nodiscard]] lagtrap_unwind_rule rule_of(const CallFrameState& state, bool signal_frame);

}  // namespace lagtrap::binaries
