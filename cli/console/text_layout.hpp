// Lays out text in columns for screens of a fixed width. Widths count characters (code points), not
// bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/duration.hpp"

namespace lagtrap::cli {

inline constexpr std::size_t screen_width = 80;  // if the screen's width is unknown

[[nodiscard]] std::size_t width_of(std::string_view text);

// At most `width` characters; "..." at the end, or in the middle, marks the cut.
[[nodiscard]] std::string cut_end(std::string_view text, std::size_t width);
[[nodiscard]] std::string cut_middle(std::string_view text, std::size_t width);

// Cut, or padded with spaces, to exactly `width` characters.
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t width);   // text on the right
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t width);  // text on the left

// "96 %"; "<1 %" for a positive share that rounds to less than 1; "-" if `whole` was 0.
[[nodiscard]] std::string percent(double share);

// `share` (0 to 1) of `width` as '#'; at least one if it is positive.
[[nodiscard]] std::string bar(double share, std::size_t width);
// As bar(), starting at `offset` (0 to 1) between spaces: a section of a whole.
[[nodiscard]] std::string stretch(double offset, double share, std::size_t width);

// "12,345".
[[nodiscard]] std::string with_commas(std::uint64_t number);

// "1.50 ms" for a length in nanoseconds.
[[nodiscard]] inline std::string duration(std::uint64_t length_ns) {
    return format_duration_ns(length_ns);
}

// "1 run", "2 runs".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view one,
                                  std::string_view many);

// Joins `parts` by " > " to at most `width` characters. If they do not fit, keeps the first and as
// many of the last as fit: "a > ... > z".
[[nodiscard]] std::string join_path(const std::vector<std::string>& parts, std::size_t width);

// Wraps words into lines of at most `width`, each with `indent` leading spaces and a line end. A
// longer word is broken.
[[nodiscard]] std::string wrap_words(std::string_view text, std::size_t width, std::size_t indent);

// Joins `parts` by ", " into lines of at most `width`, each with `indent` leading spaces and a line
// end. A longer part is cut.
[[nodiscard]] std::string wrap_list(const std::vector<std::string>& parts, std::size_t width,
                                    std::size_t indent);

}  // namespace lagtrap::cli
