// Runs traces of calls, functions and objects for clients of the control socket and for recordings,
// each on its own thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <boost/json/object.hpp>

#include "core/result.hpp"
#include "daemon/calls/call_costs.hpp"
#include "daemon/calls/call_trace.hpp"
#include "daemon/calls/cost_meter.hpp"
#include "daemon/control/answer_lines.hpp"
#include "daemon/control/control_access.hpp"
#include "daemon/objects/object_trace.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/tracing/function_threads.hpp"
#include "daemon/unwinding/unwinder.hpp"

namespace lagtrap::daemon {

class CallTraces : public FunctionThreads {
  public:
    // Both must outlive it.
    CallTraces(ProcessInspector& inspector, Unwinder& unwinder)
        : inspector_(inspector), unwinder_(unwinder) {}
    // Stops all traces and waits until their probes are detached.
    ~CallTraces() override;

    // Starts the trace of calls, functions or objects in `request`. `only_of` is a caller who may
    // trace only their own processes, one trace at a time; nullptr: the caller may trace every
    // process. Errors: the request is invalid; Denied (the caller does not own the process); Busy
    // (too many traces are running, see trace_room.hpp). Call the following on one thread.
    [[nodiscard]] Status begin(const boost::json::object& request, const Caller* only_of,
                               std::shared_ptr<AnswerLines> answer);
    // Starts a trace for a recording, which does not count towards max_traces_at_once. Errors: no
    // thread can be started.
    template <typename Request>
    [[nodiscard]] Status begin_recorded(Request request, std::shared_ptr<AnswerLines> answer) {
        return start(work_of(std::move(request), std::move(answer)), true);
    }
    [[nodiscard]] Status begin_recorded(std::shared_ptr<FunctionRecorder> recorder) override;
    [[nodiscard]] std::size_t running();
    // How traces that begin from now on show titles and messages of objects. Thread-safe.
    void show_texts(CommandLines mode) { texts_.store(mode); }

  private:
    struct Running {
        std::atomic<bool> stop{false};
        std::atomic<bool> done{false};
        bool recorded = false;
        std::optional<uid_t> owner;  // set if the caller may trace only their own processes
        std::thread thread;
    };
    void join_finished();
    using Work =
        std::function<void(const std::function<CallCosts()>& costs, const std::atomic<bool>& stop)>;
    [[nodiscard]] Status start(Work work, bool recorded, std::optional<uid_t> owner = {});
    [[nodiscard]] Status check_room(std::optional<uid_t> owner);
    [[nodiscard]] Work work_of(CallRequest request, std::shared_ptr<AnswerLines> answer);
    [[nodiscard]] Work work_of(FunctionRequest request, std::shared_ptr<AnswerLines> answer);
    [[nodiscard]] Work work_of(ObjectRequest request, std::shared_ptr<AnswerLines> answer);
    [[nodiscard]] Result<Work> work_of(const boost::json::object& request,
                                       std::optional<uid_t> owner,
                                       std::shared_ptr<AnswerLines> answer);
    [[nodiscard]] CallCosts costs();

    std::atomic<CommandLines> texts_{CommandLines::Masked};
    ProcessInspector& inspector_;
    Unwinder& unwinder_;
    CostMeters meters_;
    std::mutex costs_mutex_;
    std::optional<CallCosts> costs_;  // of this machine, once measured
    std::chrono::steady_clock::time_point costs_at_;
    std::list<std::unique_ptr<Running>> running_;
};

}  // namespace lagtrap::daemon
