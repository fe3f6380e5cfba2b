// What unwind information says about one place in the code, and how that becomes a rule of bpf/unwind.h. Used by the
// other files of this folder.
#pragma once

#include <cstdint>
#include <string_view>

#include "bpf/unwind.h"

namespace lagtrap::binaries {

// DWARF's numbers (System V ABI for x86-64, 3.6.2). Of all registers only these are followed.
inline constexpr std::uint64_t register_rbx = 3;
inline constexpr std::uint64_t register_rbp = 6;
inline constexpr std::uint64_t register_rsp = 7;
inline constexpr std::uint64_t register_return_address = 16;

// How the canonical frame address is found.
struct CfaRule {
    enum class Form : std::uint8_t {
        Unset,
        Register,     // register + offset
        Dereference,  // *(register + offset) + addend
        Plt,          // LAGTRAP_UNWIND_PLT with the threshold `offset`
        Unclear,      // an expression of another kind
    };
    Form form = Form::Unset;
    bool by_expression = false;  // whatever its form
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
    std::int64_t sum_offset = 0;  // of the last CFA that was given as register + offset
    SavedRegister rbp;
    SavedRegister rbx;
    SavedRegister rsp;
    SavedRegister return_address;
};

// What the DWARF expression of DW_CFA_def_cfa_expression computes.
[[nodiscard]] CfaRule cfa_of_expression(std::string_view expression);

// The place in memory that the DWARF expression of DW_CFA_expression computes, to which the CFA is given.
[[nodiscard]] SavedRegister place_of_expression(std::string_view expression);

// The rule for the walk. `signal_frame`: the code is marked as that to which a signal handler returns. A caller's rbp in
// a place that rules cannot say becomes LAGTRAP_UNWIND_RBP_UNDEFINED: the caller's frame is right all the same.
[[nodiscard]] lagtrap_unwind_rule rule_of(const CallFrameState& state, bool signal_frame);

}  // namespace lagtrap::binaries
