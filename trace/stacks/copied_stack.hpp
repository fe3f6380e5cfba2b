// Walks the rest of a stack that the BPF side could not walk, from a copy of its memory, by the
// same rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "binaries/unwind/unwind_table.hpp"
#include "bpf/records.h"

namespace lagtrap::trace {

// What is known about the code at an address.
struct CodeRule {
    enum class Kind {
        NoCode,   // no code is known to be mapped there
        NoTable,  // its file could not be read
        RunTime,  // code without unwind information: JIT code, or a file that has none
        Rule,
    };
    Kind kind = Kind::NoCode;
    lagtrap_unwind_rule rule{};
};

using FindCodeRule = std::function<CodeRule(std::uint64_t address)>;

struct ContinuedStack {
    std::vector<std::uint64_t> frames;  // that follow the last frame of the inner stack
    std::uint8_t end = 0;               // enum lagtrap_stack_end, | LAGTRAP_STACK_BY_FRAME_POINTER
};

// Continues the walk at the point where `copy` was made; `copy` must have passed check_record().
// The inner stack has `frames_before` frames; both together have at most LAGTRAP_MAX_FRAMES.
[[nodiscard]] ContinuedStack continue_stack(const lagtrap_stack_copy& copy,
                                            std::size_t frames_before, const FindCodeRule& find);

}  // namespace lagtrap::trace
