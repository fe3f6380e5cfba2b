#include "daemon/functions/function_plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <boost/regex.hpp>
#include <fmt/core.h>

#include "binaries/elf/program_file.hpp"
#include "bpf/functions.h"
#include "calls/function_sorting.hpp"
#include "core/text.hpp"
#include "daemon/calls/name_expressions.hpp"
#include "daemon/probes/overhead_probes.hpp"
#include "daemon/processes/process_files.hpp"

namespace lagtrap::daemon {
namespace {

class Planner {
  public:
    Planner(ProcessInspector& inspector, const std::atomic<bool>& given_up)
        : code_(inspector, given_up) {}

    Result<FunctionPlan> plan(const FunctionWishes& wishes) {
        TRY_ASSIGN(include_, expression_of(wishes.include));
        TRY_ASSIGN(exclude_, expression_of(wishes.exclude));
        code_.begin_anew();
        TRY(code_.read(wishes.pid));
        for (const ProcessFiles::File& one : code_.files())
            if (const auto folder = calls::folder_of_runtime(one.file.path); !folder.empty())
                runtime_folders_.emplace_back(folder);
        for (std::uint32_t file = 0; file < code_.files().size(); ++file) {
            TRY(find_runtime(file));
            TRY(add_file(file));
        }
        for (const auto& [runtime, why] : missing_) plan_.silent.push_back(why);
        if (plan_.functions.empty() && plan_.runtimes.empty()) return nothing();
        plan_.files = code_.opened();
        return std::move(plan_);
    }

  private:
    using WantedByEntry = std::map<std::uint64_t, std::string>;  // names by file offset

    // The probes are in the runtime's program or in its library.
    Status find_runtime(std::uint32_t file) {
        TRY(code_.still_wanted());
        const auto runtime = calls::runtime_of_file(code_.files()[file].file.path);
        if (!runtime || has_runtime(*runtime)) return success();
        auto code = code_.program(file);
        const auto probes = code ? runtime_probes(**code, *runtime, !include_.empty())
                                 : Result<std::vector<RuntimeProbe>>(code.error());
        if (probes) {
            plan_.runtimes.push_back({*runtime, file, *probes});
            missing_.erase(*runtime);
            return success();
        }
        const bool has_none = probes.error().kind == ErrorKind::NotFound;
        missing_[*runtime] = has_none ? calls::traits_of(*runtime).missing : probes.error().message;
        return success();
    }

    [[nodiscard]] bool has_runtime(calls::Runtime runtime) const {
        return std::any_of(plan_.runtimes.begin(), plan_.runtimes.end(),
                           [&](const PlannedRuntime& one) { return one.runtime == runtime; });
    }

    [[nodiscard]] bool is_of_runtime(const std::string& path) const {
        return calls::runtime_of_file(path) ||
               std::any_of(runtime_folders_.begin(), runtime_folders_.end(),
                           [&](const auto& one) { return path.starts_with(one); });
    }

    Status add_file(std::uint32_t file) {
        TRY(code_.still_wanted());
        const std::string path = code_.files()[file].file.path;
        const auto reason = is_of_runtime(path)
                                ? "language runtime"
                                : calls::system_file_reason(path, code_.files().front().file.path);
        // Read system libraries only if a pattern may match something in them.
        if (!reason.empty() && include_.empty()) {
            calls::count_reason(plan_.reported.system_files, reason);
            return success();
        }
        TRY_ASSIGN(const WantedByEntry wanted, choose(file, reason));
        if (wanted.empty()) {
            if (!reason.empty()) calls::count_reason(plan_.reported.system_files, reason);
            return success();
        }
        plan_.reported.own_files.push_back(printable(path));
        return add(file, wanted);
    }

    // A file that cannot be read is skipped, unless it is the program itself.
    Result<WantedByEntry> choose(std::uint32_t file, calls::SystemReason file_reason) {
        auto code = code_.program(file);
        if (!code && file == 0) return code.error();
        auto functions =
            code ? (*code)->functions() : Result<std::vector<binaries::Function>>(code.error());
        if (!functions && file == 0) return functions.error();
        if (!functions) {
            calls::count_reason(plan_.reported.refused, functions.error().message);
            return WantedByEntry();
        }
        const std::string file_name = code_.name_of(file);
        WantedByEntry wanted;  // of several names for one function, the first is used
        for (const binaries::Function& function : *functions) {
            if (wanted.contains(function.file_offset)) continue;
            std::string name = binaries::demangle(function.name);
            const auto reason = file_reason.empty()
                                    ? calls::system_function_reason(function.name, name)
                                    : file_reason;
            const bool out = finds(exclude_, name) || finds(exclude_, file_name);
            const bool in = !out && (finds(include_, name) || finds(include_, file_name));
            if (reason.empty() && out) ++plan_.reported.moved_out;
            if (!reason.empty() && in) ++plan_.reported.moved_in;
            if (!reason.empty() && !in && file_reason.empty())
                calls::count_reason(plan_.reported.system_functions, reason);
            if (out || (!reason.empty() && !in)) continue;
            wanted.emplace(function.file_offset, std::move(name));
        }
        return wanted;
    }

