// Converts the results of a function trace to the lines of an answer, and counts them.
#pragma once

#include <cstdint>
#include <vector>

#include "calls/function_stream.hpp"
#include "daemon/control/answer_lines.hpp"
#include "daemon/functions/function_watch.hpp"

namespace lagtrap::daemon {

// Use it on one thread.
class FunctionLines {
  public:
    // `answer` must outlive it.
    explicit FunctionLines(AnswerLines& answer) : answer_(answer) {}

    void begin(const calls::FunctionsStarted& started);
    void tell(const FunctionWatch::Seen& seen);
    void tell(const std::vector<calls::Function>& more);
    void tell(const std::vector<calls::TracedCall>& calls);
    void tell(const std::vector<calls::TakenOut>& functions);
    // Adds the number of calls that were sent, and of those that found no room.
    void end(calls::FunctionsEnded ended);
    [[nodiscard]] bool is_unwanted() const { return answer_.is_unwanted(); }

  private:
    AnswerLines& answer_;
    std::uint64_t sent_ = 0, bytes_ = 0, no_room_ = 0;
};

}  // namespace lagtrap::daemon
