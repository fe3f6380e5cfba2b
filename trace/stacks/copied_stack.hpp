// The rest of a stack that the kernel side could not walk, from the copy of its memory: by the same rules, later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "binaries/unwind/unwind_table.hpp"
#include "bpf/records.h"

namespace lagtrap::trace {

// What is known of the code at an address.
struct CodeRule {
    enum class Kind {
        NoCode,   // nothing is known to be mapped there
        NoTable,  // its file could not be read
        RunTime,  // code without unwind information: of a JIT compiler, or a file that has none at all
        Rule,
    };
    Kind kind = Kind::NoCode;
    lagtrap_unwind_rule rule{};
};

using FindCodeRule = std::function<CodeRule(std::uint64_t address)>;

struct ContinuedStack {
    std::vector<std::uint64_t> frames;  // those that come after the last frame of the inner stack
    std::uint8_t end = 0;               // enum lagtrap_stack_end, | LAGTRAP_STACK_BY_FRAME_POINTER
};

// Walks on from where `copy` was made, which was checked by check_record(). The inner stack has `frames_before` frames; both
// together have no more than LAGTRAP_MAX_FRAMES.
[[nodiscard]] ContinuedStack continue_stack(const lagtrap_stack_copy& copy, std::size_t frames_before,
                                            const FindCodeRule& find);

}  // namespace lagtrap::trace
