#include "trace/merge/calls_in_trace.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "core/text.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::size_t max_named = 3;

std::string names_of_detached(const RecordedCalls& recorded) {
    std::string names;
    for (std::size_t i = 0; i < std::min(recorded.detached.size(), max_named); ++i)
        names += (i == 0 ? "" : ", ") + recorded.functions[recorded.detached[i].function].name;
    if (recorded.detached.size() > max_named)
        names += fmt::format(" and {} others", recorded.detached.size() - max_named);
    return names;
}

}  // namespace

void CallsInTrace::load(const std::filesystem::path& directory, SystemFile& file) {
    recorded_ = read_recorded_calls(directory, call_slices_limit);
    std::vector<std::string> sentences;
    if (!recorded_.problem.empty())
        sentences.push_back(fmt::format("calls were not recorded: {}", recorded_.problem));
    if (!recorded_.detached.empty())
        sentences.push_back(
            fmt::format("calls of {} were too frequent and are not recorded; their time counts as "
                        "their callers'",
                        names_of_detached(recorded_)));
    if (recorded_.left_out != 0)
        sentences.push_back(
            fmt::format("{} call trees were left out: too many", recorded_.left_out));
    for (std::string& sentence : sentences)
        if (file.quality.omitted.size() < omitted_limit)
            file.quality.omitted.push_back(printable(sentence));
}

void CallsInTrace::ask_sources(StackTable& stacks, ModuleTable& modules) {
    std::set<std::uint32_t> called;
    for (const calls::Tree& tree : recorded_.trees)
        for (const calls::Call& call : tree.calls) called.insert(call.function);
    sources_.ask(stacks, modules, recorded_.pid, recorded_.functions, called);
}

void CallsInTrace::fill_sources(const StackTable& stacks) {
    sources_.fill(stacks, recorded_.functions);
}

void CallsInTrace::add_to(PacketWriter& writer, std::uint64_t offset_ns) {
    const std::string target = recorded_.functions.empty() ? "" : recorded_.functions.front().name;
    slices_.emplace(writer, offset_ns, "calls of " + target);
    slices_->add_functions(recorded_.functions);
    for (const calls::Tree& tree : recorded_.trees)
        (void)slices_->add(tree, calls::net_times(tree, recorded_.functions), recorded_.pid,
                           recorded_.process);
    recorded_.trees.clear();
    slices_->sort();
}

}  // namespace lagtrap::trace
