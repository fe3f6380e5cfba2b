// The whole screen of a terminal, drawn by the escape sequences that every terminal of today knows.
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

enum class Key : std::uint8_t { Letter, Up, Down, PageUp, PageDown, Home, End, Escape, Resized, Closed };

struct KeyPress {
    Key key = Key::Letter;
    char letter = 0;  // of Key::Letter
};

// While there is one, standard input and output are the screen's: no echo, no line editing, the other buffer. It is as before
// once this is gone, and also when SIGINT, SIGTERM, SIGHUP or SIGQUIT end the program, or SIGTSTP stops it. One at a time.
class Terminal {
  public:
    // ErrorKind::Unsupported where input and output are no terminal, or TERM is "dumb" or not set.
    [[nodiscard]] static Result<std::unique_ptr<Terminal>> open();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal();

    [[nodiscard]] ScreenSize size() const;
    // Lines from the top; they must fit. The rest of the screen is empty.
    void draw(const std::vector<std::string>& lines);
    // The next key, or nothing after `patience`.
    [[nodiscard]] std::optional<KeyPress> wait(std::chrono::milliseconds patience);

  private:
    Terminal() = default;
    std::string unread_;
};

}  // namespace lagtrap::cli
