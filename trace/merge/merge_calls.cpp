// The part of a merge that has the trees of calls.
#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "core/text.hpp"
#include "trace/merge/merger.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::size_t most_named = 3;

std::string names_of_taken_out(const RecordedCalls& recorded) {
    std::string names;
    for (std::size_t i = 0; i < std::min(recorded.taken_out.size(), most_named); ++i)
        names += (i == 0 ? "" : ", ") + recorded.functions[recorded.taken_out[i].function].name;
    if (recorded.taken_out.size() > most_named)
        names += fmt::format(" and {} others", recorded.taken_out.size() - most_named);
    return names;
}

}  // namespace

// What of them is missing stands beside what else was given up.
void Merger::load_calls() {
    recorded_calls_ = read_recorded_calls(directory_, call_slices_limit);
    std::vector<std::string> sentences;
    if (!recorded_calls_.problem.empty())
        sentences.push_back(fmt::format("calls were not recorded: {}", recorded_calls_.problem));
    if (!recorded_calls_.taken_out.empty())
        sentences.push_back(
            fmt::format("calls of {}, which came too often, are not recorded; their time is their callers'",
                        names_of_taken_out(recorded_calls_)));
    if (recorded_calls_.left_out != 0)
        sentences.push_back(
            fmt::format("{} trees of calls were left out, as they were too many", recorded_calls_.left_out));
    for (std::string& sentence : sentences)
        if (file_.quality.shed.size() < shed_limit) file_.quality.shed.push_back(printable(sentence));
}

void Merger::add_calls() {
    const std::string target = recorded_calls_.functions.empty() ? "" : recorded_calls_.functions.front().name;
    calls_.emplace(*writer_, offset_ns_, "calls of " + target);
    calls_->add_functions(recorded_calls_.functions);
    for (const calls::Tree& tree : recorded_calls_.trees)
        (void)calls_->add(tree, calls::net_times(tree, recorded_calls_.functions), recorded_calls_.pid,
                          recorded_calls_.process);
    recorded_calls_.trees.clear();
    calls_->sort();
}

}  // namespace lagtrap::trace
