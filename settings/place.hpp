// Lines and columns in a text, as editors count them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lagtrap::settings {

// Line and column, both from 1; a column is one Unicode code point. 0:0 is the text as a whole.
struct Place {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    friend auto operator<=>(const Place&, const Place&) =
        default;  // NOLINT(modernize-use-nullptr): not a pointer
};

// Maps between offsets and places. Each query scans only a short part of the text, even if a line
// is long. The text must outlive the index and may contain any bytes; UTF-8 continuation bytes do
// not count as columns.
class LineIndex {
  public:
    explicit LineIndex(std::string_view text);

    // The place of a byte offset; offsets beyond the end mean the end.
    [[nodiscard]] Place place_of(std::size_t offset) const;
    // The offset of the character at a place, or of the line's end if the place is beyond it.
    [[nodiscard]] std::size_t offset_of(Place place) const;
    // Line `number`, from 1, without its line end; empty if there is no such line.
    [[nodiscard]] std::string_view line(std::uint32_t number) const;
    [[nodiscard]] std::string_view text() const { return text_; }

  private:
    [[nodiscard]] std::size_t characters_before(std::size_t offset) const;

    std::string_view text_;
    std::vector<std::size_t> line_starts_;
    std::vector<std::size_t> characters_;  // before each multiple of checkpoint_bytes
};

}  // namespace lagtrap::settings
