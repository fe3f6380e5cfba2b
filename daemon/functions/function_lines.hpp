// Sends the results of a function trace as lines of an answer.
#pragma once

#include <vector>

#include "calls/function_stream.hpp"
#include "daemon/calls/trace_lines.hpp"
#include "daemon/functions/function_watch.hpp"

namespace lagtrap::daemon {

// Use it on one thread.
class FunctionLines {
  public:
    // `answer` must outlive it.
    explicit FunctionLines(AnswerLines& answer) : lines_(answer) {}

    void begin(const calls::FunctionsStarted& started) { (void)lines_.send(started); }
    void send(const FunctionWatch::Seen& seen) {
        lines_.send_any(seen.more);
        send(seen.calls);
        lines_.send_any(seen.detached);
    }
    void send(const std::vector<calls::TracedCall>& calls) {
        lines_.send_in_parts(calls, calls_of_line);
    }
    void send(const std::vector<calls::DetachedFunction>& functions) { lines_.send_any(functions); }
    // Adds the number of calls that were sent, and of those that found no room.
    void end(calls::FunctionsEnded ended) { lines_.end(std::move(ended)); }
    [[nodiscard]] bool is_unwanted() const { return lines_.is_unwanted(); }

  private:
    static constexpr std::size_t calls_of_line = 2'000;
    TraceLines lines_;
};

}  // namespace lagtrap::daemon
