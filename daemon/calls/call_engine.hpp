// Records the call trees of one process (bpf/calls.bpf.c): attaches probes and returns trees.
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
#include "daemon/calls/probe_session.hpp"
#include "daemon/kernel/mapped_map.hpp"
#include "daemon/probes/call_probes.hpp"

struct calls_bpf;

namespace lagtrap::daemon {

// Use it on one thread. The probes are detached when it is destroyed or this process ends, even by
// kill -9.
class CallEngine {
  public:
    // Trees shorter than `least` are dropped. With `go`, trees follow goroutines, and all functions
    // must be Go functions. Errors: the kernel refuses the programs.
    [[nodiscard]] static Result<std::unique_ptr<CallEngine>> load(const TraceTarget& target,
                                                                  std::chrono::nanoseconds least,
                                                                  const GoPlace& go = {});

    // Its probes, and those of indirect calls as others().
    [[nodiscard]] ProbeSession& session() { return *session_; }
    // Watches these functions. Their numbers continue those of earlier calls; calls of functions of
    // level 0 begin a tree. Returns the functions that cannot be watched. Errors: Vanished,
    // Unsupported (none of them can be watched).
    [[nodiscard]] Result<std::vector<CallProbes::Refused>> attach(
        const std::vector<CallFile>& files, const std::vector<PlannedFunction>& functions) {
        return session_->attach(files, functions, LAGTRAP_COOKIE_CALL_TARGET);
    }
    // Probes the indirect calls of these functions, which must be watched already, up to
    // LAGTRAP_INDIRECT_SITES. `cost_ns` is the cost of one such probe hit.
    [[nodiscard]] Status look_at_indirect(const std::vector<CallFile>& files,
                                          const std::vector<PlannedFunction>& functions,
                                          const std::set<std::uint32_t>& left_out,
                                          std::uint64_t cost_ns);
    struct Seen {
        std::uint64_t address = 0;   // in the memory of the process
        std::uint32_t function = 0;  // the caller
    };
    // Removes these probes. Returns what was called below a target since look_at_indirect().
    [[nodiscard]] std::vector<Seen> take_seen();
    // Waits up to `wait` for a finished tree. A malformed tree is dropped and counted as lost.
    [[nodiscard]] std::vector<calls::Tree> take_trees(std::chrono::milliseconds wait);
    // Ends the trees of goroutines that exited within one; the next take_trees() returns them.
    void end_trees_of_gone();
    [[nodiscard]] lagtrap_call_totals totals() const;

  private:
    CallEngine() = default;
    [[nodiscard]] Status map_all();
    void note_done(std::uint32_t tree);
    static int on_done(void* self, void* data, std::size_t bytes);

    std::unique_ptr<calls_bpf, void (*)(calls_bpf*)> programs_{nullptr, nullptr};
    std::unique_ptr<ProbeSession> session_;
    pid_t pid_ = 0;
    GoPlace go_;
    MappedMap trees_, nodes_;
    std::uint64_t malformed_ = 0;
    std::vector<calls::Tree> done_;
};

// Converts a tree as the BPF programs wrote it. A call whose end was not seen ends when something
// begins that it cannot have called, or with its caller.
[[nodiscard]] calls::Tree tree_of(const lagtrap_call_tree& header, const lagtrap_call_node* nodes,
                                  std::size_t count);

}  // namespace lagtrap::daemon
