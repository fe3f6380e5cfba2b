#include "daemon/objects/object_trace.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "core/clock.hpp"
#include "core/duration.hpp"
#include "daemon/calls/call_thinning.hpp"
#include "daemon/calls/trace_lines.hpp"
#include "daemon/calls/trace_watch.hpp"
#include "daemon/control/request_fields.hpp"
#include "daemon/objects/call_room.hpp"
#include "daemon/objects/object_creations.hpp"
#include "daemon/objects/object_engine.hpp"
#include "daemon/objects/whole_classes.hpp"
#include "daemon/processes/traced_process.hpp"

namespace lagtrap::daemon {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr auto call_wait = 20ms;
constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::size_t calls_of_line = 1'000;
constexpr std::size_t max_rules = 64;
constexpr std::uint64_t stacks_per_second = 1'000;

class ObjectTrace {
  public:
    ObjectTrace(const ObjectRequest& request, AnswerLines& answer, ProcessInspector& inspector,
                const std::atomic<bool>& stop)
        : request_(request), lines_(answer), planner_(inspector, stop), thinning_(request.budget) {}

    Status begin(const std::function<CallCosts()>& measure, Unwinder& unwinder,
                 const std::atomic<bool>& stop) {
        const std::uint32_t pid = request_.wishes.pid;
        TRY_ASSIGN(process_, TracedProcess::open(pid));
        const std::uint64_t asked_ns = monotonic_ns();
        TRY_ASSIGN(plan_, planner_.plan(request_.wishes));
        plan_.reported.plan_ns = monotonic_ns() - asked_ns;
        const std::vector<calls::ProbeCost> costs = costs_of(measure());
        for (std::size_t number = 0; number < costs.size(); ++number) {
            plan_.reported.functions[number].function.cost = costs[number];
            thinned_.push_back(plan_.reported.functions[number].function);
        }
        await_tables(unwinder, stop);
        TRY_ASSIGN(engine_, ObjectEngine::load({static_cast<pid_t>(pid), request_.wishes.owner},
                                               plan_, unwinder.store()));
        engine_->show_texts(request_.wishes.texts);
        engine_->session().set_min_duration(request_.min_duration);
        engine_->set_room(request_.calls_per_second);
        engine_->set_stack_room(stacks_per_second);
        const std::uint64_t loaded_ns = monotonic_ns();
        room_.emplace(request_.calls_per_second, loaded_ns);
        TRY_ASSIGN(const auto refused, engine_->attach(plan_, costs));
        if (!refused.empty())
            plan_.reported.refused.push_back({refused.front().reason, refused.size()});
        plan_.reported.attach_ns = monotonic_ns() - loaded_ns;
        describe();
        (void)engine_->session().too_expensive(thinning_, thinned_);
        return success();
    }

    void run(const AnswerLines& answer, const std::atomic<bool>& stop) {
        const std::uint64_t began_ns = plan_.reported.began_monotonic_ns;
        const TraceWatch watch{answer, *process_, stop, began_ns, {request_.length}};
        (void)lines_.send(plan_.reported);
        calls::ObjectsEnded ended;
        counted_ns_ = began_ns;
        ended.reason = watch.run([this] { return look(); });
        take(0ms);
        lines_.send_in_parts(std::exchange(held_, {}), calls_of_line);
        ended.length_ns = monotonic_ns() - began_ns;
        ended.classes = engine_->counts(plan_.reported.classes.size());
        ended.totals = engine_->totals_of_functions();
        ObjectCreations(planner_).add_to(ended, *engine_, plan_.reported.classes.size());
        const lagtrap_object_totals totals = engine_->totals();
        ended.stacks_lost = totals.stacks_lost;
        ended.not_sent = totals.not_sent;
        ended.too_deep = totals.too_deep;
        ended.detach_ns = engine_->session().detach();
        lines_.end(std::move(ended));
    }

  private:
    void await_tables(Unwinder& unwinder, const std::atomic<bool>& stop) {
        const auto enough = [&] {
            return lines_.is_unwanted() || stop.load() || process_->has_ended();
        };
        const auto missing = unwinder.prepare(request_.wishes.pid, request_.timeout, enough);
        if (missing == 0) return;
        const std::string what = missing
                                     ? fmt::format("the unwind tables of {} of its files", *missing)
                                     : "its unwind tables";
        const std::string when =
            request_.timeout.count() == 0 ? "yet" : "after " + format_duration(request_.timeout);
        plan_.reported.notes.push_back(fmt::format(
            "{} were not ready {}: the stacks of the first creations may end early", what, when));
    }

    std::vector<calls::ProbeCost> costs_of(const CallCosts& measured) const {
        std::vector<calls::ProbeCost> costs;
        for (const PlannedFunction& function : plan_.functions)
            costs.push_back(measured.of(function));
        for (const MemoryFunction& function : plan_.memory) {
            PlannedFunction alike;
            alike.first_code = function.first_code;
            calls::ProbeCost cost = measured.of(alike);
            // Only one end is watched, or both ends count as hits. So a hit has half of the cost.
            if (function.kind == LAGTRAP_MEMORY_GIVE || plan_.memory_by_request)
                cost = {cost.inside_ns / 2, cost.around_ns / 2};
            costs.push_back(cost);
        }
        return costs;
    }

