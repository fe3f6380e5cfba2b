// A pseudo-terminal with a program, and a person who types and reads.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "core/unique_fd.hpp"

namespace lagtrap::test {

class TerminalSession {
  public:
    // Runs `program` in a process whose standard input and output are the terminal. Its result is
    // the exit code.
    explicit TerminalSession(const std::function<int()>& program, unsigned short columns = 100,
                             unsigned short rows = 30);
    ~TerminalSession();
    TerminalSession(const TerminalSession&) = delete;
    TerminalSession& operator=(const TerminalSession&) = delete;

    void type(const std::string& keys) const;
    void resize(unsigned short columns, unsigned short rows) const;
    void signal(int number) const;
    // Waits until a signal has stopped the program. False if it ends instead.
    [[nodiscard]] bool stops() const;
    // Waits until the text appears in what came since the last call. False if it does not come
    // before the program ends, or for a minute.
    [[nodiscard]] bool shows(const std::string& text);
    // Everything that came so far.
    [[nodiscard]] const std::string& output() const { return output_; }
    // Reads until the program ends; returns its wait status.
    [[nodiscard]] int end();
    // Whether the terminal echoes, as it does before and after the program.
    [[nodiscard]] bool echoes() const;

  private:
    bool read_more();

    UniqueFd terminal_, program_side_;
    pid_t child_ = -1;
    std::string output_;
    std::size_t seen_ = 0;
};

}  // namespace lagtrap::test