    Status add(std::uint32_t file, const WantedByEntry& wanted) {
        std::vector<std::uint64_t> entries;
        for (const auto& [entry, name] : wanted) entries.push_back(entry);
        return code_.for_each_part(file, entries, [&](const auto& part, auto found) -> Status {
            if (!found && file == 0) return found.error();
            if (!found) calls::count_reason(plan_.reported.refused, found.error().message);
            for (std::size_t i = 0; found && i < part.size(); ++i)
                add({file, part[i]}, wanted.at(part[i]), std::move((*found)[i]));
            return success();
        });
    }

    void add(const CodePlace& place, const std::string& name, binaries::FunctionCalls found) {
        if (!found.problem.empty())
            return calls::count_reason(plan_.reported.refused, found.problem);
        if (plan_.functions.size() >= LAGTRAP_TRACED_FUNCTIONS) {
            ++plan_.reported.beyond_limit;
            return;
        }
        plan_.functions.push_back(
            planned_function(place, found.name.empty() ? name : found.name, 1, found));
    }

    [[nodiscard]] Error nothing() const {
        std::uint64_t refused = 0;
        for (const calls::ReasonCount& one : plan_.reported.refused) refused += one.count;
        if (refused != 0)
            return make_error(ErrorKind::Unsupported,
                              fmt::format("none of {} functions can be probed; the first: {}",
                                          refused, plan_.reported.refused.front().reason));
        if (!missing_.empty())
            return make_error(
                ErrorKind::Unsupported,
                fmt::format("no function of {} can be probed: {}", code_.files().front().file.path,
                            missing_.begin()->second));
        return make_error(
            ErrorKind::Unsupported,
            fmt::format("{} and its own libraries have no named functions: they are stripped, or "
                        "all are excluded; --include adds functions or files of the system",
                        code_.files().front().file.path));
    }

    ProcessFiles code_;
    boost::regex include_, exclude_;
    std::vector<std::string> runtime_folders_;
    // why no function of the runtime can be watched
    std::map<calls::Runtime, std::string> missing_;
    FunctionPlan plan_;
};

}  // namespace

Result<FunctionPlan> plan_functions(const FunctionWishes& wishes, ProcessInspector& inspector,
                                    const std::atomic<bool>& given_up) {
    return Planner(inspector, given_up).plan(wishes);
}

const calls::ProbeCost& runtime_cost(const CallCosts& costs) {
    return costs.inside.at(CallCosts::SimpleEntry).at(CallCosts::SimpleExit);
}

std::vector<calls::HookCount> hooks_of(const FunctionPlan& plan, const CallCosts& costs) {
    // Keys: the entry is single-stepped, the exit is a return probe.
    std::map<std::pair<bool, bool>, calls::HookCount> kinds;
    for (const PlannedFunction& function : plan.functions) {
        const bool stepped = probe_kind_of(function.first_code) != ProbeKind::Simple;
        const bool by_return = function.exits.empty();
        calls::HookCount& kind = kinds[{stepped, by_return}];
        if (kind.functions++ != 0) continue;
        const calls::ProbeCost& cost = costs.of(function);
        kind.entry = stepped ? "breakpoint, stepped" : "breakpoint";
        kind.exit = by_return ? "return probe" : "instructions";
        kind.reason = by_return ? "no exceptions, one stack" : "exceptions or other stacks";
        kind.cost_ns = cost.inside_ns + cost.around_ns;
    }
    std::vector<calls::HookCount> hooks;
    for (auto& [key, kind] : kinds) hooks.push_back(std::move(kind));
    std::stable_sort(hooks.begin(), hooks.end(), [](const auto& one, const auto& other) {
        return one.functions > other.functions;
    });
    for (const PlannedRuntime& one : plan.runtimes) {
        const calls::RuntimeTraits& traits = calls::traits_of(one.runtime);
        const calls::RuntimeProbes& probes = traits.probes.front();
        hooks.push_back({probes.begin, probes.end,
                         fmt::format("{}: {}", traits.language, traits.condition), 0,
                         runtime_cost(costs).inside_ns + runtime_cost(costs).around_ns});
    }
    for (const std::string& why : plan.silent) hooks.push_back({"none", "none", why, 0, 0});
    return hooks;
}

}  // namespace lagtrap::daemon