    void describe() {
        calls::ObjectsStarted& reported = plan_.reported;
        reported.pid = request_.wishes.pid;
        reported.process = process_->name();
        reported.attached_by = has_uprobe_multi()
                                   ? "uprobe_multi: only in this process"
                                   : "single probes: this kernel lacks uprobe_multi, so all "
                                     "processes with these files hit them";
        const ClockSnapshot now = ClockSnapshot::take();
        reported.began_monotonic_ns = now.monotonic_ns;
        reported.began_realtime_ns = now.realtime_ns;
    }

    // See TraceWatch::run().
    std::string look() {
        take(call_wait);
        const std::uint64_t now_ns = monotonic_ns();
        thin();
        if (const auto room = room_->refill(now_ns, engine_->totals().room))
            engine_->set_room(*room);
        if (now_ns - counted_ns_ >= second_ns) {
            counted_ns_ = now_ns;
            engine_->set_stack_room(stacks_per_second);
            engine_->sweep_stacks();
            (void)lines_.send(
                calls::ObjectCounts{now_ns, engine_->counts(plan_.reported.classes.size())});
        }
        return {};
    }

    void thin() {
        std::vector<calls::DetachedFunction> out =
            engine_->session().too_expensive(thinning_, thinned_);
        if (out.empty()) return;
        std::set<std::uint32_t> expensive;
        for (const calls::DetachedFunction& one : out) expensive.insert(one.function);
        const std::set<std::uint32_t> numbers =
            with_whole_classes(expensive, plan_.reported.functions, plan_.functions.size());
        for (const std::uint32_t number : numbers)
            if (!expensive.contains(number)) out.push_back({number, 0});
        (void)engine_->detach_functions(numbers);
        (void)lines_.send(out);
    }

    // Hold calls until the next check: the program often asks for the text of a failure only after
    // it.
    void take(std::chrono::milliseconds wait) {
        ObjectEngine::Taken taken = engine_->take(wait);
        std::vector<calls::ObjectMessage> late;
        for (calls::ObjectMessage& message : taken.messages)
            if (!add_to_failure(held_, message, engine_->speak_of_one()))
                late.push_back(std::move(message));
        lines_.send_in_parts(std::exchange(held_, std::move(taken.calls)), calls_of_line);
        lines_.send_any(late);
    }

    const ObjectRequest& request_;
    TraceLines lines_;
    ObjectPlanner planner_;
    CallThinning thinning_;
    std::optional<TracedProcess> process_;
    ObjectPlan plan_;
    std::vector<calls::Function> thinned_;
    std::unique_ptr<ObjectEngine> engine_;
    std::optional<CallRoom> room_;
    std::vector<calls::ObjectCall> held_;
    std::uint64_t counted_ns_ = 0;
};

Result<std::vector<calls::ObjectRule>> rules_in(const json::object& request) {
    const json::value* const value = request.if_contains("rules");
    if (value == nullptr || !value->is_array() || value->as_array().empty() ||
        value->as_array().size() > max_rules)
        return make_error(ErrorKind::Invalid,
                          fmt::format("\"objects\" needs \"rules\": 1 to {} objects", max_rules));
    std::vector<calls::ObjectRule> rules;
    for (const json::value& one : value->as_array()) {
        if (!one.is_object())
            return make_error(ErrorKind::Invalid, "one of \"rules\" is not an object");
        TRY_ASSIGN(auto rule, calls::parse_object_rule(one.as_object()));
        rules.push_back(std::move(rule));
    }
    return rules;
}

}  // namespace

Result<ObjectRequest> parse_object_request(const json::object& request) {
    ObjectRequest parsed;
    TRY_ASSIGN(parsed.wishes.pid, pid_in(request, "objects"));
    TRY_ASSIGN(parsed.wishes.rules, rules_in(request));
    TRY_ASSIGN(parsed.wishes.include, text_in(request, "include"));
    TRY_ASSIGN(parsed.wishes.exclude, text_in(request, "exclude"));
    TRY_ASSIGN(const auto memory, number_in(request, "memory", 1, 0, 1));
    parsed.wishes.memory = memory != 0;
    TRY_ASSIGN(parsed.min_duration, time_in(request, "least_ns"));
    TRY_ASSIGN(parsed.length, time_in(request, "length_ns"));
    TRY_ASSIGN(parsed.budget, budget_in(request));
    TRY_ASSIGN(const auto timeout, time_in(request, "timeout_ns", 5s));
    parsed.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
    TRY_ASSIGN(const auto rate, number_in(request, "calls_per_second", 5'000, 1, 1'000'000));
    parsed.calls_per_second = static_cast<std::uint64_t>(rate);
    return parsed;
}

void trace_objects(const ObjectRequest& request, ProcessInspector& inspector, Unwinder& unwinder,
                   const std::function<CallCosts()>& costs, AnswerLines& answer,
                   const std::atomic<bool>& stop) {
    ObjectTrace trace(request, answer, inspector, stop);
    if (const Status begun = trace.begin(costs, unwinder, stop); !begun)
        return TraceLines(answer).refuse(begun.error());
    trace.run(answer, stop);
}

}  // namespace lagtrap::daemon
