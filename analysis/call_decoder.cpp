#include "analysis/call_decoder.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace lagtrap::analysis {
namespace {

constexpr std::size_t calls_limit = 4 << 20;
constexpr std::size_t functions_limit = 1 << 20;

// "/src/main.c:12"
std::pair<std::string, std::uint32_t> split_place(const std::string& source) {
    const std::size_t colon = source.rfind(':');
    if (colon == std::string::npos) return {source, 0};
    std::uint32_t line = 0;
    (void)std::from_chars(source.data() + colon + 1, source.data() + source.size(), line);
    return {source.substr(0, colon), line};
}

}  // namespace

std::uint32_t CallDecoder::function_of(const Begin& begin) {
    const auto next = static_cast<std::uint32_t>(functions_.size());
    const auto [known, is_new] = function_numbers_.try_emplace(
        {begin.function, begin.module, begin.source, begin.seen}, next);
    if (is_new) {
        calls::Function function;
        function.name = begin.function;
        function.module = begin.module;
        function.seen = begin.seen;
        std::tie(function.source, function.line) = split_place(begin.source);
        functions_.push_back(std::move(function));
    }
    return known->second;
}

CallDecoder::Place CallDecoder::begin(const Begin& begin, const Place& caller) {
    if (calls_ >= calls_limit || functions_.size() >= functions_limit) return {};
    ++calls_;
    Place place = caller;
    if (caller.tree == no_call) {
        place.tree = trees_.size();
        RunCalls& fresh = trees_.emplace_back();
        fresh.pid = begin.pid;
        fresh.begin_ns = begin.at_ns;
        fresh.tree.tid = begin.tid;
    }
    RunCalls& tree = trees_[place.tree];
    calls::Call call;
    call.function = function_of(begin);
    call.parent = caller.tree == no_call ? calls::no_parent : caller.call;
    call.begin_ns = begin.at_ns - std::min(begin.at_ns, tree.begin_ns);
    call.end_ns = call.begin_ns;
    call.left_out = static_cast<std::uint32_t>(std::min<std::uint64_t>(begin.not_kept, UINT32_MAX));
    call.end = calls::call_end_named(begin.ended).value_or(calls::CallEnd::Returned);
    place.call = static_cast<std::uint32_t>(tree.tree.calls.size());
    tree.tree.calls.push_back(call);
    tree.times.push_back(begin.times);
    return place;
}

void CallDecoder::end(const Place& place, std::uint64_t at_ns) {
    if (place.tree == no_call) return;
    RunCalls& tree = trees_[place.tree];
    calls::Call& call = tree.tree.calls[place.call];
    call.end_ns = std::max(call.begin_ns, at_ns - std::min(at_ns, tree.begin_ns));
}

void CallDecoder::finish(std::vector<RunCalls>& trees, std::vector<calls::Function>& functions,
                         std::uint64_t& unreadable) {
    for (RunCalls& tree : trees_) {
        const bool parts_fit =
            std::all_of(tree.times.begin(), tree.times.end(), [](const calls::Times& times) {
                return times.own_ns <= times.wall_ns && times.on_cpu_ns <= times.wall_ns &&
                       times.runnable_ns <= times.wall_ns - times.on_cpu_ns &&
                       times.blocked_ns == times.wall_ns - times.on_cpu_ns - times.runnable_ns;
            });
        if (parts_fit && calls::check(tree.tree, functions_.size()))
            trees.push_back(std::move(tree));
        else
            ++unreadable;
    }
    std::stable_sort(trees.begin(), trees.end(),
                     [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
    functions = std::move(functions_);
}

}  // namespace lagtrap::analysis
