// The branches of a piece of x86-64 code. Used by the other files of this folder.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "binaries/code/return_sites.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

enum class BranchKind : std::uint8_t {
    Return,
    FarReturn,        // also from interrupts and system calls
    Call,             // direct
    CallThroughSlot,  // by a pointer at a fixed address
    IndirectCall,     // by a register or a pointer at a computed address
    Jump,             // direct
    ConditionalJump,
    JumpThroughSlot,  // by a pointer at a fixed address
    IndirectJump,     // by a register or a pointer at a computed address
    Stop,             // ud2 and others that the processor goes no further than
};

// How a switch statement, as gcc and clang make them, computes where it jumps.
enum class TableKind : std::uint8_t {
    None,      // no switch that is known
    Marked,    // "notrack": compilers give it to switches alone
    Sum,       // table + table[index], 4 bytes each
    Pointers,  // [table + 8 * index]
};

struct Branch {
    BranchKind kind = BranchKind::Return;
    std::uint64_t address = 0;
    std::uint64_t next = 0;    // address of the instruction behind it
    std::uint64_t target = 0;  // of direct ones; of those through a slot where the pointer lies
    JumpCondition condition = JumpCondition::Always;
    bool can_be_probed = true;          // the kernel takes no probe on an instruction with some prefixes
    JumpTarget computed{};              // of IndirectJump and IndirectCall
    TableKind table = TableKind::None;  // of IndirectJump
    std::uint64_t table_address = 0;    // as linked; 0: not known
};

// Whether the function goes on behind it, as if it were no branch.
[[nodiscard]] inline bool is_call(BranchKind kind) {
    return kind == BranchKind::Call || kind == BranchKind::CallThroughSlot || kind == BranchKind::IndirectCall;
}

// Decodes `code`, which lies at `address` as linked, from its first to its last byte.
// ErrorKind::Unsupported where bytes are no instruction or the last one is cut off.
[[nodiscard]] Result<std::vector<Branch>> decode_branches(std::string_view code, std::uint64_t address);

}  // namespace lagtrap::binaries
