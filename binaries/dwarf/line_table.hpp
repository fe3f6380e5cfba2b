// Source lines of one compilation unit. libdw's reader takes about 110 bytes per row while it
// works, sorts rows, and keeps everything; this one takes 16 and respects a limit. Internal to
// binaries/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::binaries {

// The input of a line table. The views must live as long as the table.
struct LineTableSource {
    std::string_view debug_line;
    std::string_view debug_line_str;
    std::string_view debug_str;
    std::uint64_t offset = 0;           // DW_AT_stmt_list
    std::string_view directory;         // DW_AT_comp_dir; may be empty
    std::string_view name;              // DW_AT_name; may be empty
    std::uint64_t lowest_address = 0;   // code outside was dropped by the linker
    std::uint64_t highest_address = 0;  // exclusive
};

class LineTable {
  public:
    struct Place {
        std::uint64_t file = 0;  // for file_name()
        std::uint32_t line = 0;  // 0 if there is none
    };

    LineTable() = default;
    // Reads DWARF 2 to 5. ErrorKind::Invalid if damaged, TooLarge if it needs more than
    // `limit_bytes`.
    [[nodiscard]] static Result<LineTable> read(const LineTableSource& source,
                                                std::uint64_t limit_bytes);

    [[nodiscard]] std::optional<Place> find(std::uint64_t address) const;
    // The file's path, as far as it is known; empty if unknown. `file` may also be a value of
    // DW_AT_call_file.
    [[nodiscard]] std::string file_name(std::uint64_t file) const;
    [[nodiscard]] std::uint64_t memory_bytes() const;

  private:
    friend class LineProgram;
    struct Row {
        std::uint64_t address = 0;
        std::uint32_t file = 0;
        std::uint32_t line = 0;
    };
    // Rows with ascending addresses; the last row marks the end.
    struct Sequence {
        std::uint64_t low = 0;
        std::uint64_t high = 0;
        std::uint64_t reach = 0;  // the highest end of all sequences up to this one
        std::size_t first_row = 0;
        std::size_t end_row = 0;
    };
    struct File {
        std::string_view name;
        std::uint64_t directory = 0;
    };

    std::string_view compilation_directory_;
    std::vector<std::string_view> directories_;
    std::vector<File> files_;
    std::vector<Row> rows_;
    std::vector<Sequence> sequences_;
};

}  // namespace lagtrap::binaries
