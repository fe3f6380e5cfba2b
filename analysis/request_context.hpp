// The request that a thread works on, as seen by others that wait for the thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/time_split.hpp"

namespace lagtrap::analysis {

// What identifies a request: a run of a watched event, or a span that the program published. A span
// inside a run also has the run's event and key.
enum class RequestKind : std::uint8_t { Run, Span };

struct RequestAttribute {
    std::string name;
    std::string value;
    bool operator==(const RequestAttribute&) const = default;
};

struct RequestContext {
    RequestKind kind = RequestKind::Run;
    std::string event;  // of the run; empty if there is none, and so is what follows
    std::uint64_t run_id = 0;
    std::uint64_t key = 0;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;  // or of the recording, if `open`
    bool open = false;
    std::string trace_id;  // 32 lower-case hexadecimal digits; empty if unknown
    std::string span_id;   // 16 lower-case hexadecimal digits; empty if unknown
    std::string route;     // empty if unknown
    std::vector<RequestAttribute> attributes;
    bool operator==(const RequestContext&) const = default;
};

[[nodiscard]] bool is_run_of(const trace::Delay& delay, const RequestContext& request);
// True for one run, and for requests with one trace id, such as a request and its children.
[[nodiscard]] bool is_same_request(const RequestContext& a, const RequestContext& b);

struct RequestPart {
    RequestContext request;
    std::uint64_t time_ns = 0;  // of the given times that lie in the request
};

// The innermost run, or else the span, that the thread worked on for at least half of `times`,
// which are in order and do not overlap. A run that passed from one thread to another belongs to a
// thread only between two of its markers that this thread hit. Runs of goroutines belong to none.
[[nodiscard]] std::optional<RequestPart> request_of(const Recording& recording, std::uint32_t tid,
                                                    std::span<const Window> times);

// The request that is delayed, with what its thread published for at least half of the time.
[[nodiscard]] RequestContext request_of_delay(const Recording& recording,
                                              const trace::Delay& delay);

// For Recording::run_index. `runs` are in order.
[[nodiscard]] RunIndex index_of_runs(std::span<const Run> runs);

}  // namespace lagtrap::analysis
