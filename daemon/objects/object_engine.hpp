// Follows objects of one process (bpf/objects.bpf.c): attaches probes and returns calls and counts.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bpf/objects.h"
#include "calls/object_stream.hpp"
#include "core/result.hpp"
#include "daemon/calls/probe_session.hpp"
#include "daemon/kernel/mapped_map.hpp"
#include "daemon/objects/object_plan.hpp"
#include "daemon/objects/object_records.hpp"
#include "daemon/unwinding/unwind_store.hpp"

struct objects_bpf;

namespace lagtrap::daemon {

// Use it on one thread. The probes are detached when it is destroyed or this process ends, even by
// kill -9.
class ObjectEngine {
  public:
    // Stacks are walked with `tables`, which must outlive it. Errors: the kernel refuses the
    // programs.
    [[nodiscard]] static Result<std::unique_ptr<ObjectEngine>> load(const TraceTarget& target,
                                                                    const ObjectPlan& plan,
                                                                    const UnwindStore& tables);

    // Its probes, and those of the allocator and exceptions as others().
    [[nodiscard]] ProbeSession& session() { return *session_; }
    // How texts of the program are shown. Call it before the first take().
    void show_texts(CommandLines mode) { texts_ = mode; }
    // Allows this many more calls, including failures, to be reported.
    void set_room(std::uint64_t calls);
    // Allows this many more stack walks for creations whose caller has a stack already.
    void set_stack_room(std::uint64_t stacks);
    // Removes stacks without living objects if the table is nearly full.
    void sweep_stacks();
    // `costs` has one entry per function of the plan, then one per function of the allocator.
    // Returns the functions that cannot be watched. Errors: Vanished, Unsupported (none of them can
    // be watched).
    [[nodiscard]] Result<std::vector<CallProbes::Refused>> attach(
        const ObjectPlan& plan, const std::vector<calls::ProbeCost>& costs);
    // See CallProbes. Functions of the allocator are detached all together.
    [[nodiscard]] Status detach_functions(const std::set<std::uint32_t>& functions);

    using Taken = TakenObjects;
    // Sleeps for `wait`, then reads the ring; calls do not wake it up.
    [[nodiscard]] Taken take(std::chrono::milliseconds wait);
    // Functions speak of one thing if they are in one file or concern the same class. A library may
    // have the texts of its errors in another file.
    [[nodiscard]] SpeakOfOne speak_of_one() const;
    [[nodiscard]] std::vector<calls::ObjectFunctionTotals> totals_of_functions() const;
    // Counts living objects, which takes some time for each of them.
    [[nodiscard]] std::vector<calls::ClassCounts> counts(std::size_t classes) const;
    using Old = AgedObject;
    // Living objects: the oldest of each class, at most `most` each.
    [[nodiscard]] std::vector<Old> oldest(std::size_t most) const;
    // nullopt if it was removed.
    [[nodiscard]] std::optional<lagtrap_object_stack> stack(std::uint64_t number) const;
    [[nodiscard]] lagtrap_object_totals totals() const;

  private:
    ObjectEngine() = default;
    static int on_record(void* self, void* data, std::size_t bytes);
    void take_call(const lagtrap_object_call& record, const lagtrap_object_call_texts* texts);
    [[nodiscard]] Status attach_memory(const ObjectPlan& plan);
    [[nodiscard]] Status attach_exceptions(const ObjectPlan& plan);
    [[nodiscard]] lagtrap_object_function* all() const {
        return session_->functions<lagtrap_object_function>();
    }
    [[nodiscard]] lagtrap_object_totals* all_totals() const {
        return session_->totals<lagtrap_object_totals>();
    }

    std::unique_ptr<objects_bpf, void (*)(objects_bpf*)> programs_{nullptr, nullptr};
    std::unique_ptr<ProbeSession> session_;
    MappedMap classes_;
    std::uint32_t watched_ = 0, memory_ = 0;  // number of functions
    bool memory_is_out_ = false;
    std::vector<std::uint32_t> files_, class_numbers_;  // by function
    Taken taken_;
    CommandLines texts_ = CommandLines::Masked;
};

}  // namespace lagtrap::daemon
