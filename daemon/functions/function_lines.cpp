#include "daemon/functions/function_lines.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <boost/json.hpp>

namespace lagtrap::daemon {
namespace {

namespace json = boost::json;

constexpr std::size_t calls_of_line = 2'000;

}  // namespace

void FunctionLines::begin(const calls::FunctionsStarted& started) {
    (void)answer_.say(json::serialize(calls::to_json(started)));
}

void FunctionLines::tell(const FunctionWatch::Seen& seen) {
    tell(seen.more);
    tell(seen.calls);
    tell(seen.taken_out);
}

void FunctionLines::tell(const std::vector<calls::TracedCall>& calls) {
    for (std::size_t at = 0; at < calls.size(); at += calls_of_line) {
        const auto from = calls.begin() + static_cast<std::ptrdiff_t>(at);
        const auto count = std::min(calls_of_line, calls.size() - at);
        const std::string line = json::serialize(calls::to_json(
            std::vector<calls::TracedCall>(from, from + static_cast<std::ptrdiff_t>(count))));
        if (answer_.say(line)) {
            sent_ += count;
            bytes_ += line.size();
        } else {
            no_room_ += count;
        }
    }
}

void FunctionLines::tell(const std::vector<calls::Function>& more) {
    if (!more.empty()) (void)answer_.say(json::serialize(calls::to_json(more)));
}

void FunctionLines::tell(const std::vector<calls::TakenOut>& functions) {
    if (!functions.empty()) (void)answer_.say(json::serialize(calls::to_json(functions)));
}

void FunctionLines::end(calls::FunctionsEnded ended) {
    ended.sent = sent_;
    ended.bytes = bytes_;
    ended.not_sent += no_room_;
    answer_.end(json::serialize(calls::to_json(ended)));
}

}  // namespace lagtrap::daemon
