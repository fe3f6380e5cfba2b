// The function trace of one process for an event: either a standing trace, which gives a recording
// the last seconds and what follows, or a trace for a single recording.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "daemon/calls/call_costs.hpp"
#include "daemon/control/answer_lines.hpp"
#include "daemon/functions/function_lines.hpp"
#include "daemon/functions/function_watch.hpp"
#include "daemon/functions/function_window.hpp"
#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {

// Status for `lagtrap status`.
struct FunctionRecorderStatus {
    std::string process;
    std::uint64_t watched = 0;     // functions; 0 while they are being selected
    std::uint64_t detached = 0;    // part of these, detached because of their cost
    std::uint64_t kept_calls = 0;  // calls of the last seconds in memory
    double budget = 0;             // for the probes, in CPUs
    std::uint64_t min_ns = 0;      // shorter calls are only counted now
    bool recording = false;
};

class FunctionRecorder {
  public:
    // `window` is the length that a standing trace keeps; 0: the trace is only for the recording
    // that record() begins. `on_refused` is called on the trace's thread if the trace cannot begin.
    FunctionRecorder(FunctionRequest request, std::chrono::nanoseconds window,
                     std::function<void(const std::string& reason)> on_refused);

    // Runs the trace on the calling thread; returns when all probes are detached.
    void run(ProcessInspector& inspector, const std::function<CallCosts()>& costs,
             const std::atomic<bool>& stop);

    // The following is thread-safe.

    // Writes the last seconds and everything that follows to `lines` until they are unwanted. False
    // if the trace has ended or is already writing to others.
    [[nodiscard]] bool record(const std::shared_ptr<AnswerLines>& lines);
    void end() { over_.store(true); }
    [[nodiscard]] bool has_ended() const { return ended_.load(); }
    [[nodiscard]] FunctionRecorderStatus status() const;
    [[nodiscard]] std::uint32_t pid() const { return request_.wishes.pid; }
    [[nodiscard]] const FunctionRequest& request() const { return request_; }
    [[nodiscard]] std::chrono::nanoseconds window() const { return window_length_; }

  private:
    // A recording in progress.
    struct Recorded {
        std::shared_ptr<AnswerLines> answer;
        FunctionLines lines;
        FunctionSums sums;
        calls::FunctionsEnded before;  // at its begin
        std::uint64_t from_ns = 0;
        std::uint64_t dropped = 0;
    };
    [[nodiscard]] std::string watch(FunctionWatch& functions, const std::atomic<bool>& stop);
    void take(FunctionWatch::Seen seen);
    void end_period(FunctionWatch& functions, std::uint64_t now_ns);
    [[nodiscard]] std::shared_ptr<AnswerLines> taken_lines();
    void begin_recording(FunctionWatch& functions, std::shared_ptr<AnswerLines> lines);
    void end_recording(FunctionWatch& functions, const std::string& reason,
                       std::uint64_t detach_ns);
    void note(const FunctionWatch& functions);
    void refuse(const std::string& reason);

    const FunctionRequest request_;
    const std::chrono::nanoseconds window_length_;
    const std::function<void(const std::string&)> on_refused_;
    std::atomic<bool> over_{false}, ended_{false};

    // Only for the trace's thread:
    std::optional<FunctionWindow> window_;
    std::optional<Recorded> recorded_;
    std::vector<calls::DetachedFunction> detached_;

    mutable std::mutex mutex_;
    std::shared_ptr<AnswerLines> wanted_;  // until the trace's thread takes it
    FunctionRecorderStatus status_;
};

}  // namespace lagtrap::daemon
