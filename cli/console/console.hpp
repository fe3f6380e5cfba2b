// Where a command writes, and whether in colours.
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

// Colours text, or leaves it as it is.
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
    std::size_t columns = 80;  // of the screen that `out` is shown on
    bool terminal = false;     // `out` is a screen

    // Says "lagtrap: MESSAGE" and gives exit_failed.
    int fail(std::string_view message);
};

// Whether standard output is a terminal and neither NO_COLOR nor TERM=dumb forbids colours.
[[nodiscard]] bool wants_colours();

// Columns of the terminal that standard output is, or as COLUMNS says; 80 where neither is known. Between 60 and 240.
[[nodiscard]] std::size_t screen_columns();

}  // namespace lagtrap::cli
