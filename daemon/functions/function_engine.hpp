// Records the calls of many functions of one process (bpf/functions.bpf.c): probes in, calls and sums out.
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

// One thread's. Whatever ends it, kill -9 of this process included, takes the probes out.
class FunctionEngine {
  public:
    // `runtimes`: attach_runtimes() will be called. Errors: the kernel refuses the programs.
    [[nodiscard]] static Result<std::unique_ptr<FunctionEngine>> load(const TraceTarget& target, bool runtimes);
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

    // What runtimes tell, whose functions get numbers behind all others: once, when those are attached. `cost`: of the probes of
    // one call. ErrorKind::Unsupported: the kernel takes none of them.
    [[nodiscard]] Status attach_runtimes(const std::vector<CallFile>& files, std::vector<PlannedRuntime> runtimes,
                                         const calls::ProbeCost& cost);
    // Puts them in, or takes them out. Calls that were open then are not known. Errors: none is in.
    [[nodiscard]] Status watch_runtimes(bool watch);
    struct Named {
        lagtrap_runtime_function function;
        calls::Runtime runtime;
        bool in_c;
    };
    // That runtimes told of for the first time.
    [[nodiscard]] std::vector<Named> take_named() { return std::exchange(named_, {}); }
    // Is not counted from now on.
    void leave_out(std::uint32_t function);
    // Of its begins and ends, so far; of a function of a runtime.
    [[nodiscard]] std::uint64_t hits_of(std::uint32_t function) const;
    // Those that ended and took the minimum; waits for the first, for so long at the most.
    [[nodiscard]] std::vector<calls::TracedCall> take_calls(std::chrono::milliseconds wait);
    // So far, of each function of machine code.
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
    [[nodiscard]] lagtrap_traced_totals* all_totals() const { return static_cast<lagtrap_traced_totals*>(totals_.at); }
    [[nodiscard]] Status put_in(const PlannedRuntime& runtime, bool at_end);
    [[nodiscard]] Status put_all_in();

    std::unique_ptr<functions_bpf, void (*)(functions_bpf*)> programs_{nullptr, nullptr};
    std::unique_ptr<ring_buffer, void (*)(ring_buffer*)> ring_{nullptr, nullptr};
    std::unique_ptr<FunctionProbes> probes_;
    std::unique_ptr<CallProbes> runtime_probes_;
    std::vector<CallFile> runtime_files_;  // of all; by number
    std::vector<PlannedRuntime> runtimes_;
    std::vector<std::pair<calls::Runtime, bool>> runtime_sites_;  // by number: whose, and whether in C
    Link scheduler_link_;
    MappedMap functions_, totals_;
    std::vector<calls::TracedCall> calls_;
    std::vector<Named> named_;
};

}  // namespace lagtrap::daemon
