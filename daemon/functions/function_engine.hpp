// Records the calls of many functions of one process (bpf/functions.bpf.c): probes in, calls and sums out.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bpf/functions.h"
#include "calls/function_stream.hpp"
#include "core/result.hpp"
#include "daemon/calls/call_plan.hpp"
#include "daemon/calls/function_probes.hpp"
#include "daemon/kernel/mapped_map.hpp"

struct functions_bpf;
struct ring_buffer;

namespace lagtrap::daemon {

// One thread's. Whatever ends it, kill -9 of this process included, takes the probes out.
class FunctionEngine {
  public:
    // Errors: the kernel refuses the programs.
    [[nodiscard]] static Result<std::unique_ptr<FunctionEngine>> load(pid_t pid);
    ~FunctionEngine();

    // What the probes of one call take; before it is attached.
    void set_cost(std::uint32_t function, const calls::ProbeCost& cost);
    // From now on shorter calls are counted and not told.
    void set_least(std::chrono::nanoseconds least);
    // As FunctionProbes.
    [[nodiscard]] Result<std::vector<CallProbes::Refused>> attach(const std::vector<CallFile>& files,
                                                                  const std::vector<PlannedFunction>& functions) {
        return probes_->attach(files, functions, LAGTRAP_TRACED_FUNCTIONS, 0);
    }
    [[nodiscard]] Status take_out(const std::set<std::uint32_t>& functions);
    [[nodiscard]] bool is_taking_out() const { return probes_->is_taking_out(); }
    // Those that ended and took the minimum; waits for the first, for so long at the most.
    [[nodiscard]] std::vector<calls::TracedCall> take_calls(std::chrono::milliseconds wait);
    // So far, of each function.
    [[nodiscard]] std::vector<std::uint64_t> hits() const;
    // Of those that were called.
    [[nodiscard]] std::vector<calls::FunctionTotals> functions() const;
    // From now on `longest_ns` and its path are of calls that end later.
    void forget_longest();
    [[nodiscard]] lagtrap_traced_totals totals() const;
    // Returns when the kernel has taken all probes out.
    void detach();

  private:
    FunctionEngine() = default;
    static int on_call(void* self, void* data, std::size_t bytes);
    [[nodiscard]] const lagtrap_traced_function* all() const {
        return static_cast<const lagtrap_traced_function*>(functions_.at);
    }
    [[nodiscard]] std::uint32_t count() const;

    std::unique_ptr<functions_bpf, void (*)(functions_bpf*)> programs_{nullptr, nullptr};
    std::unique_ptr<ring_buffer, void (*)(ring_buffer*)> ring_{nullptr, nullptr};
    std::unique_ptr<FunctionProbes> probes_;
    Link scheduler_link_;
    MappedMap functions_, totals_;
    std::vector<calls::TracedCall> calls_;
};

}  // namespace lagtrap::daemon
