// Places in a text, as editors count them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lagtrap::settings {

// Line and column, both from 1; a column is one character (Unicode code point). 0:0 is the text as a whole.
struct Place {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    friend auto operator<=>(const Place&, const Place&) = default;  // NOLINT(modernize-use-nullptr): not a pointer
};

// Finds places and lines of a text, each in the time of a short scan however long the lines are. The text
// must outlive the index. Any bytes may be in it; bytes that continue a UTF-8 sequence count as no column.
class LineIndex {
  public:
    explicit LineIndex(std::string_view text);

    // Of a byte offset; offsets beyond the end are the end.
    [[nodiscard]] Place place_of(std::size_t offset) const;
    // Where the character at a place begins; the end of its line for places beyond it.
    [[nodiscard]] std::size_t offset_of(Place place) const;
    // Line `number`, counted from 1, without its line end; empty where there is none.
    [[nodiscard]] std::string_view line(std::uint32_t number) const;
    [[nodiscard]] std::string_view text() const { return text_; }

  private:
    [[nodiscard]] std::size_t characters_before(std::size_t offset) const;

    std::string_view text_;
    std::vector<std::size_t> line_starts_;
    std::vector<std::size_t> characters_;  // before each multiple of checkpoint_bytes
};

}  // namespace lagtrap::settings
