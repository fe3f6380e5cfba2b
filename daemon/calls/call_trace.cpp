#include "daemon/calls/call_trace.hpp"

#include <fcntl.h>

#include <algorithm>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <boost/json.hpp>

#include "calls/call_stream.hpp"
#include "core/clock.hpp"
#include "core/text.hpp"
#include "daemon/calls/call_engine.hpp"
#include "daemon/calls/call_thinning.hpp"
#include "daemon/calls/cost_meter.hpp"
#include "daemon/calls/trace_lines.hpp"
#include "daemon/control/request_fields.hpp"
#include "daemon/processes/traced_process.hpp"

namespace lagtrap::daemon {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr auto tree_wait = 20ms;
constexpr auto urgent_wait = 4ms;
constexpr std::uint64_t look_length_ns = 1'000'000'000;
constexpr std::uint64_t look_pause_ns = 10'000'000'000;
constexpr std::uint64_t gone_look_ns = 500'000'000;
constexpr std::uint64_t max_count = 1'000'000;

Error wrong(const std::string& what) { return make_error(ErrorKind::Invalid, what); }

class Trace {
  public:
    Trace(const CallRequest& request, ProcessInspector& inspector, CostMeters& meters,
          AnswerLines& answer, const std::atomic<bool>& stop)
        : request_(request),
          meters_(meters),
          lines_(answer),
          stop_(stop),
          planner_(inspector, stop) {}

    void run() {
        const Status begun = begin();
        if (!begun) return lines_.refuse(begun.error());
        ended_.reason = watch();
        finish();
    }

  private:
    Status begin() {
        const std::uint32_t pid = request_.wishes.pid;
        TRY_ASSIGN(process_, TracedProcess::open(pid));
        const std::uint64_t began_ns = monotonic_ns();
        TRY_ASSIGN(plan_, planner_.plan(request_.wishes));
        const std::uint64_t planned_ns = monotonic_ns();
        meter_.emplace(meters_, plan_.go.goid_offset != 0);
        costs_now_ = costs_ = meter_->costs();
        TRY_ASSIGN(engine_, CallEngine::load({static_cast<pid_t>(pid), request_.wishes.owner},
                                             request_.least, plan_.go));
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
                                        costs_.of(plan_.functions[number]));
    }

    void report_begin(std::uint64_t plan_ns, std::uint64_t attach_ns) {
        calls::Started started;
        started.pid = request_.wishes.pid;
        started.process = process_->name();
        for (const PlannedFunction& function : plan_.functions) {
            functions_.push_back(reported_function(function, plan_.files, costs_.of(function)));
            kinds_.push_back(CallCosts::kind_of(function));
        }
        started.functions = functions_;
        started.refused = std::move(plan_.refused);
        started.refused_count = plan_.refused_count;
        started.beyond_limit = plan_.beyond_limit;
        started.indirect_calls = plan_.indirect_calls;
        started.plan_ns = plan_ns;
        started.attach_ns = attach_ns;
        (void)lines_.tell(started);
    }

    // Without probe costs: the kernel side sees only durations that include them.
    [[nodiscard]] bool is_short(const calls::Tree& tree) const {
        return !request_.with_probes && request_.least.count() != 0 &&
               calls::net_times(tree, functions_).front().wall_ns <
                   static_cast<std::uint64_t>(request_.least.count());
    }

    // Returns the reason for the end.
    std::string watch() {
        CallThinning thinning(request_.budget);
        const std::uint64_t began_ns = monotonic_ns();
        (void)engine_->session().too_expensive(thinning, functions_);
        std::uint64_t reported = 0;
        for (;;) {
            for (calls::Tree& tree :
                 engine_->take_trees(thinning.is_urgent() ? urgent_wait : tree_wait)) {
                costs_now_ = meter_->costs();
                tree.probe_scale = probe_scale_of(tree);
                if (request_.count != 0 && reported == request_.count) break;
                if (is_short(tree)) {
                    ++ended_.short_calls;
                    continue;
                }
                ++reported;
                lines_.tell_calls(tree);
            }
            const std::uint64_t now_ns = monotonic_ns();
            if (request_.count != 0 && reported == request_.count) return "call count reached";
            if (lines_.is_unwanted()) return "the client disconnected";
            if (stop_.load()) return "lagtrapd is stopping";
            if (process_->has_ended()) return "the process exited";
            if (request_.length.count() != 0 &&
                now_ns - began_ns >= static_cast<std::uint64_t>(request_.length.count()))
                return "time limit reached";
            look_at_indirect(now_ns);
            if (now_ns - looked_for_gone_ns_ >= gone_look_ns) {
                looked_for_gone_ns_ = now_ns;
                engine_->end_trees_of_gone();
            }
            thin(engine_->session().too_expensive(thinning, functions_));
        }
    }

    // The client has the costs measured at the start.
    [[nodiscard]] double probe_scale_of(const calls::Tree& tree) const {
        double then_ns = 0, now_ns = 0;
        for (const calls::Call& call : tree.calls) {
            const calls::ProbeCost &then = costs_.of(kinds_[call.function]),
                                   &now = costs_now_.of(kinds_[call.function]);
            then_ns += static_cast<double>(then.inside_ns + then.around_ns);
            now_ns += static_cast<double>(now.inside_ns + now.around_ns);
        }
        return then_ns > 0 && now_ns > 0 ? now_ns / then_ns : 1;
    }

