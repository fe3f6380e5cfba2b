// Text in columns, for screens of a fixed width. Widths count characters (code points), not bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/duration.hpp"

namespace lagtrap::cli {

inline constexpr std::size_t screen_width = 80;  // where nothing is known of the screen

[[nodiscard]] std::size_t width_of(std::string_view text);

// At most `width` characters; what is cut is shown as "..." at the end, or in the middle.
[[nodiscard]] std::string cut_end(std::string_view text, std::size_t width);
[[nodiscard]] std::string cut_middle(std::string_view text, std::size_t width);

// Cut and filled up with spaces to exactly `width` characters.
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t width);   // text at the right
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t width);  // text at the left

// "96 %"; "<1 %" for what is more than nothing and rounds to less than 1; "-" where `whole` is 0.
[[nodiscard]] std::string percent(double share);

// `share` (0 to 1) of `width` as '#', at least one for what is more than nothing.
[[nodiscard]] std::string bar(double share, std::size_t width);
// The same, starting at `offset` (0 to 1) between spaces: a stretch of a whole.
[[nodiscard]] std::string stretch(double offset, double share, std::size_t width);

// "12,345".
[[nodiscard]] std::string with_commas(std::uint64_t number);

// "1.50 ms" of a length in nanoseconds.
[[nodiscard]] inline std::string duration(std::uint64_t length_ns) { return format_duration_ns(length_ns); }

// "1 run", "2 runs".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view one, std::string_view many);

// Joins `parts` by " > " to at most `width`. Where they do not fit, the first and as many of the last as do: "a > ... > z".
[[nodiscard]] std::string join_path(const std::vector<std::string>& parts, std::size_t width);

// Words in lines of at most `width` (a longer word has a line of its own), each after `indent` spaces and with a line end.
[[nodiscard]] std::string wrap_words(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace lagtrap::cli
