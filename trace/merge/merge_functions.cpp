// The part of a merge that has the trace of functions.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/text.hpp"
#include "trace/merge/merger.hpp"
#include "trace/merge/recorded_objects.hpp"

namespace lagtrap::trace {
namespace {

// Of those with the longest calls, so many are kept whatever their own time.
constexpr std::size_t longest_kept = 50;
// Of objects: calls of the longest trees, and bytes of all lines.
constexpr std::size_t object_calls_kept = 300;
constexpr std::size_t object_bytes_kept = 512 << 10;

CountedFunction counted(const calls::FunctionTotals& totals, const std::vector<calls::Function>& functions) {
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
    for (std::size_t place = length; place-- > 0;) one.path.push_back(functions[totals.path[place]].name);
    return one;
}

// Most own time first; the longest of what is beyond the limit take the place of the last.
void choose(std::vector<calls::FunctionTotals>& totals) {
    const auto by_own = [](const auto& a, const auto& b) { return a.own_ns > b.own_ns; };
    const auto by_longest = [](const auto& a, const auto& b) { return a.longest_ns > b.longest_ns; };
    if (totals.size() > FunctionCounts::functions_limit) {
        std::stable_sort(totals.begin(), totals.end(), by_longest);
        std::stable_sort(totals.begin() + longest_kept, totals.end(), by_own);
        std::stable_sort(totals.begin(), totals.begin() + FunctionCounts::functions_limit, by_own);
    } else {
        std::stable_sort(totals.begin(), totals.end(), by_own);
    }
}

}  // namespace

// What of it is missing stands beside what else was given up.
void Merger::load_functions() {
    recorded_functions_ = read_recorded_functions(directory_, call_slices_limit);
    if (recorded_functions_.started && !recorded_functions_.ended && recorded_functions_.problem.empty())
        recorded_functions_.problem = "lagtrapd ended before it told the counts";
    if (recorded_functions_.problem.empty() || file_.quality.shed.size() >= shed_limit) return;
    file_.quality.shed.push_back(printable(fmt::format(
        "functions were not {}: {}", recorded_functions_.started ? "counted" : "traced", recorded_functions_.problem)));
}

// In the system file alone. It is bounded: names of many classes of C++ would fill it.
void Merger::load_objects() {
    const RecordedObjects all = read_recorded_objects(directory_);
    std::size_t bytes = 0;
    for (std::string& line : all.summary.lines(object_calls_kept)) {
        bytes += line.size();
        file_.objects.push_back(std::move(line));
    }
    std::string problem = all.problem;
    if (bytes > object_bytes_kept) {
        file_.objects.clear();
        problem = "their names take too much room; fewer classes, or --exclude, help";
    }
    if (problem.empty() || file_.quality.shed.size() >= shed_limit) return;
    file_.quality.shed.push_back(printable(fmt::format("objects were not followed: {}", problem)));
}

// Of calls and functions that are shown.
void Merger::ask_sources() {
    std::set<std::uint32_t> called;
    for (const calls::Tree& tree : recorded_calls_.trees)
        for (const calls::Call& call : tree.calls) called.insert(call.function);
    call_sources_.ask(stacks_, modules_, recorded_calls_.pid, recorded_calls_.functions, called);
    if (!recorded_functions_.started) return;
    std::set<std::uint32_t> traced;
    if (recorded_functions_.ended)
        for (const calls::FunctionTotals& totals : recorded_functions_.ended->totals) traced.insert(totals.function);
    for (const calls::TracedCall& call : recorded_functions_.calls) traced.insert(call.function);
    function_sources_.ask(stacks_, modules_, recorded_functions_.started->pid, recorded_functions_.started->functions,
                          traced);
}

void Merger::fill_sources() {
    call_sources_.fill(stacks_, recorded_calls_.functions);
    if (recorded_functions_.started) function_sources_.fill(stacks_, recorded_functions_.started->functions);
}

void Merger::count_functions() {
    RecordedFunctions& all = recorded_functions_;
    if (!all.started) return;
    const calls::FunctionsStarted& started = *all.started;
    FunctionCounts& counts = file_.functions.emplace();
    counts.pid = started.pid;
    counts.process = started.process;
    counts.from_ns = to_boottime(started.from_ns);
    counts.window_ns = started.window_ns;
    counts.watched = started.functions.size();
    counts.taken_out = all.taken_out.size();
    counts.told = all.calls.size();
    counts.not_told = all.left_out;
    if (!all.ended) return;
    counts.length_ns = all.ended->length_ns;
    counts.least_ns = all.ended->least_ns;
    counts.not_told += all.ended->not_sent;
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

void Merger::add_functions() {
    functions_.emplace(*writer_, offset_ns_, "functions", function_slices);
    count_functions();
    if (!recorded_functions_.started) return;
    const calls::FunctionsStarted& started = *recorded_functions_.started;
    functions_->add_functions(started.functions);
    for (const calls::Tree& tree : calls::trees_of(std::exchange(recorded_functions_.calls, {})))
        (void)functions_->add(tree, calls::times_of(tree), started.pid, started.process);
    functions_->sort();
}

}  // namespace lagtrap::trace