    // Probes indirect calls for a while, then watches the functions that they called. Repeats at
    // once while it finds functions, later from time to time.
    void look_at_indirect(std::uint64_t now_ns) {
        if (adding_.valid()) return watch_added(now_ns);
        if (!request_.wishes.only.empty() || plan_.indirect_calls == 0 || now_ns < next_look_ns_)
            return;
        const std::uint64_t cost_ns = costs_.of_stepped_probe_ns();
        if (!looking_) {
            looking_ = true;
            look_began_ns_ = now_ns;
            hits_before_ = engine_->totals().indirect_hits;
            if (!engine_->look_at_indirect(plan_.files, plan_.functions, detached_, cost_ns))
                end_looks();
            return;
        }
        const double took_ns =
            static_cast<double>((engine_->totals().indirect_hits - hits_before_) * cost_ns);
        const bool expensive = took_ns > request_.budget * static_cast<double>(look_length_ns);
        if (!expensive && now_ns - look_began_ns_ < look_length_ns) return;
        looking_ = false;
        next_look_ns_ = now_ns + (expensive ? look_pause_ns : look_length_ns / 2);
        find_seen(engine_->take_seen());
    }

    void end_looks() {
        looking_ = false;
        next_look_ns_ = UINT64_MAX;
        (void)engine_->take_seen();
    }

    // Reads their code on another thread, so that trees continue to arrive. That thread owns the
    // plan until it is done.
    void find_seen(const std::vector<CallEngine::Seen>& seen) {
        std::vector<CallPlanner::Address> addresses;
        for (const CallEngine::Seen& one : seen)
            if (one.function < plan_.functions.size())
                addresses.push_back({one.address, plan_.functions[one.function].level + 1});
        try {
            adding_ = std::async(std::launch::async,
                                 [this, addresses] { return planner_.add(addresses, plan_); });
        } catch (const std::system_error&) {
            end_looks();
        }
    }

    // Attaches the functions once their code has been read.
    void watch_added(std::uint64_t now_ns) {
        if (adding_.wait_for(0s) != std::future_status::ready) return;
        const auto direct = adding_.get();
        const std::size_t before = functions_.size();
        if (plan_.functions.size() == before) {
            next_look_ns_ = std::max(next_look_ns_, now_ns + look_pause_ns);
            return;
        }
        const std::vector<PlannedFunction> more(
            plan_.functions.begin() + static_cast<std::ptrdiff_t>(before), plan_.functions.end());
        std::vector<calls::Function> reported;
        for (const PlannedFunction& function : more) {
            const auto number = static_cast<std::uint32_t>(before + reported.size());
            reported.push_back(reported_function(function, plan_.files, costs_.of(function)));
            reported.back().seen = direct && direct->contains(number);
        }
        // Send them before a tree that contains them.
        if (!lines_.tell(reported)) return end_looks();
        functions_.insert(functions_.end(), reported.begin(), reported.end());
        for (const PlannedFunction& function : more) kinds_.push_back(CallCosts::kind_of(function));
        set_costs(before);
        // Functions that cannot be watched never appear in a tree.
        (void)engine_->attach(plan_.files, more);
    }

    void thin(const std::vector<calls::DetachedFunction>& functions) {
        if (functions.empty()) return;
        std::set<std::uint32_t> numbers;
        for (const calls::DetachedFunction& one : functions) numbers.insert(one.function);
        detached_.insert(numbers.begin(), numbers.end());
        (void)engine_->session().detach_functions(numbers);
        (void)lines_.tell(functions);
    }

    void finish() {
        // Nobody reads trees while the probes are detached.
        const lagtrap_call_totals totals = engine_->totals();
        ended_.detach_ns = engine_->session().detach();
        if (adding_.valid()) adding_.wait();
        ended_.calls = totals.trees;
        ended_.short_calls += totals.short_trees;
        ended_.not_kept = totals.no_room + totals.lost;
        engine_.reset();
        lines_.end(ended_);
    }

    const CallRequest& request_;
    CostMeters& meters_;
    TraceLines lines_;
    const std::atomic<bool>& stop_;
    std::optional<TracedProcess> process_;
    CallPlanner planner_;
    CallPlan plan_;
    std::set<std::uint32_t> detached_;
    bool looking_ = false;  // at indirect calls
    std::uint64_t looked_for_gone_ns_ = 0;
    std::uint64_t look_began_ns_ = 0, next_look_ns_ = 0, hits_before_ = 0;
    std::optional<CostMeters::Use> meter_;
    CallCosts costs_, costs_now_;             // at the start; recent
    std::vector<CallCosts::Kind> kinds_;      // by number in functions_
    std::vector<calls::Function> functions_;  // those in the engine; the plan may have more
    std::future<Result<std::set<std::uint32_t>>> adding_;
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
    TRY_ASSIGN(parsed.least, time_in(request, "least_ns"));
    TRY_ASSIGN(const auto count, number_in(request, "count", 0, 0, max_count));
    parsed.count = static_cast<std::uint64_t>(count);
    TRY_ASSIGN(parsed.length, time_in(request, "length_ns"));
    TRY_ASSIGN(parsed.budget, budget_in(request));
    return parsed;
}

void trace_calls(const CallRequest& request, ProcessInspector& inspector, CostMeters& meters,
                 AnswerLines& answer, const std::atomic<bool>& stop) {
    Trace(request, inspector, meters, answer, stop).run();
}

}  // namespace lagtrap::daemon
