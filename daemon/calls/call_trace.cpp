#include "daemon/calls/call_trace.hpp"

#include <fcntl.h>

#include <optional>
#include <set>
#include <string>
#include <utility>

#include <boost/json.hpp>

#include "calls/call_stream.hpp"
#include "core/clock.hpp"
#include "core/text.hpp"
#include "daemon/calls/call_engine.hpp"
#include "daemon/calls/call_thinning.hpp"
#include "daemon/calls/cost_meter.hpp"
#include "daemon/calls/plan_growth.hpp"
#include "daemon/calls/trace_lines.hpp"
#include "daemon/calls/trace_watch.hpp"
#include "daemon/calls/tree_costs.hpp"
#include "daemon/control/request_fields.hpp"
#include "daemon/processes/traced_process.hpp"

namespace lagtrap::daemon {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr auto tree_wait = 20ms;
constexpr auto urgent_wait = 4ms;
constexpr std::uint64_t gone_look_ns = 500'000'000;
constexpr std::uint64_t max_count = 1'000'000;

Error wrong(const std::string& what) { return make_error(ErrorKind::Invalid, what); }

class Trace {
  public:
    Trace(const CallRequest& request, ProcessInspector& inspector, AnswerLines& answer,
          const std::atomic<bool>& stop)
        : request_(request), lines_(answer), growth_(inspector, stop, request.budget) {}

    void run(CostMeters& meters, const AnswerLines& answer, const std::atomic<bool>& stop) {
        const Status begun = begin(meters);
        if (!begun) return lines_.refuse(begun.error());
        CallThinning thinning(request_.budget);
        const TraceWatch watch{
            answer, *process_, stop, monotonic_ns(), {request_.length, "the client disconnected"}};
        (void)engine_->session().too_expensive(thinning, functions_);
        ended_.reason = watch.run([&] { return look(thinning); });
        finish();
    }

  private:
    Status begin(CostMeters& meters) {
        const std::uint32_t pid = request_.wishes.pid;
        TRY_ASSIGN(process_, TracedProcess::open(pid));
        const std::uint64_t began_ns = monotonic_ns();
        TRY_ASSIGN(plan_, growth_.plan(request_.wishes));
        const std::uint64_t planned_ns = monotonic_ns();
        meter_.emplace(meters, plan_.go.goid_offset != 0);
        costs_.emplace(meter_->costs());
        TRY_ASSIGN(engine_, CallEngine::load({static_cast<pid_t>(pid), request_.wishes.owner},
                                             request_.min_duration, plan_.go));
        const std::uint64_t loaded_ns = monotonic_ns();
        set_costs(0);
        TRY_ASSIGN(const auto refused, engine_->attach(plan_.files, plan_.functions));
        const std::uint64_t attached_ns = monotonic_ns();
        for (const CallProbes::Refused& one : refused) {
            ++plan_.refused_count;
            plan_.refused.push_back({plan_.functions[one.function].name, one.reason});
        }
        report_begin(planned_ns - began_ns, attached_ns - loaded_ns);
        return success();
    }

    void set_costs(std::size_t first) {
        for (std::size_t number = first; number < plan_.functions.size(); ++number)
            engine_->session().set_cost(static_cast<std::uint32_t>(number),
                                        costs_->at_start().of(plan_.functions[number]));
    }

    void report_begin(std::uint64_t plan_ns, std::uint64_t attach_ns) {
        calls::Started started;
        started.pid = request_.wishes.pid;
        started.process = process_->name();
        functions_ = reported(plan_.functions);
        started.functions = functions_;
        started.refused = std::move(plan_.refused);
        started.refused_count = plan_.refused_count;
        started.beyond_limit = plan_.beyond_limit;
        started.indirect_calls = plan_.indirect_calls;
        started.plan_ns = plan_ns;
        started.attach_ns = attach_ns;
        (void)lines_.send(started);
    }

    std::vector<calls::Function> reported(const std::vector<PlannedFunction>& functions) {
        std::vector<calls::Function> all;
        for (const PlannedFunction& function : functions) {
            all.push_back(
                reported_function(function, plan_.files, costs_->at_start().of(function)));
            costs_->add(function);
        }
        return all;
    }

    // Without probe costs: the kernel side sees only durations that include them.
    [[nodiscard]] bool is_short(const calls::Tree& tree) const {
        return !request_.with_probes && request_.min_duration.count() != 0 &&
               calls::net_times(tree, functions_).front().wall_ns <
                   static_cast<std::uint64_t>(request_.min_duration.count());
    }

