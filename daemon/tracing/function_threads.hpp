// Runs function traces, each on its own thread.
#pragma once

#include <memory>

#include "core/result.hpp"
#include "daemon/functions/function_recorder.hpp"

namespace lagtrap::daemon {

class FunctionThreads {
  public:
    FunctionThreads() = default;
    FunctionThreads(const FunctionThreads&) = delete;
    FunctionThreads& operator=(const FunctionThreads&) = delete;
    virtual ~FunctionThreads() = default;

    // Errors: no thread can be started.
    [[nodiscard]] virtual Status begin_recorded(std::shared_ptr<FunctionRecorder> recorder) = 0;
};

}  // namespace lagtrap::daemon
