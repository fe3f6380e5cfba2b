#include "cli/console/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace lagtrap::cli {

namespace {

const char* code_of(Colour colour) {
    switch (colour) {
        case Colour::None: return "";
        case Colour::Bold: return "\x1b[1m";
        case Colour::Dim: return "\x1b[2m";
        case Colour::Red: return "\x1b[31m";
        case Colour::Green: return "\x1b[32m";
        case Colour::Yellow: return "\x1b[33m";
        case Colour::Blue: return "\x1b[34m";
    }
    return "";
}

}  // namespace

std::string Paint::operator()(Colour colour, std::string_view text) const {
    if (!colours_ || colour == Colour::None || text.empty()) return std::string(text);
    return code_of(colour) + std::string(text) + "\x1b[0m";
}

int Console::fail(std::string_view message) {
    err << "lagtrap: " << message << "\n";
    return exit_failed;
}

bool wants_colours() {
    const char* no_color = std::getenv("NO_COLOR");
    if (no_color != nullptr && *no_color != '\0') return false;
    const char* terminal = std::getenv("TERM");
    if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
    return ::isatty(STDOUT_FILENO) == 1;
}

std::size_t screen_columns() {
    constexpr std::size_t least = 60, usual = 80, most = 240;
    std::size_t columns = 0;
    if (const char* text = std::getenv("COLUMNS"); text != nullptr) {
        const std::string_view number(text);
        std::from_chars(number.data(), number.data() + number.size(), columns);
    }
    winsize size{};
    if (columns == 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
    return columns == 0 ? usual : std::clamp(columns, least, most);
}

std::size_t screen_rows() {
    constexpr std::size_t usual = 24;
    winsize size{};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : usual;
}

}  // namespace lagtrap::cli
