#include "daemon/objects/object_trace.hpp"

#include <algorithm>
#include <map>
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
#include "daemon/control/request_fields.hpp"
#include "daemon/objects/object_engine.hpp"
#include "daemon/processes/traced_process.hpp"

namespace lagtrap::daemon {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr auto call_wait = 20ms;
constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::size_t calls_of_line = 1'000;
constexpr std::size_t max_rules = 64;
constexpr std::size_t oldest_of_class = 10;
constexpr std::size_t stacks_reported = 200;
constexpr std::size_t frame_bytes = 256;
constexpr std::uint64_t stacks_per_second = 1'000;

class ObjectTrace {
  public:
    ObjectTrace(const ObjectRequest& request, AnswerLines& answer, ProcessInspector& inspector,
                Unwinder& unwinder, const std::atomic<bool>& stop)
        : request_(request),
          lines_(answer),
          unwinder_(unwinder),
          stop_(stop),
          planner_(inspector, stop),
          thinning_(request.budget) {}

    Status begin(const std::function<CallCosts()>& measure) {
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
        await_tables();
        TRY_ASSIGN(engine_, ObjectEngine::load({static_cast<pid_t>(pid), request_.wishes.owner},
                                               plan_, unwinder_.store()));
        engine_->show_texts(request_.wishes.texts);
        engine_->session().set_min_duration(request_.least);
        engine_->set_room(request_.calls_per_second);
        engine_->set_stack_room(stacks_per_second);
        filled_ns_ = monotonic_ns();
        const std::uint64_t loaded_ns = monotonic_ns();
        TRY_ASSIGN(const auto refused, engine_->attach(plan_, costs));
        if (!refused.empty())
            plan_.reported.refused.push_back({refused.front().reason, refused.size()});
        plan_.reported.attach_ns = monotonic_ns() - loaded_ns;
        describe();
        (void)engine_->session().too_expensive(thinning_, thinned_);
        return success();
    }

    void run() {
        (void)lines_.tell(plan_.reported);
        calls::ObjectsEnded ended;
        ended.reason = watch();
        take(0ms);
        lines_.tell_in_parts(std::exchange(held_, {}), calls_of_line);
        ended.length_ns = monotonic_ns() - began_ns_;
        ended.classes = engine_->counts(plan_.reported.classes.size());
        ended.totals = engine_->totals_of_functions();
        report_oldest(ended);
        const lagtrap_object_totals totals = engine_->totals();
        ended.stacks_lost = totals.stacks_lost;
        ended.not_sent = totals.not_sent;
        ended.too_deep = totals.too_deep;
        ended.detach_ns = engine_->session().detach();
        lines_.end(std::move(ended));
    }

  private:
    void await_tables() {
        const auto enough = [this] {
            return lines_.is_unwanted() || stop_.load() || process_->has_ended();
        };
        const auto missing = unwinder_.prepare(request_.wishes.pid, request_.timeout, enough);
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
        began_ns_ = reported.began_monotonic_ns = now.monotonic_ns;
        reported.began_realtime_ns = now.realtime_ns;
    }

    // Returns the reason for the end.
    std::string watch() {
        std::uint64_t counted_ns = began_ns_;
        for (;;) {
            take(call_wait);
            const std::uint64_t now_ns = monotonic_ns();
            thin();
            fill(now_ns);
            if (now_ns - counted_ns >= second_ns) {
                counted_ns = now_ns;
                engine_->set_stack_room(stacks_per_second);
                engine_->sweep_stacks();
                (void)lines_.tell(
                    calls::ObjectCounts{now_ns, engine_->counts(plan_.reported.classes.size())});
            }
            if (lines_.is_unwanted()) return "stopped";
            if (stop_.load()) return "lagtrapd is stopping";
            if (process_->has_ended()) return "the process exited";
            if (request_.length.count() != 0 &&
                now_ns - began_ns_ >= static_cast<std::uint64_t>(request_.length.count()))
                return "time limit reached";
        }
    }

    // Without all of its creations and releases, a class would be counted wrongly, so detach both.
    void thin() {
        std::vector<calls::DetachedFunction> out =
            engine_->session().too_expensive(thinning_, thinned_);
        if (out.empty()) return;
        std::set<std::uint32_t> numbers;
        for (const calls::DetachedFunction& one : out) numbers.insert(one.function);
        const std::set<std::uint32_t> expensive = numbers;
        for (const std::uint32_t number : expensive) {
            const calls::ObjectFunction& function = plan_.reported.functions[number];
            if (function.role == calls::ObjectRole::Use || number >= plan_.functions.size())
                continue;
            for (std::uint32_t other = 0; other < plan_.functions.size(); ++other) {
                const calls::ObjectFunction& same = plan_.reported.functions[other];
                if (same.class_number != function.class_number ||
                    same.role == calls::ObjectRole::Use)
                    continue;
                if (numbers.insert(other).second) out.push_back({other, 0});
            }
        }
        (void)engine_->detach_functions(numbers);
        (void)lines_.tell(out);
    }

