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
#include "daemon/calls/function_probes.hpp"
#include "daemon/functions/runtime_plan.hpp"
#include "daemon/kernel/mapped_map.hpp"

struct functions_bpf;
struct ring_buffer;

namespace lagtrap::daemon {

// Use it on one thread. The probes are detached when it is destroyed or this process ends, even by
// kill -9.
class FunctionEngine {
  public:
    // `runtimes`: attach_runtimes() will follow. Errors: the kernel refuses the programs.
    [[nodiscard]] static Result<std::unique_ptr<FunctionEngine>> load(const TraceTarget& target,
                                                                      bool runtimes);
    ~FunctionEngine();

    // Sets the probe cost of one call. Call it before the function is attached.
    void set_cost(std::uint32_t function, const calls::ProbeCost& cost);
    // From now on, shorter calls are counted but not returned by take_calls().
    void set_least(std::chrono::nanoseconds least);
    // See FunctionProbes.
    [[nodiscard]] Result<std::vector<CallProbes::Refused>> attach(
        const std::vector<CallFile>& files, const std::vector<PlannedFunction>& functions) {
        return probes_->attach(files, functions, LAGTRAP_TRACED_FUNCTIONS, 0);
    }
    [[nodiscard]] Status take_out(const std::set<std::uint32_t>& functions);
    [[nodiscard]] bool is_taking_out() const { return probes_->is_taking_out(); }

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
    // Stops counting the function.
    void leave_out(std::uint32_t function);
    // Hits of entries and exits so far, for a function of a runtime.
    [[nodiscard]] std::uint64_t hits_of(std::uint32_t function) const;
    // Returns ended calls that took at least the minimum. Waits up to `wait` for the first.
    [[nodiscard]] std::vector<calls::TracedCall> take_calls(std::chrono::milliseconds wait);
    // Hits so far, by function; without functions of runtimes.
    [[nodiscard]] std::vector<std::uint64_t> hits() const;
    // Totals of all functions that were called.
    [[nodiscard]] std::vector<calls::FunctionTotals> functions() const;
    // Resets `longest_ns` and its path, which then cover only calls that end later.
    void forget_longest();
    [[nodiscard]] lagtrap_traced_totals totals() const;
    // Returns when the kernel has removed all probes.
    void detach();

  private:
    FunctionEngine() = default;
    static int on_call(void* self, void* data, std::size_t bytes);
    [[nodiscard]] const lagtrap_traced_function* all() const {
        return static_cast<const lagtrap_traced_function*>(functions_.at);
    }
    [[nodiscard]] std::uint32_t count() const;
    [[nodiscard]] lagtrap_traced_totals* all_totals() const {
        return static_cast<lagtrap_traced_totals*>(totals_.at);
    }
    [[nodiscard]] Status put_in(const PlannedRuntime& runtime, bool at_end);
    [[nodiscard]] Status put_all_in();

    std::unique_ptr<functions_bpf, void (*)(functions_bpf*)> programs_{nullptr, nullptr};
    std::unique_ptr<ring_buffer, void (*)(ring_buffer*)> ring_{nullptr, nullptr};
    std::unique_ptr<FunctionProbes> probes_;
    std::unique_ptr<CallProbes> runtime_probes_;
    std::vector<CallFile> runtime_files_;  // all files, by number
    std::vector<PlannedRuntime> runtimes_;
    // By site number: the runtime, and whether its function is in C.
    std::vector<std::pair<calls::Runtime, bool>> runtime_sites_;
    Link scheduler_link_;
    MappedMap functions_, totals_;
    std::vector<calls::TracedCall> calls_;
    std::vector<Named> named_;
};

}  // namespace lagtrap::daemon
