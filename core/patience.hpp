// Calls that a file system may never let return, made by a thread that can be left behind.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "core/result.hpp"

namespace lagtrap {

// Of a process, at once: each keeps a thread for as long as its call lasts.
inline constexpr unsigned left_calls_limit = 16;

// Runs `action` by a thread of its own. False: there is none left for it, or left_calls_limit of them are on their way.
[[nodiscard]] bool run_apart(std::function<void()> action);

// What `call` gives, if it comes within `patience`; else ErrorKind::Timeout, and the call goes on: so it owns all that it
// uses, and what it gives then is destroyed by its thread. `doing` names it in errors. ErrorKind::Busy: too many such
// calls have not returned.
template <typename T>
[[nodiscard]] Result<T> call_within(std::chrono::milliseconds patience, const std::string& doing,
                                    std::function<Result<T>()> call) {
    auto task = std::make_shared<std::packaged_task<Result<T>()>>(std::move(call));
    auto given = task->get_future();
    if (!run_apart([task] { (*task)(); }))
        return make_error(ErrorKind::Busy, doing + ": too many calls wait for file systems that do not answer");
    task.reset();
    if (given.wait_for(patience) != std::future_status::ready)
        return make_error(ErrorKind::Timeout,
                          doing + ": no answer from its file system within " +
                              std::to_string(std::chrono::ceil<std::chrono::seconds>(patience).count()) + " s");
    return given.get();
}

}  // namespace lagtrap
