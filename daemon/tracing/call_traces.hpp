// The traces of calls, functions and objects that clients of the control socket, or settings, ask for, each on a thread of its own.
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

#include <boost/json/object.hpp>

#include "core/result.hpp"
#include "daemon/calls/call_costs.hpp"
#include "daemon/calls/call_trace.hpp"
#include "daemon/calls/cost_meter.hpp"
#include "daemon/control/answer_lines.hpp"
#include "daemon/control/control_access.hpp"
#include "daemon/functions/function_recorder.hpp"
#include "daemon/objects/object_trace.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/unwinding/unwinder.hpp"

namespace lagtrap::daemon {

class CallTraces {
  public:
    // More at once would take memory and time from what the daemon is for.
    static constexpr std::size_t most_at_once = 3;

    // Both outlive it.
    CallTraces(ProcessInspector& inspector, Unwinder& unwinder) : inspector_(inspector), unwinder_(unwinder) {}
    // Ends them all, and waits until their probes are out.
    ~CallTraces();

    // One thread's. Of calls, functions or objects, as its command says. `only_of`: a caller who may trace only processes
    // of their own, and one of them at a time; nullptr: one who may trace every process. Errors: the request is wrong;
    // Denied: the process is not the caller's; Busy: most_at_once are there.
    [[nodiscard]] Status begin(const boost::json::object& request, const Caller* only_of,
                               std::shared_ptr<AnswerLines> answer);
    // The same of a trace that a recording wants; it does not count as one of them. Errors: no thread can be started.
    [[nodiscard]] Status begin_recorded(CallRequest request, std::shared_ptr<AnswerLines> answer);
    [[nodiscard]] Status begin_recorded(ObjectRequest request, std::shared_ptr<AnswerLines> answer);
    [[nodiscard]] Status begin_recorded(std::shared_ptr<FunctionRecorder> recorder);
    [[nodiscard]] std::size_t running();
    // How titles and messages of objects are shown, of traces that begin from now on. From any thread.
    void show_texts(CommandLines mode) { texts_.store(mode); }

  private:
    struct Running {
        std::atomic<bool> stop{false};
        std::atomic<bool> done{false};
        bool recorded = false;
        std::optional<uid_t> owner;  // who may trace only processes of their own
        std::thread thread;
    };
    void bury();
    using Work = std::function<void(const std::function<CallCosts()>& costs, const std::atomic<bool>& stop)>;
    [[nodiscard]] Status start(Work work, bool recorded, std::optional<uid_t> owner = {});
    [[nodiscard]] Status check_room(std::optional<uid_t> owner);
    [[nodiscard]] Work work_of(CallRequest request, std::shared_ptr<AnswerLines> answer);
    [[nodiscard]] Work work_of(ObjectRequest request, std::shared_ptr<AnswerLines> answer);
    [[nodiscard]] Result<Work> work_of(const boost::json::object& request, std::optional<uid_t> owner,
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
