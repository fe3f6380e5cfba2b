#include "daemon/functions/function_trace.hpp"

#include <memory>
#include <string>

#include <boost/json.hpp>

#include "core/clock.hpp"
#include "daemon/calls/trace_watch.hpp"
#include "daemon/control/request_fields.hpp"
#include "daemon/functions/function_lines.hpp"

namespace lagtrap::daemon {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

}  // namespace

Result<FunctionRequest> parse_function_request(const json::object& request) {
    FunctionRequest parsed;
    TRY_ASSIGN(parsed.wishes.pid, pid_in(request, "functions"));
    TRY_ASSIGN(parsed.wishes.include, text_in(request, "include"));
    TRY_ASSIGN(parsed.wishes.exclude, text_in(request, "exclude"));
    TRY_ASSIGN(parsed.min_duration, time_in(request, "least_ns", parsed.min_duration));
    TRY_ASSIGN(parsed.length, time_in(request, "length_ns"));
    TRY_ASSIGN(parsed.budget, budget_in(request));
    TRY_ASSIGN(const auto rate,
               number_in(request, "bytes_per_second", 200'000, 1'000, 100'000'000));
    parsed.bytes_per_second = static_cast<std::uint64_t>(rate);
    return parsed;
}

void trace_functions(const FunctionRequest& request, ProcessInspector& inspector,
                     const std::function<CallCosts()>& costs, AnswerLines& answer,
                     const std::atomic<bool>& stop) {
    auto functions = FunctionWatch::begin(request, inspector, costs, stop);
    if (!functions) return TraceLines(answer).refuse(functions.error());
    FunctionWatch& watched = **functions;
    FunctionLines lines(answer);
    lines.begin(watched.started());
    const TraceWatch watch{answer, watched.process(), stop, watched.began_ns(), {request.length}};
    const std::string reason = watch.run([&]() -> std::string {
        lines.send(watched.look(FunctionWatch::call_wait));
        return {};
    });
    lines.send(watched.take(0ms));
    calls::FunctionsEnded ended = watched.so_far();
    ended.reason = reason;
    ended.length_ns = monotonic_ns() - watched.began_ns();
    ended.totals = watched.take_totals();
    ended.detach_ns = watched.detach();
    lines.end(std::move(ended));
}

}  // namespace lagtrap::daemon
