#include "daemon/functions/function_plan.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include <boost/regex.hpp>
#include <fmt/core.h>

#include "binaries/elf/program_file.hpp"
#include "bpf/functions.h"
#include "calls/function_sorting.hpp"
#include "core/text.hpp"
#include "daemon/functions/name_pattern.hpp"
#include "daemon/probes/overhead_probes.hpp"
#include "daemon/processes/process_files.hpp"

namespace lagtrap::daemon {
namespace {

// Empty text gives an empty expression.
Result<boost::regex> expression_of(const std::string& text) {
    try {
        return text.empty() ? boost::regex() : boost::regex(text);
    } catch (const std::exception& wrong) {
        return make_error(ErrorKind::Invalid,
                          fmt::format("\"{}\" is not a valid regular expression: {}", text,
                                      std::string_view(wrong.what())));
    }
}

void count(std::vector<calls::ReasonCount>& counts, std::string_view reason) {
    for (calls::ReasonCount& one : counts)
        if (one.reason == reason) {
            ++one.count;
            return;
        }
    counts.push_back({std::string(reason), 1});
}

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
    struct Wanted {
        std::uint64_t entry = 0;
        std::string name;
    };

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
            count(plan_.reported.system_files, reason);
            return success();
        }
        TRY_ASSIGN(const std::vector<Wanted> wanted, choose(file, path, reason));
        if (wanted.empty()) {
            if (!reason.empty()) count(plan_.reported.system_files, reason);
            return success();
        }
        plan_.reported.own_files.push_back(printable(path));
        return add(file, wanted);
    }

    // A file that cannot be read is skipped, unless it is the program itself.
    Result<std::vector<Wanted>> choose(std::uint32_t file, const std::string& path,
                                       calls::SystemReason file_reason) {
        auto code = code_.program(file);
        if (!code && file == 0) return code.error();
        auto functions =
            code ? (*code)->functions() : Result<std::vector<binaries::Function>>(code.error());
        if (!functions && file == 0) return functions.error();
        if (!functions) {
            count(plan_.reported.refused, functions.error().message);
            return std::vector<Wanted>();
        }
        const std::string file_name = std::filesystem::path(path).filename().string();
        // by offset; of several names for one function, the first is used
        std::map<std::uint64_t, Wanted> wanted;
        for (const binaries::Function& function : *functions) {
            if (wanted.contains(function.file_offset)) continue;
            std::string name = binaries::demangle(function.name);
            const auto reason = file_reason.empty()
                                    ? calls::system_function_reason(function.name, name)
                                    : file_reason;
            const bool out = matches(exclude_, name) || matches(exclude_, file_name);
            const bool in = !out && (matches(include_, name) || matches(include_, file_name));
            if (reason.empty() && out) ++plan_.reported.moved_out;
            if (!reason.empty() && in) ++plan_.reported.moved_in;
            if (!reason.empty() && !in && file_reason.empty())
                count(plan_.reported.system_functions, reason);
            if (out || (!reason.empty() && !in)) continue;
            wanted.emplace(function.file_offset, Wanted{function.file_offset, std::move(name)});
        }
        std::vector<Wanted> list;
        for (auto& [offset, one] : wanted) list.push_back(std::move(one));
        return list;
    }

    Status add(std::uint32_t file, const std::vector<Wanted>& wanted) {
        for (std::size_t at = 0; at < wanted.size(); at += ProcessFiles::functions_of_question) {
            const std::size_t end =
                std::min(wanted.size(), at + ProcessFiles::functions_of_question);
            std::vector<std::uint64_t> entries;
            for (std::size_t i = at; i < end; ++i) entries.push_back(wanted[i].entry);
            auto found = code_.calls_of(file, entries);
            if (!found && file == 0) return found.error();
            if (!found) {
                count(plan_.reported.refused, found.error().message);
                continue;
            }
            for (std::size_t i = 0; i < entries.size(); ++i)
                add(file, wanted[at + i], std::move((*found)[i]));
        }
        return success();
    }

    void add(std::uint32_t file, const Wanted& wanted, binaries::FunctionCalls found) {
        if (!found.problem.empty()) return count(plan_.reported.refused, found.problem);
        if (plan_.functions.size() >= LAGTRAP_TRACED_FUNCTIONS) {
            ++plan_.reported.beyond_limit;
            return;
        }
        const std::string& name = found.name.empty() ? wanted.name : found.name;
        PlannedFunction planned;
        planned.file = file;
        planned.entry = wanted.entry;
        planned.name = name.substr(0, max_pattern_name_bytes);
        planned.level = 1;
        planned.first_code = std::move(found.first_code);
        planned.exits = std::move(found.exits);
        planned.return_probe = found.return_probe;
        plan_.functions.push_back(std::move(planned));
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
