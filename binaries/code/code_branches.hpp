// Decodes the branches of x86-64 code. Internal to binaries/.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "binaries/code/return_sites.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

enum class BranchKind : std::uint8_t {
    Return,
    FarReturn,        // also iret and sysret
    Call,             // direct
    CallThroughSlot,  // through a pointer at a fixed address
    IndirectCall,     // through a register, or a pointer at a computed address
    Jump,             // direct
    ConditionalJump,
    JumpThroughSlot,  // through a pointer at a fixed address
    IndirectJump,     // through a register, or a pointer at a computed address
    Stop,             // ud2 and others after which the processor does not continue
};

// How a switch statement compiled by gcc or clang computes its target.
enum class TableKind : std::uint8_t {
    None,      // not a known switch
    Marked,    // "notrack": compilers use this prefix only for switches
    Sum,       // table + table[index], 4 bytes each
    Pointers,  // [table + 8 * index]
};

struct Branch {
    BranchKind kind = BranchKind::Return;
    std::uint64_t address = 0;
    std::uint64_t next = 0;    // address of the next instruction
    std::uint64_t target = 0;  // of a direct branch; for one through a slot, the slot's address
    JumpCondition condition = JumpCondition::Always;
    bool can_be_probed = true;          // false: its prefixes prevent probes
    JumpTarget computed{};              // for IndirectJump and IndirectCall
    TableKind table = TableKind::None;  // for IndirectJump
    std::uint64_t table_address = 0;    // as linked; 0 if unknown
};

// Whether the function continues at the next instruction, as if there were no branch.
[[nodiscard]] inline bool is_call(BranchKind kind) {
    return kind == BranchKind::Call || kind == BranchKind::CallThroughSlot ||
           kind == BranchKind::IndirectCall;
}

// Decodes all of `code`, whose address as linked is `address`. ErrorKind::Unsupported if some bytes
// are not an instruction, or the last instruction is cut off.
[[nodiscard]] Result<std::vector<Branch>> decode_branches(std::string_view code,
                                                          std::uint64_t address);

}  // namespace lagtrap::binaries
