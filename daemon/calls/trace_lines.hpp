// Sends the messages of a trace as lines of an answer, and counts the calls in them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "calls/call_stream.hpp"
#include "core/result.hpp"
#include "daemon/control/answer_lines.hpp"
#include "daemon/control/control_server.hpp"

namespace lagtrap::daemon {

// Use it on one thread.
class TraceLines {
  public:
    // `answer` must outlive it.
    explicit TraceLines(AnswerLines& answer) : answer_(answer) {}

    // Without counting. False if it was dropped.
    template <typename Message>
    bool send(const Message& message) {
        return answer_.say(line_of(message));
    }
    // Nothing if there are none.
    template <typename Row>
    void send_any(const std::vector<Row>& rows) {
        if (!rows.empty()) (void)send(rows);
    }
    // Counts the message as so many calls.
    template <typename Message>
    void send_calls(const Message& message, std::uint64_t calls = 1) {
        const std::string line = line_of(message);
        if (answer_.say(line)) {
            sent_ += calls;
            bytes_ += line.size();
        } else {
            no_room_ += calls;
        }
    }
    // In lines of at most `most` calls.
    template <typename Call>
    void send_in_parts(const std::vector<Call>& calls, std::size_t most) {
        for (std::size_t at = 0; at < calls.size(); at += most) {
            const auto from = calls.begin() + static_cast<std::ptrdiff_t>(at);
            const auto count = std::min(most, calls.size() - at);
            send_calls(std::vector<Call>(from, from + static_cast<std::ptrdiff_t>(count)), count);
        }
    }
    // The last line. Adds the counts that it has room for.
    template <typename Ended>
    void end(Ended ended) {
        if constexpr (requires { ended.sent; }) ended.sent = sent_;
        if constexpr (requires { ended.bytes; }) ended.bytes = bytes_;
        ended.not_sent += no_room_;
        answer_.end(line_of(ended));
    }
    // The only line, if the trace cannot begin.
    void refuse(const Error& error) { answer_.end(boost::json::serialize(refusal(error.message))); }
    [[nodiscard]] bool is_unwanted() const { return answer_.is_unwanted(); }

  private:
    template <typename Message>
    [[nodiscard]] static std::string line_of(const Message& message) {
        using calls::to_json;
        return boost::json::serialize(to_json(message));
    }

    AnswerLines& answer_;
    std::uint64_t sent_ = 0, bytes_ = 0, no_room_ = 0;
};

}  // namespace lagtrap::daemon
