// Uses the whole screen of a terminal, with escape sequences that all current terminals support.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/status/live_view.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

enum class Key : std::uint8_t {
    Letter,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Escape,
    Resized,
    Closed
};

struct KeyPress {
    Key key = Key::Letter;
    char letter = 0;  // if Key::Letter
};

// While it exists, standard input and output belong to the screen: no echo, no line editing,
// alternate buffer. The previous state is restored when it is destroyed, when SIGINT, SIGTERM,
// SIGHUP or SIGQUIT end the program, and when SIGTSTP stops it. Only one at a time.
class Terminal {
  public:
    // ErrorKind::Unsupported if input or output is not a terminal, or TERM is "dumb" or not set.
    [[nodiscard]] static Result<std::unique_ptr<Terminal>> open();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal();

    [[nodiscard]] ScreenSize size() const;
    // Draws lines from the top; they must fit. Clears the rest of the screen.
    void draw(const std::vector<std::string>& lines);
    // The next key, or nullopt after `timeout`.
    [[nodiscard]] std::optional<KeyPress> wait(std::chrono::milliseconds timeout);

  private:
    Terminal() = default;
    std::string unread_;
};

}  // namespace lagtrap::cli