    // Hold calls until the next check: the program often asks for the text of a failure only after
    // it.
    void take(std::chrono::milliseconds wait) {
        ObjectEngine::Taken taken = engine_->take(wait);
        std::vector<calls::ObjectMessage> late;
        for (calls::ObjectMessage& message : taken.messages)
            if (!add_to_failure(held_, message, engine_->speak_of_one()))
                late.push_back(std::move(message));
        lines_.tell_in_parts(std::exchange(held_, std::move(taken.calls)), calls_of_line);
        lines_.tell_any(late);
    }

    void report_oldest(calls::ObjectsEnded& ended) {
        // reported numbers of stacks, by the engine's numbers
        std::map<std::uint64_t, std::uint32_t> reported;
        for (ObjectEngine::Old& old : engine_->oldest(oldest_of_class)) {
            if (old.object.class_number >= plan_.reported.classes.size()) continue;
            old.object.caller = name_of_caller(old.caller);
            const auto known = reported.find(old.stack);
            if (known != reported.end()) {
                old.object.stack = known->second;
            } else if (const auto stack = ended.stacks.size() < stacks_reported
                                              ? engine_->stack(old.stack)
                                              : std::nullopt) {
                ended.stacks.push_back(describe(*stack));
                old.object.stack = reported[old.stack] =
                    static_cast<std::uint32_t>(ended.stacks.size());
            }
            ended.oldest.push_back(std::move(old.object));
        }
    }

    // From the caller of the creation outwards.
    calls::CreationStack describe(const lagtrap_object_stack& stack) {
        calls::CreationStack described;
        described.alive = stack.objects;
        const std::size_t frames =
            std::min<std::size_t>(stack.frame_count, std::size(stack.frames));
        for (std::size_t at = 1; at < std::min(frames, described.frames_limit + 1); ++at)
            described.frames.push_back(name_of_caller(stack.frames[at]));
        described.cut = frames > described.frames_limit + 1 ||
                        (stack.end & ~LAGTRAP_STACK_BY_FRAME_POINTER) != LAGTRAP_STACK_END_COMPLETE;
        return described;
    }

    // The byte before a return address belongs to the call, even if the call is the last
    // instruction of its function.
    const std::string& name_of_caller(std::uint64_t return_address) {
        auto [known, is_new] = names_.try_emplace(return_address);
        if (is_new && return_address != 0)
            known->second = planner_.name_of(return_address - 1).substr(0, frame_bytes);
        return known->second;
    }

    // Up to one second's share at once.
    void fill(std::uint64_t now_ns) {
        const std::uint64_t elapsed_ns = std::min(now_ns - filled_ns_, second_ns);
        const auto left =
            static_cast<std::uint64_t>(std::max<std::int64_t>(engine_->totals().room, 0));
        const auto more = static_cast<std::uint64_t>(
            static_cast<double>(request_.calls_per_second) * static_cast<double>(elapsed_ns) /
            static_cast<double>(second_ns));
        if (more == 0) return;
        filled_ns_ = now_ns;
        engine_->set_room(std::min(left + more, request_.calls_per_second));
    }

    const ObjectRequest& request_;
    TraceLines lines_;
    Unwinder& unwinder_;
    const std::atomic<bool>& stop_;
    ObjectPlanner planner_;
    CallThinning thinning_;
    std::optional<TracedProcess> process_;
    ObjectPlan plan_;
    std::vector<calls::Function> thinned_;
    std::unique_ptr<ObjectEngine> engine_;
    std::vector<calls::ObjectCall> held_;
    std::map<std::uint64_t, std::string> names_;  // of callers
    std::uint64_t began_ns_ = 0, filled_ns_ = 0;
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
    TRY_ASSIGN(parsed.least, time_in(request, "least_ns"));
    TRY_ASSIGN(parsed.length, time_in(request, "length_ns"));
    TRY_ASSIGN(parsed.budget, budget_in(request));
    TRY_ASSIGN(const auto timeout, time_in(request, "patience_ns", 5s));
    parsed.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
    TRY_ASSIGN(const auto rate, number_in(request, "calls_per_second", 5'000, 1, 1'000'000));
    parsed.calls_per_second = static_cast<std::uint64_t>(rate);
    return parsed;
}

void trace_objects(const ObjectRequest& request, ProcessInspector& inspector, Unwinder& unwinder,
                   const std::function<CallCosts()>& costs, AnswerLines& answer,
                   const std::atomic<bool>& stop) {
    ObjectTrace trace(request, answer, inspector, unwinder, stop);
    if (const Status begun = trace.begin(costs); !begun)
        return TraceLines(answer).refuse(begun.error());
    trace.run();
}

}  // namespace lagtrap::daemon
