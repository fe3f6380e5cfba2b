// The probes of one trace of calls, functions or objects: its functions and what is known of each,
// the limits that apply to them, and the records that the trace's BPF programs send.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "calls/call_stream.hpp"
#include "core/result.hpp"
#include "daemon/calls/call_thinning.hpp"
#include "daemon/calls/function_probes.hpp"
#include "daemon/kernel/mapped_map.hpp"
#include "daemon/probes/call_probes.hpp"
#include "daemon/processes/trace_target.hpp"

struct bpf_map;
struct lagtrap_probed_function;
struct lagtrap_trace_limits;
struct ring_buffer;

namespace lagtrap::daemon {

// Use it on one thread. The probes are detached when it is destroyed or this process ends, even by
// kill -9. The BPF programs must outlive it.
class ProbeSession {
  public:
    // What the programs of each trace have (traced_functions.bpf.h).
    struct Kernel {
        bpf_program *on_call = nullptr, *on_call_exit = nullptr, *on_call_return = nullptr;
        bpf_map *functions = nullptr, *totals = nullptr, *records = nullptr, *exit_sites = nullptr;
    };
    // Gets each record and `owner`.
    using Take = int (*)(void* owner, void* record, std::size_t bytes);
    // Call it when the programs are loaded.
    [[nodiscard]] static Result<std::unique_ptr<ProbeSession>> begin(const Kernel& kernel,
                                                                     pid_t pid, Take take,
                                                                     void* owner);
    ~ProbeSession();
    ProbeSession(const ProbeSession&) = delete;
    ProbeSession& operator=(const ProbeSession&) = delete;

    // Sets the cost of one call of the function. Call it before the function is attached.
    void set_cost(std::uint32_t function, const calls::ProbeCost& cost);
    // From now on, shorter calls are counted but not sent.
    void set_min_duration(std::chrono::nanoseconds min_duration);
    // Runs these programs at events of the scheduler.
    [[nodiscard]] Status follow_threads(std::initializer_list<bpf_program*> programs);
    // See FunctionProbes.
    [[nodiscard]] Result<std::vector<CallProbes::Refused>> attach(
        const std::vector<CallFile>& files, const std::vector<PlannedFunction>& functions,
        std::uint64_t target_cookie = 0) {
        return probes_.attach(files, functions, limit_, target_cookie);
    }
    // Probes in which other programs run.
    [[nodiscard]] CallProbes& others() { return others_; }

    // Hits so far, by function; of functions that are attached or have a cost.
    [[nodiscard]] std::vector<std::uint64_t> hits() const;
    // Functions that must be detached to keep the probes within the limit of `thinning`, none while
    // the kernel is still removing others. `functions` has the costs.
    [[nodiscard]] std::vector<calls::DetachedFunction> too_expensive(
        CallThinning& thinning, const std::vector<calls::Function>& functions) const;
    // Detaches these functions, and in others() those of `also`. See CallProbes. If it fails, calls
    // of other functions are missing from now on; the others stay correct.
    [[nodiscard]] Status detach_functions(const std::set<std::uint32_t>& functions,
                                          const std::set<std::uint32_t>& also = {});
    // Stops counting the function.
    void stop_counting(std::uint32_t function);
    // Waits up to `wait` for a record, and passes on all that have arrived.
    void take_records(std::chrono::milliseconds wait);
    // Passes on the records that have arrived, also those sent without a wakeup.
    void take_arrived_records();
    // Detaches all probes. Returns how long the kernel took to remove them.
    std::uint64_t detach();

    [[nodiscard]] const FunctionProbes& probes() const { return probes_; }
    // The values of the trace's maps, which begin with lagtrap_probed_function and
    // lagtrap_trace_limits.
    template <typename Function>
    [[nodiscard]] Function* functions() const {
        return static_cast<Function*>(functions_.at);
    }
    template <typename Totals>
    [[nodiscard]] Totals* totals() const {
        return static_cast<Totals*>(totals_.at);
    }

  private:
    ProbeSession(const Kernel& kernel, pid_t pid);
    [[nodiscard]] lagtrap_probed_function& probed(std::uint32_t function) const;
    [[nodiscard]] lagtrap_trace_limits& limits() const;

    pid_t pid_;
    std::uint32_t limit_;         // number of functions
    std::size_t function_bytes_;  // of a value
    std::uint32_t counted_ = 0;   // functions with a cost
    MappedMap functions_, totals_;
    std::unique_ptr<ring_buffer, void (*)(ring_buffer*)> ring_;
    FunctionProbes probes_;
    CallProbes others_;
    std::vector<Link> scheduler_links_;
};

// Loads the programs of a trace, and begins its session. `Programs` is what bpftool generates for
// them; `more` run at uprobes too. `purpose` is for errors: "record calls".
template <typename Programs>
[[nodiscard]] Result<std::unique_ptr<ProbeSession>> load_session(
    Programs& programs, const TraceTarget& target, std::initializer_list<bpf_program*> more,
    const std::string& purpose, ProbeSession::Take take, void* owner) {
    const auto& run = programs.progs;
    const auto& maps = programs.maps;
    set_target(*programs.rodata, target);
    expect_uprobes({run.on_call, run.on_call_exit, run.on_call_return});
    expect_uprobes(more);
    if (const int failed = Programs::load(&programs); failed != 0)
        return libbpf_error("load the programs that " + purpose, failed);
    return ProbeSession::begin({run.on_call, run.on_call_exit, run.on_call_return, maps.functions,
                                maps.totals, maps.records, maps.exit_sites},
                               target.pid, take, owner);
}

}  // namespace lagtrap::daemon
