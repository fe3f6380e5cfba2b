#include "daemon/tracing/call_traces.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "daemon/calls/call_trace.hpp"
#include "daemon/control/request_fields.hpp"
#include "daemon/functions/function_trace.hpp"
#include "daemon/processes/process_credentials.hpp"
#include "daemon/tracing/trace_room.hpp"

namespace lagtrap::daemon {
namespace {

// On virtual machines, the cost of a single-stepped instruction varies by a tenth within seconds.
constexpr std::chrono::seconds costs_last(10);

// The user who must own the process during the trace; nullopt if any process is allowed.
// ErrorKind::Denied: the caller does not own it.
Result<std::optional<uid_t>> owner_for(const boost::json::object& request, const Caller* only_of) {
    if (!only_of) return std::optional<uid_t>();
    TRY_ASSIGN(const std::uint32_t pid, pid_in(request, "trace"));
    TRY_ASSIGN(const ProcessCredentials process, read_process_credentials(pid));
    TRY(check_owner(process, only_of->uid, only_of->groups));
    return std::optional(only_of->uid);
}

}  // namespace

CallTraces::~CallTraces() {
    for (const auto& one : running_) one->stop.store(true);
    for (const auto& one : running_) one->thread.join();
}

void CallTraces::join_finished() {
    std::erase_if(running_, [](const auto& one) {
        if (!one->done.load()) return false;
        one->thread.join();
        return true;
    });
}

std::size_t CallTraces::running() {
    join_finished();
    return static_cast<std::size_t>(std::count_if(running_.begin(), running_.end(),
                                                  [](const auto& one) { return !one->recorded; }));
}

CallCosts CallTraces::costs() {
    const std::lock_guard lock(costs_mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (!costs_ || !costs_->measured || now - costs_at_ >= costs_last) {
        costs_ = CostMeters::Use(meters_, false).costs();
        costs_at_ = now;
    }
    return *costs_;
}

CallTraces::Work CallTraces::work_of(CallRequest request, std::shared_ptr<AnswerLines> answer) {
    return [this, request = std::move(request), answer = std::move(answer)](
               [[maybe_unused]] const auto& costs, const auto& stop) {
        trace_calls(request, inspector_, meters_, *answer, stop);
    };
}

CallTraces::Work CallTraces::work_of(ObjectRequest request, std::shared_ptr<AnswerLines> answer) {
    request.wishes.texts = texts_.load();
    return [this, request = std::move(request), answer = std::move(answer)](const auto& costs,
                                                                            const auto& stop) {
        trace_objects(request, inspector_, unwinder_, costs, *answer, stop);
    };
}

CallTraces::Work CallTraces::work_of(FunctionRequest request, std::shared_ptr<AnswerLines> answer) {
    return [this, request = std::move(request), answer = std::move(answer)](const auto& costs,
                                                                            const auto& stop) {
        trace_functions(request, inspector_, costs, *answer, stop);
    };
}

Result<CallTraces::Work> CallTraces::work_of(const boost::json::object& request,
                                             std::optional<uid_t> owner,
                                             std::shared_ptr<AnswerLines> answer) {
    const auto work = [&](auto wanted) -> Result<Work> {
        if (!wanted) return wanted.error();
        wanted->wishes.owner = owner;
        return work_of(std::move(*wanted), std::move(answer));
    };
    if (request.at("command") == "calls") return work(parse_call_request(request));
    if (request.at("command") == "objects") return work(parse_object_request(request));
    return work(parse_function_request(request));
}

Status CallTraces::check_room(std::optional<uid_t> owner) {
    join_finished();
    std::vector<std::optional<uid_t>> of_clients;
    for (const auto& one : running_)
        if (!one->recorded) of_clients.push_back(one->owner);
    return check_trace_room(of_clients, owner);
}

Status CallTraces::begin(const boost::json::object& request, const Caller* only_of,
                         std::shared_ptr<AnswerLines> answer) {
    TRY_ASSIGN(const std::optional<uid_t> owner, owner_for(request, only_of));
    TRY_ASSIGN(Work work, work_of(request, owner, std::move(answer)));
    TRY(check_room(owner));
    return start(std::move(work), false, owner);
}

Status CallTraces::begin_recorded(std::shared_ptr<FunctionRecorder> recorder) {
    return start(
        [this, recorder = std::move(recorder)](const auto& costs, const auto& stop) {
            recorder->run(inspector_, costs, stop);
        },
        true);
}

Status CallTraces::start(Work work, bool recorded, std::optional<uid_t> owner) {
    join_finished();
    running_.push_back(std::make_unique<Running>());
    Running& own = *running_.back();
    own.recorded = recorded;
    own.owner = owner;
    const auto run = [this, &own, work = std::move(work)] {
        (void)::prctl(PR_SET_NAME, "calls");
        work([this] { return costs(); }, own.stop);
        own.done.store(true);
    };
    try {
        own.thread = std::thread(run);
    } catch (const std::system_error& failed) {
        running_.pop_back();
        return system_error("start a thread", failed.code().value());
    }
    return success();
}

}  // namespace lagtrap::daemon