    // See TraceWatch::run().
    std::string look(CallThinning& thinning) {
        for (calls::Tree& tree :
             engine_->take_trees(thinning.is_urgent() ? urgent_wait : tree_wait)) {
            if (has_enough()) break;
            costs_->set_now(meter_->costs());
            tree.probe_scale = costs_->scale_of(tree);
            if (is_short(tree)) {
                ++ended_.short_calls;
                continue;
            }
            ++reported_;
            lines_.send_calls(tree);
        }
        if (has_enough()) return "call count reached";
        const std::uint64_t now_ns = monotonic_ns();
        grow(now_ns);
        if (now_ns - looked_for_gone_ns_ >= gone_look_ns) {
            looked_for_gone_ns_ = now_ns;
            engine_->end_trees_of_gone();
        }
        thin(engine_->session().too_expensive(thinning, functions_));
        return {};
    }

    [[nodiscard]] bool has_enough() const {
        return request_.count != 0 && reported_ == request_.count;
    }

    // Watches functions that indirect calls reached.
    void grow(std::uint64_t now_ns) {
        const auto more =
            growth_.look(now_ns, plan_, *engine_, costs_->at_start().of_stepped_probe_ns());
        if (!more) return;
        const std::size_t before = functions_.size();
        std::vector<calls::Function> added = reported(more->functions);
        for (std::size_t at = 0; at < added.size(); ++at)
            added[at].seen = more->seen.contains(static_cast<std::uint32_t>(before + at));
        // Send them before a tree that contains them.
        if (!lines_.send(added)) return growth_.stop(*engine_);
        functions_.insert(functions_.end(), added.begin(), added.end());
        set_costs(before);
        // Functions that cannot be watched never appear in a tree.
        (void)engine_->attach(plan_.files, more->functions);
    }

    void thin(const std::vector<calls::DetachedFunction>& functions) {
        if (functions.empty()) return;
        std::set<std::uint32_t> numbers;
        for (const calls::DetachedFunction& one : functions) numbers.insert(one.function);
        growth_.leave_out(numbers);
        (void)engine_->session().detach_functions(numbers);
        (void)lines_.send(functions);
    }

    void finish() {
        // Nobody reads trees while the probes are detached.
        const lagtrap_call_totals totals = engine_->totals();
        ended_.detach_ns = engine_->session().detach();
        growth_.wait();
        ended_.calls = totals.trees;
        ended_.short_calls += totals.short_trees;
        ended_.not_kept = totals.no_room + totals.lost;
        engine_.reset();
        lines_.end(ended_);
    }

    const CallRequest& request_;
    TraceLines lines_;
    std::optional<TracedProcess> process_;
    CallPlan plan_;
    PlanGrowth growth_;  // its thread uses the plan
    std::uint64_t looked_for_gone_ns_ = 0, reported_ = 0;
    std::optional<CostMeters::Use> meter_;
    std::optional<TreeCosts> costs_;
    std::vector<calls::Function> functions_;  // those in the engine; the plan may have more
    std::unique_ptr<CallEngine> engine_;
    calls::Ended ended_;
};

}  // namespace

Result<CallRequest> parse_call_request(const json::object& request) {
    CallRequest parsed;
    TRY_ASSIGN(parsed.wishes.pid, pid_in(request, "calls"));
    TRY_ASSIGN(parsed.wishes.function, text_in(request, "function"));
    if (parsed.wishes.function.empty()) return wrong("\"calls\" needs a \"function\"");
    TRY_ASSIGN(const auto depth, number_in(request, "depth", 3, 0, max_call_levels));
    parsed.wishes.depth = static_cast<unsigned>(depth);
    TRY_ASSIGN(parsed.wishes.match, text_in(request, "match"));
    TRY_ASSIGN(parsed.wishes.only, texts_in(request, "only"));
    TRY_ASSIGN(parsed.min_duration, time_in(request, "least_ns"));
    TRY_ASSIGN(const auto count, number_in(request, "count", 0, 0, max_count));
    parsed.count = static_cast<std::uint64_t>(count);
    TRY_ASSIGN(parsed.length, time_in(request, "length_ns"));
    TRY_ASSIGN(parsed.budget, budget_in(request));
    return parsed;
}

void trace_calls(const CallRequest& request, ProcessInspector& inspector, CostMeters& meters,
                 AnswerLines& answer, const std::atomic<bool>& stop) {
    Trace(request, inspector, answer, stop).run(meters, answer, stop);
}

}  // namespace lagtrap::daemon
