// The destination of a streamed answer: a client's connection, or a file of a capture.
#pragma once

#include <string>

namespace lagtrap::daemon {

// One thread calls say() and end().
class AnswerLines {
  public:
    AnswerLines() = default;
    AnswerLines(const AnswerLines&) = delete;
    AnswerLines& operator=(const AnswerLines&) = delete;
    virtual ~AnswerLines() = default;

    // Sends `line` without its newline. False if it was dropped because there is no room or nobody
    // wants it.
    virtual bool say(const std::string& line) = 0;
    // Sends the last line, which is never dropped.
    virtual void end(const std::string& line) = 0;
    // True if nobody wants more lines. Thread-safe.
    [[nodiscard]] virtual bool is_unwanted() const = 0;
};

}  // namespace lagtrap::daemon
