// Runs the instructions of call frame information (DWARF 5, 6.4.2 and 7.24, with the extensions of GNU). Used by the
// other files of this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "binaries/elf/byte_cursor.hpp"
#include "binaries/unwind/call_frame_state.hpp"

namespace lagtrap::binaries {

// Places from which an encoded pointer (LSB Core, 10.5.1; DW_EH_PE_*) may count.
struct PointerBases {
    std::uint64_t section_address = 0;  // of the first byte of the cursor
    std::optional<std::uint64_t> data;  // DW_EH_PE_datarel
};

inline constexpr std::uint8_t pointer_absolute = 0x00;

// The pointer at `cursor`; nullopt where it is of a kind that has no meaning in x86-64 code, or indirect.
[[nodiscard]] std::optional<std::uint64_t> read_pointer(ByteCursor& cursor, std::uint8_t encoding,
                                                        const PointerBases& bases);
// The same without anything added: a length.
[[nodiscard]] std::optional<std::uint64_t> read_unbased_pointer(ByteCursor& cursor, std::uint8_t encoding);

// What a common information entry (CIE) says about the code of its frame description entries.
struct CallFrameCie {
    std::uint64_t code_alignment = 0;
    std::int64_t data_alignment = 0;
    std::uint32_t offset = 0;   // in its section
    std::uint32_t section = 0;  // number in the order of reading
    std::uint8_t address_encoding = pointer_absolute;
    bool has_augmentation_data = false;
    bool signal_frame = false;
    bool names_landing_pads = false;  // its functions say where theirs are, if they have any
    CallFrameState initial;           // after its own instructions
};

// A rule in force from this offset in its function on.
struct CallFrameRow {
    std::uint32_t offset = 0;
    lagtrap_unwind_rule rule{};
};

// Instructions and where they lie, for pointers relative to themselves.
struct CallFrameCode {
    std::string_view section;
    std::uint32_t begin = 0;  // in `section`
    std::uint32_t end = 0;
    PointerBases bases;
};

// Runs the instructions of `cie` itself; false where they are damaged.
[[nodiscard]] bool run_initial_program(const CallFrameCode& code, CallFrameCie& cie);

// Puts the rules of the function of `size` bytes at `begin` in place of what `rows` held: the first row has offset 0,
// offsets ascend and are below `size`. False where the instructions are damaged; `rows` then means nothing.
[[nodiscard]] bool run_program(const CallFrameCode& code, const CallFrameCie& cie, std::uint64_t begin,
                               std::uint32_t size, std::vector<CallFrameRow>& rows);

}  // namespace lagtrap::binaries
