#include "trace/merge/functions_in_trace.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/text.hpp"

namespace lagtrap::trace {
namespace {

// Functions with the longest calls that are kept regardless of own time.
constexpr std::size_t max_kept = 50;
CountedFunction counted(const calls::FunctionTotals& totals,
                        const std::vector<calls::Function>& functions) {
    const calls::Function& function = functions[totals.function];
    CountedFunction one{function.name,
                        function.module,
                        function.source,
                        function.line,
                        totals.calls + totals.unbegun,
                        totals.left,
                        totals.own_ns,
                        totals.longest_ns,
                        {}};
    const std::size_t length = std::min(totals.path.size(), FunctionCounts::path_limit);
    for (std::size_t place = length; place-- > 0;)
        one.path.push_back(functions[totals.path[place]].name);
    return one;
}

// Most own time first. The longest ones beyond the limit replace the last.
void choose(std::vector<calls::FunctionTotals>& totals) {
    const auto by_own = [](const auto& a, const auto& b) { return a.own_ns > b.own_ns; };
    const auto by_longest = [](const auto& a, const auto& b) {
        return a.longest_ns > b.longest_ns;
    };
    if (totals.size() > FunctionCounts::functions_limit) {
        std::stable_sort(totals.begin(), totals.end(), by_longest);
        std::stable_sort(totals.begin() + max_kept, totals.end(), by_own);
        std::stable_sort(totals.begin(), totals.begin() + FunctionCounts::functions_limit, by_own);
    } else {
        std::stable_sort(totals.begin(), totals.end(), by_own);
    }
}

}  // namespace

void FunctionsInTrace::load(const std::filesystem::path& directory, SystemFile& file) {
    recorded_ = read_recorded_functions(directory, call_slices_limit);
    if (recorded_.started && !recorded_.ended && recorded_.problem.empty())
        recorded_.problem = "lagtrapd exited before it reported the counts";
    if (recorded_.problem.empty() || file.quality.omitted.size() >= omitted_limit) return;
    file.quality.omitted.push_back(printable(fmt::format(
        "functions were not {}: {}", recorded_.started ? "counted" : "traced", recorded_.problem)));
}

void FunctionsInTrace::ask_sources(StackTable& stacks, ModuleTable& modules) {
    if (!recorded_.started) return;
    std::set<std::uint32_t> traced;
    if (recorded_.ended)
        for (const calls::FunctionTotals& totals : recorded_.ended->totals)
            traced.insert(totals.function);
    for (const calls::TracedCall& call : recorded_.calls) traced.insert(call.function);
    sources_.ask(stacks, modules, recorded_.started->pid, recorded_.started->functions, traced);
}

void FunctionsInTrace::fill_sources(const StackTable& stacks) {
    if (recorded_.started) sources_.fill(stacks, recorded_.started->functions);
}

void FunctionsInTrace::count(std::uint64_t offset_ns, SystemFile& file) {
    RecordedFunctions& all = recorded_;
    if (!all.started) return;
    const calls::FunctionsStarted& started = *all.started;
    FunctionCounts& counts = file.functions.emplace();
    counts.pid = started.pid;
    counts.process = started.process;
    counts.from_ns = started.from_ns + offset_ns;
    counts.window_ns = started.window_ns;
    counts.watched = started.functions.size();
    counts.detached = all.detached.size();
    counts.reported = all.calls.size();
    counts.not_reported = all.left_out;
    if (!all.ended) return;
    counts.length_ns = all.ended->length_ns;
    counts.min_ns = all.ended->min_ns;
    counts.not_reported += all.ended->not_sent;
    counts.too_deep = all.ended->too_deep;
    choose(all.ended->totals);
    for (const calls::FunctionTotals& totals : all.ended->totals) {
        if (counts.functions.size() < FunctionCounts::functions_limit) {
            counts.functions.push_back(counted(totals, started.functions));
            continue;
        }
        ++counts.others;
        counts.others_calls += totals.calls + totals.unbegun;
        counts.others_own_ns += totals.own_ns;
    }
}

void FunctionsInTrace::add_to(PacketWriter& writer, std::uint64_t offset_ns, SystemFile& file) {
    slices_.emplace(writer, offset_ns, "functions", function_slices);
    count(offset_ns, file);
    if (!recorded_.started) return;
    const calls::FunctionsStarted& started = *recorded_.started;
    slices_->add_functions(started.functions);
    for (const calls::Tree& tree : calls::trees_of(std::exchange(recorded_.calls, {})))
        (void)slices_->add(tree, calls::times_of(tree), started.pid, started.process);
    slices_->sort();
}

}  // namespace lagtrap::trace
