// Records calls of many functions of one process (bpf/functions.bpf.c): attaches probes and returns
// calls and totals.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bpf/functions.h"
#include "calls/function_stream.hpp"
#include "core/result.hpp"
#include "daemon/calls/call_plan.hpp"
#include "daemon/calls/probe_session.hpp"
#include "daemon/functions/runtime_plan.hpp"

struct functions_bpf;

namespace lagtrap::daemon {

// Use it on one thread. The probes are detached when it is destroyed or this process ends, even by
// kill -9.
class FunctionEngine {
  public:
    // `runtimes`: attach_runtimes() will follow. Errors: the kernel refuses the programs.
    [[nodiscard]] static Result<std::unique_ptr<FunctionEngine>> load(const TraceTarget& target,
                                                                      bool runtimes);

    // Its probes, and those of runtimes as others().
    [[nodiscard]] ProbeSession& session() { return *session_; }

    // Attaches probes to language runtimes, whose functions get numbers above all others. Call it
    // once, after attach(). `cost` is the probe cost of one call. ErrorKind::Unsupported: the
    // kernel refuses a probe.
    [[nodiscard]] Status attach_runtimes(const std::vector<CallFile>& files,
                                         std::vector<PlannedRuntime> runtimes,
                                         const calls::ProbeCost& cost);
    // Attaches or detaches these probes. Calls that are open at that time are lost. On error, none
    // is attached.
    [[nodiscard]] Status watch_runtimes(bool watch);
    struct Named {
        lagtrap_runtime_function function;
        calls::Runtime runtime;
        bool in_c;
    };
    // Functions that runtimes have reported for the first time since the last call.
    [[nodiscard]] std::vector<Named> take_named() { return std::exchange(named_, {}); }
    // Hits of entries and exits so far, for a function of a runtime.
    [[nodiscard]] std::uint64_t hits_of(std::uint32_t function) const;
    // Returns ended calls that took at least the minimum. Waits up to `wait` for the first.
    [[nodiscard]] std::vector<calls::TracedCall> take_calls(std::chrono::milliseconds wait);
    // Totals of all functions that were called.
    [[nodiscard]] std::vector<calls::FunctionTotals> functions() const;
    // Resets `longest_ns` and its path, which then cover only calls that end later.
    void forget_longest();
    [[nodiscard]] lagtrap_traced_totals totals() const;

  private:
    FunctionEngine() = default;
    static int on_call(void* self, void* data, std::size_t bytes);
    [[nodiscard]] lagtrap_traced_function* all() const {
        return session_->functions<lagtrap_traced_function>();
    }
    [[nodiscard]] std::uint32_t count() const;
    [[nodiscard]] lagtrap_traced_totals* all_totals() const {
        return session_->totals<lagtrap_traced_totals>();
    }
    [[nodiscard]] Status put_in(const PlannedRuntime& runtime, bool at_end);
    [[nodiscard]] Status put_all_in();

    std::unique_ptr<functions_bpf, void (*)(functions_bpf*)> programs_{nullptr, nullptr};
    std::unique_ptr<ProbeSession> session_;
    std::vector<CallFile> runtime_files_;  // all files, by number
    std::vector<PlannedRuntime> runtimes_;
    // By site number: the runtime, and whether its function is in C.
    std::vector<std::pair<calls::Runtime, bool>> runtime_sites_;
    std::vector<calls::TracedCall> calls_;
    std::vector<Named> named_;
};

}  // namespace lagtrap::daemon
