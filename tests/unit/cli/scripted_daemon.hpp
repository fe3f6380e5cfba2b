// Plays lagtrapd for commands that talk to it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::test {

// In a process of its own, because commands that fork must have a single thread. Serves any number
// of connections at the same time.
class ScriptedDaemon {
  public:
    struct Answer {
        std::string text;    // all lines, with their ends
        bool ends = false;   // the connection, after them
        std::string file{};  // its descriptor comes with the text; empty for none
        // Gets SIGINT once the text has been read; 0 for none.
        pid_t interrupted = 0;
    };
    // Gets every line that comes, without its end. Runs in the daemon's process.
    using Handler = std::function<Answer(const std::string& line)>;

    ScriptedDaemon(std::string socket, const Handler& handler);
    ~ScriptedDaemon();
    ScriptedDaemon(const ScriptedDaemon&) = delete;
    ScriptedDaemon& operator=(const ScriptedDaemon&) = delete;

    // Every line so far. One is kept before it is answered.
    [[nodiscard]] std::vector<std::string> lines() const;
    // Those lines that are objects, and how often one of a command came.
    [[nodiscard]] std::vector<boost::json::object> requests() const;
    [[nodiscard]] std::size_t count(const std::string& command) const;
    [[nodiscard]] pid_t pid() const { return child_; }

  private:
    std::string log_;
    pid_t child_ = -1;
};

// Answers status requests with these in turn, the last one from then on, and others with
// {"ok":true}.
[[nodiscard]] ScriptedDaemon::Handler statuses(std::vector<std::string> answers);

// Runs the command with `--socket` of such a daemon.
[[nodiscard]] Outcome run_with_daemon(std::vector<std::string> arguments,
                                      const ScriptedDaemon::Handler& handler,
                                      std::vector<std::string>* lines = nullptr);

// The first line of `text` that begins like this; empty if there is none.
[[nodiscard]] std::string line_with(const std::string& text, const std::string& begin);

[[nodiscard]] std::string text_of_file(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace lagtrap::test
