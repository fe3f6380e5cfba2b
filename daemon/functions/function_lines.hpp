// What a trace of functions tells, put into the lines of an answer, and counted.
#pragma once

#include <cstdint>
#include <vector>

#include "calls/function_stream.hpp"
#include "daemon/control/answer_lines.hpp"

namespace lagtrap::daemon {

// One thread's.
class FunctionLines {
  public:
    // `answer` outlives it.
    explicit FunctionLines(AnswerLines& answer) : answer_(answer) {}

    void begin(const calls::FunctionsStarted& started);
    void tell(const std::vector<calls::Function>& more);
    void tell(const std::vector<calls::TracedCall>& calls);
    void tell(const std::vector<calls::TakenOut>& functions);
    // What was sent, and what found no room, is added.
    void end(calls::FunctionsEnded ended);
    [[nodiscard]] bool is_unwanted() const { return answer_.is_unwanted(); }

  private:
    AnswerLines& answer_;
    std::uint64_t sent_ = 0, bytes_ = 0, no_room_ = 0;
};

}  // namespace lagtrap::daemon
