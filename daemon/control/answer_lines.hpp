// Where the lines of an answer that goes on are put: the connection of a client, or a file of a capture.
#pragma once

#include <string>

namespace lagtrap::daemon {

// Lines come from one thread.
class AnswerLines {
  public:
    AnswerLines() = default;
    AnswerLines(const AnswerLines&) = delete;
    AnswerLines& operator=(const AnswerLines&) = delete;
    virtual ~AnswerLines() = default;

    // `line` without its end. False, and it is left out: there is no room for it, or nobody who wants it.
    virtual bool say(const std::string& line) = 0;
    // The last line; it is never left out.
    virtual void end(const std::string& line) = 0;
    // From any thread: nobody waits for more of it.
    [[nodiscard]] virtual bool is_unwanted() const = 0;
};

}  // namespace lagtrap::daemon
