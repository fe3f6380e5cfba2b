// Runs the line number program of .debug_line (DWARF 5, 6.2). Internal to line_table.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "binaries/dwarf/line_table.hpp"
#include "binaries/elf/byte_cursor.hpp"

namespace lagtrap::binaries {

class LineProgram {
  public:
    LineProgram(const LineTableSource& source, std::uint64_t limit_bytes, LineTable& table)
        : source_(source), limit_bytes_(limit_bytes), table_(table) {}
    // Fills the table: directories, files, rows, and sequences in the order of the program. Errors
    // as LineTable::read.
    [[nodiscard]] Status read();

  private:
    // What the program's header says about its code.
    struct Header {
        std::uint16_t version = 0;
        bool wide = false;  // 64-bit DWARF
        std::uint8_t smallest_step = 1;
        std::uint8_t operations_per_step = 1;
        std::int8_t line_base = 0;
        std::uint8_t line_range = 1;
        std::uint8_t opcode_base = 1;
        std::array<std::uint8_t, 256> operands{};
    };
    struct Registers {
        std::uint64_t address = 0;
        std::uint64_t operation = 0;  // op_index
        std::uint64_t file = 1;
        std::uint64_t line = 1;
    };

    [[nodiscard]] Status read_header();
    void read_old_files(ByteCursor& header);
    [[nodiscard]] Status read_new_files(ByteCursor& header);
    template <typename Add>
    bool read_entries(ByteCursor& header, Add&& add);
    [[nodiscard]] std::string_view text_of(ByteCursor& header, std::uint64_t form) const;
    [[nodiscard]] Status run();
    [[nodiscard]] Status run_extended(ByteCursor& code);
    void run_standard(ByteCursor& code, std::uint8_t opcode);
    void advance(std::uint64_t operations);
    [[nodiscard]] Status add_row();
    void end_sequence();
    [[nodiscard]] Error damaged(std::string_view what) const;
    [[nodiscard]] bool fits() const;

    const LineTableSource& source_;
    std::uint64_t limit_bytes_;
    LineTable& table_;
    std::string_view code_;
    Header header_;
    Registers now_;
    std::size_t first_row_ = 0;  // of the current sequence
    bool ordered_ = true;
};

}  // namespace lagtrap::binaries
