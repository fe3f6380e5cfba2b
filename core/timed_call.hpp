// Calls with a timeout, for file systems that may never answer. Each runs in its own thread, which
// is left behind on a timeout.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "core/result.hpp"

namespace lagtrap {

// Per process: calls that may be in progress at once. Each holds a thread until it returns.
inline constexpr unsigned left_calls_limit = 16;

// Runs `action` in its own thread. False if no thread can be started or left_calls_limit of them
// are running.
[[nodiscard]] bool run_apart(std::function<void()> action);

// Returns the result of `call` if it arrives within `timeout`, otherwise ErrorKind::Timeout. After
// a timeout the call continues, so it must own everything it uses; its thread destroys a late
// result. `doing` names the call in errors. ErrorKind::Busy if too many such calls have not
// returned.
template <typename T>
[[nodiscard]] Result<T> call_within(std::chrono::milliseconds timeout, const std::string& doing,
                                    std::function<Result<T>()> call) {
    auto task = std::make_shared<std::packaged_task<Result<T>()>>(std::move(call));
    auto given = task->get_future();
    if (!run_apart([task] { (*task)(); }))
        return make_error(ErrorKind::Busy,
                          doing + ": too many calls wait for file systems that do not answer");
    task.reset();
    if (given.wait_for(timeout) != std::future_status::ready)
        return make_error(
            ErrorKind::Timeout,
            doing + ": no answer from its file system within " +
                std::to_string(std::chrono::ceil<std::chrono::seconds>(timeout).count()) + " s");
    return given.get();
}

}  // namespace lagtrap
