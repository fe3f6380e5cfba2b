// The branches of a piece of x86-64 code. Used by the other files of this folder.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::binaries {

enum class BranchKind : std::uint8_t {
    Return,
    FarReturn,        // also from interrupts and system calls
    Call,             // direct
    Jump,             // direct
    ConditionalJump,  // all are direct
    JumpThroughSlot,  // by a pointer at a fixed address
    UnclearJump,      // by a register or a computed address, and no switch's
};

struct Branch {
    BranchKind kind = BranchKind::Return;
    std::uint64_t address = 0;
    std::uint64_t target = 0;  // of direct ones; of JumpThroughSlot where the pointer lies
};

// Decodes `code`, which lies at `address` as linked, from its first to its last byte. Jumps of switch statements, as
// gcc and clang make them (a sum of table address and entry, or marked "notrack"), are left out, and so are indirect
// calls. ErrorKind::Unsupported where bytes are no instruction or the last one is cut off.
[[nodiscard]] Result<std::vector<Branch>> decode_branches(std::string_view code, std::uint64_t address);

}  // namespace lagtrap::binaries
