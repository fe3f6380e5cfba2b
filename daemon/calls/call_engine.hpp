// Records the trees of calls of one process (bpf/calls.bpf.c): probes in, trees out.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bpf/calls.h"
#include "calls/call_tree.hpp"
#include "core/result.hpp"
#include "daemon/calls/call_plan.hpp"
#include "daemon/calls/function_probes.hpp"
#include "daemon/kernel/mapped_map.hpp"
#include "daemon/probes/call_probes.hpp"

struct calls_bpf;
struct ring_buffer;

namespace lagtrap::daemon {

// One thread's. Whatever ends it, kill -9 of this process included, takes the probes out.
class CallEngine {
  public:
    // Trees that took less than `least` are not told. With `go` they are those of goroutines, and all functions are of Go.
    // Errors: the kernel refuses the programs.
    [[nodiscard]] static Result<std::unique_ptr<CallEngine>> load(const TraceTarget& target,
                                                                  std::chrono::nanoseconds least,
                                                                  const GoPlace& go = {});
    ~CallEngine();

    // What the probes of one call of a function take, for calls that are left out; before it is attached.
    void set_cost(std::uint32_t function, std::uint64_t cost_ns);
    // Watches these functions, whose numbers go on from those before; calls of those of level 0 begin a tree. Tells which could
    // not be watched. Errors: Vanished; none of them could be.
    [[nodiscard]] Result<std::vector<CallProbes::Refused>> attach(const std::vector<CallFile>& files,
                                                                  const std::vector<PlannedFunction>& functions);
    // From now on their time is their callers'.
    [[nodiscard]] Status take_out(const std::set<std::uint32_t>& functions);
    [[nodiscard]] bool is_taking_out() const { return probes_->is_taking_out(); }
    // Looks at calls through pointers in these functions, which are watched; `cost_ns`: of one such call. As many as there is
    // room for.
    [[nodiscard]] Status look_at_indirect(const std::vector<CallFile>& files,
                                          const std::vector<PlannedFunction>& functions,
                                          const std::set<std::uint32_t>& left_out, std::uint64_t cost_ns);
    struct Seen {
        std::uint64_t address = 0;   // in the process's memory
        std::uint32_t function = 0;  // that called it
    };
    // Looks at them no longer; what they called below a target since look_at_indirect().
    [[nodiscard]] std::vector<Seen> take_seen();
    // Waits until a tree is done, for so long at the most. A malformed tree is left out, and counted as lost.
    [[nodiscard]] std::vector<calls::Tree> take_trees(std::chrono::milliseconds wait);
    // Ends the trees of goroutines that have ended in the middle of one; take_trees() has them then.
    void end_trees_of_gone();
    // So far, of each function.
    [[nodiscard]] std::vector<std::uint64_t> hits() const;
    [[nodiscard]] lagtrap_call_totals totals() const;
    // Returns when the kernel has taken all probes out.
    void detach();

  private:
    CallEngine() = default;
    [[nodiscard]] Status map_all();
    [[nodiscard]] Status attach_to_scheduler();
    void note_done(std::uint32_t tree);
    static int on_done(void* self, void* data, std::size_t bytes);

    std::unique_ptr<calls_bpf, void (*)(calls_bpf*)> programs_{nullptr, nullptr};
    std::unique_ptr<ring_buffer, void (*)(ring_buffer*)> ring_{nullptr, nullptr};
    std::unique_ptr<FunctionProbes> probes_;
    std::unique_ptr<CallProbes> indirect_probes_;
    std::vector<Link> scheduler_links_;
    pid_t pid_ = 0;
    GoPlace go_;
    MappedMap trees_, nodes_, counts_, totals_;
    std::uint64_t senseless_ = 0;
    std::vector<calls::Tree> done_;
};

// A tree as user space wants it, of what the programs in the kernel wrote: calls that were left by no instruction of their own
// end when something began that cannot have been called by them, or with their callers.
[[nodiscard]] calls::Tree tree_of(const lagtrap_call_tree& header, const lagtrap_call_node* nodes, std::size_t count);

}  // namespace lagtrap::daemon
