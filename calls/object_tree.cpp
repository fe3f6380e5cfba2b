#include "calls/object_tree.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/core.h>

namespace lagtrap::calls {
namespace {

// Keeps result numbers: "result 14" is a different error from "result 5".
std::string without_numbers(const std::string& error) {
    const std::size_t text = error.find_first_of(":,");
    if (text == std::string::npos) return error;
    std::string kind = error.substr(0, text);
    for (const char c : error.substr(text))
        if (c < '0' || c > '9')
            kind += c;
        else if (kind.back() != '#')
            kind += '#';
    return kind;
}

}  // namespace

std::vector<ObjectNode> ObjectForest::add(ObjectCall call) {
    Waiting& waiting = waiting_[call.tid];
    const auto is_before = [&](const ObjectNode& node) {
        return node.call.begin_ns < call.begin_ns;
    };
    const auto first = std::find_if(waiting.nodes.rbegin(), waiting.nodes.rend(), is_before).base();
    ObjectNode node{std::move(call),
                    {std::move_iterator(first), std::move_iterator(waiting.nodes.end())}};
    waiting.nodes.erase(first, waiting.nodes.end());
    if (waiting.calls < max_calls || node.call.depth == 0) {
        waiting.nodes.push_back(std::move(node));
        ++waiting.calls;
    }
    if (waiting.nodes.empty() || waiting.nodes.back().call.depth != 0) return {};
    waiting.calls = 0;
    return std::exchange(waiting.nodes, {});
}

std::vector<ObjectNode> ObjectForest::take_waiting() {
    std::vector<ObjectNode> all;
    for (auto& [tid, waiting] : waiting_)
        std::move(waiting.nodes.begin(), waiting.nodes.end(), std::back_inserter(all));
    waiting_.clear();
    return all;
}

std::uint64_t net_ns(const ObjectCall& call) {
    const std::uint64_t whole_ns = call.end_ns - call.begin_ns;
    return whole_ns - std::min(whole_ns, call.probes_ns);
}

std::string error_of(const ObjectCall& call) {
    if (call.left) return call.error.empty() ? "left by an exception" : call.error;
    std::string text;
    if (call.error_number != 0) {
        const char* const name = ::strerrorname_np(call.error_number);
        const char* const what = ::strerrordesc_np(call.error_number);
        if (name != nullptr && what != nullptr) text = fmt::format("{} ({})", name, what);
    }
    const auto result = static_cast<std::int64_t>(call.result);
    const auto low = static_cast<std::int32_t>(call.result);
    const bool is_small = call.result >> 32 == 0;
    if (text.empty() || (call.result != 0 && low != -1))
        text = call.result == 0 ? "no result"
                                : fmt::format("result {}", is_small ? std::int64_t{low} : result);
    return call.error.empty() ? text : text + ", " + call.error;
}

void ObjectFailures::count(const ObjectFailure& failure) {
    const std::pair key{failure.function, without_numbers(failure.error)};
    const auto known = kinds_.find(key);
    if (known != kinds_.end()) {
        known->second.count += failure.count;
    } else if (kinds_.size() < max_kinds) {
        kinds_.emplace(key, failure);
    }
}

void ObjectFailures::add(const ObjectCall& call, ObjectRole role) {
    if (!call.failed) return;
    Last& last = last_[call.tid];
    const bool is_same = call.left && last.left && last.failure.error == error_of(call) &&
                         call.begin_ns <= last.begin_ns && call.end_ns >= last.end_ns;
    if (is_same) {
        last.begin_ns = call.begin_ns;
        last.end_ns = call.end_ns;
        // The object that could not be created says more than what was called to create it.
        if (role == ObjectRole::Create && last.failure.title.empty())
            last.failure.title = call.title;
        return;
    }
    if (last.failure.count != 0) count(last.failure);
    last = {{call.function, 1, error_of(call), call.title, call.object, call.begin_ns},
            call.begin_ns,
            call.end_ns,
            call.left};
}

void ObjectFailures::add(const ObjectMessage& message,
                         const std::vector<ObjectFunction>& functions) {
    const auto last = last_.find(message.tid);
    if (last == last_.end() || last->second.failure.count == 0 || message.text.empty()) return;
    const ObjectFunction &failed = functions.at(last->second.failure.function),
                         &reported = functions.at(message.function);
    // A library's error texts may be in another library.
    if (failed.function.module != reported.function.module &&
        failed.class_number != reported.class_number)
        return;
    last->second.failure.error += ", " + message.text;
    count(last->second.failure);
    last->second.failure = {};
}

std::vector<ObjectFailure> ObjectFailures::all() const {
    ObjectFailures whole = *this;
    for (const auto& [tid, last] : last_)
        if (last.failure.count != 0) whole.count(last.failure);
    std::vector<ObjectFailure> failures;
    for (const auto& [key, failure] : whole.kinds_) failures.push_back(failure);
    std::stable_sort(failures.begin(), failures.end(),
                     [](const ObjectFailure& one, const ObjectFailure& other) {
                         return one.count > other.count;
                     });
    return failures;
}

}  // namespace lagtrap::calls
