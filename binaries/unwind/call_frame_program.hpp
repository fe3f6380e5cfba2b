// Runs call frame instructions (DWARF 5, 6.4.2 and 7.24, with GNU extensions). Internal to
// binaries/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "binaries/elf/byte_cursor.hpp"
#include "binaries/unwind/call_frame_state.hpp"

namespace lagtrap::binaries {

// Base addresses of encoded pointers (LSB Core, 10.5.1; DW_EH_PE_*).
struct PointerBases {
    std::uint64_t section_address = 0;  // address of the cursor's first byte
    std::optional<std::uint64_t> data;  // DW_EH_PE_datarel
};

inline constexpr std::uint8_t pointer_absolute = 0x00;

// Reads a pointer; nullopt if it is indirect or of a kind that x86-64 code does not use.
[[nodiscard]] std::optional<std::uint64_t> read_pointer(ByteCursor& cursor, std::uint8_t encoding,
                                                        const PointerBases& bases);
// The same without a base: a length.
[[nodiscard]] std::optional<std::uint64_t> read_unbased_pointer(ByteCursor& cursor,
                                                                std::uint8_t encoding);

// What a common information entry (CIE) specifies for its frame description entries.
struct CallFrameCie {
    std::uint64_t code_alignment = 0;
    std::int64_t data_alignment = 0;
    std::uint32_t offset = 0;   // in its section
    std::uint32_t section = 0;  // index in the order of reading
    std::uint8_t address_encoding = pointer_absolute;
    bool has_augmentation_data = false;
    bool signal_frame = false;
    bool names_landing_pads = false;  // its functions may specify landing pads
    CallFrameState initial;           // after its own instructions
};

// A rule that applies from this offset in its function.
struct CallFrameRow {
    std::uint32_t offset = 0;
    lagtrap_unwind_rule rule{};
};

// Instructions and their position, for pointers relative to themselves.
struct CallFrameCode {
    std::string_view section;
    std::uint32_t begin = 0;  // offset in `section`
    std::uint32_t end = 0;
    PointerBases bases;
};

// Runs the instructions of `cie` itself; false if they are damaged.
[[nodiscard]] bool run_initial_program(const CallFrameCode& code, CallFrameCie& cie);

// Replaces `rows` by the rules of the function of `size` bytes at `begin`: the first row has offset
// 0, and offsets ascend and are below `size`. False if the instructions are damaged; do not use
// `rows` then.
[[nodiscard]] bool run_program(const CallFrameCode& code, const CallFrameCie& cie,
                               std::uint64_t begin, std::uint32_t size,
                               std::vector<CallFrameRow>& rows);

}  // namespace lagtrap::binaries
