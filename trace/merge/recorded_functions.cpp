#include "trace/merge/recorded_functions.hpp"

#include <algorithm>
#include <utility>

#include "trace/logs/lines_file.hpp"

namespace lagtrap::trace {
namespace {

class FunctionsReader {
  public:
    explicit FunctionsReader(std::size_t calls_limit) : calls_limit_(calls_limit) {}

    // Returns false if the line is malformed; then ignore the rest.
    bool take(const std::string& line) {
        auto message = calls::parse_functions_message(line);
        if (!message) {
            all_.problem = message.error().message;
            return false;
        }
        if (message->started) all_.started = std::move(*message->started);
        if (message->more && all_.started)
            all_.started->functions.insert(all_.started->functions.end(), message->more->begin(),
                                           message->more->end());
        if (message->calls) take_calls(std::move(*message->calls));
        if (message->detached)
            for (const calls::DetachedFunction& one : *message->detached)
                if (is_known(one.function)) all_.detached.push_back(one);
        if (message->ended) take_ended(std::move(*message->ended));
        return true;
    }
    [[nodiscard]] RecordedFunctions finish() { return std::move(all_); }

  private:
    [[nodiscard]] bool is_known(std::uint32_t function) const {
        return all_.started && function < all_.started->functions.size();
    }

    void take_calls(std::vector<calls::TracedCall> calls) {
        for (calls::TracedCall& call : calls) {
            if (!is_known(call.function)) continue;
            if (all_.calls.size() >= calls_limit_)
                ++all_.left_out;
            else
                all_.calls.push_back(std::move(call));
        }
    }

    void take_ended(calls::FunctionsEnded ended) {
        std::erase_if(ended.totals,
                      [&](const calls::FunctionTotals& one) { return !is_known(one.function); });
        for (calls::FunctionTotals& one : ended.totals)
            std::erase_if(one.path, [&](std::uint32_t caller) { return !is_known(caller); });
        all_.ended = std::move(ended);
    }

    std::size_t calls_limit_;
    RecordedFunctions all_;
};

}  // namespace

RecordedFunctions read_recorded_functions(const std::filesystem::path& capture,
                                          std::size_t calls_limit) {
    FunctionsReader reader(calls_limit);
    const Status read = read_lines(capture, functions_lines,
                                   [&](const std::string& line) { return reader.take(line); });
    RecordedFunctions all = reader.finish();
    if (!read && read.error().kind != ErrorKind::NotFound) all.problem = read.error().message;
    return all;
}

}  // namespace lagtrap::trace
