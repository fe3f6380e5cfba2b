// Where a command writes, and whether in colour.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

namespace lagtrap::cli {

// Exit codes of `lagtrap`.
inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;

enum class Colour { None, Bold, Dim, Red, Green, Yellow, Blue };

// Colours text, or returns it unchanged.
class Paint {
  public:
    explicit Paint(bool colours) : colours_(colours) {}
    [[nodiscard]] std::string operator()(Colour colour, std::string_view text) const;

  private:
    bool colours_;
};

struct Console {
    std::ostream& out;
    std::ostream& err;
    Paint paint;
    std::size_t columns = 80;  // width of the screen that shows `out`
    bool terminal = false;     // `out` is a terminal

    // Prints "lagtrap: MESSAGE" and returns exit_failed.
    int fail(std::string_view message);
};

// True if standard output is a terminal and neither NO_COLOR nor TERM=dumb disables colours.
[[nodiscard]] bool wants_colours();

// Width of standard output's terminal, or COLUMNS; 80 if neither is known. Between 60 and 240.
[[nodiscard]] std::size_t screen_columns();

// Height of standard output's terminal; 24 if unknown.
[[nodiscard]] std::size_t screen_rows();

}  // namespace lagtrap::cli
