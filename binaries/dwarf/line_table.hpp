// Source lines of one compilation unit. libdw's own reader takes some 110 bytes a row while it works, sorts, and keeps
// all of it until the end; this one takes 16, and a limit. Used by the other files of this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::binaries {

// What a line table is made of. The views must live as long as the table.
struct LineTableSource {
    std::string_view debug_line;
    std::string_view debug_line_str;
    std::string_view debug_str;
    std::uint64_t offset = 0;           // DW_AT_stmt_list
    std::string_view directory;         // DW_AT_comp_dir, may be empty
    std::string_view name;              // DW_AT_name, may be empty
    std::uint64_t lowest_address = 0;   // code outside is not there any more: the linker left it out
    std::uint64_t highest_address = 0;  // exclusive
};

class LineTable {
  public:
    struct Place {
        std::uint64_t file = 0;  // for file_name
        std::uint32_t line = 0;  // 0: none
    };

    LineTable() = default;
    // DWARF 2 to 5. ErrorKind::Invalid: damaged; TooLarge: it would take more than `limit_bytes`.
    [[nodiscard]] static Result<LineTable> read(const LineTableSource& source, std::uint64_t limit_bytes);

    [[nodiscard]] std::optional<Place> find(std::uint64_t address) const;
    // With its directories; as far as it is known. `file` is also what DW_AT_call_file has. Empty: not known.
    [[nodiscard]] std::string file_name(std::uint64_t file) const;
    [[nodiscard]] std::uint64_t memory_bytes() const;

  private:
    friend class LineProgram;
    struct Row {
        std::uint64_t address = 0;
        std::uint32_t file = 0;
        std::uint32_t line = 0;
    };
    // Rows of ascending addresses; the last row is the end.
    struct Sequence {
        std::uint64_t low = 0;
        std::uint64_t high = 0;
        std::uint64_t reach = 0;  // the highest end up to here
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
