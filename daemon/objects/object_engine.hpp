// Follows objects of one process (bpf/objects.bpf.c): probes in, calls and counts out.
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
#include "daemon/calls/function_probes.hpp"
#include "daemon/kernel/mapped_map.hpp"
#include "daemon/objects/object_plan.hpp"
#include "daemon/unwinding/unwind_store.hpp"

struct objects_bpf;
struct ring_buffer;

namespace lagtrap::daemon {

// One thread's. Whatever ends it, kill -9 of this process included, takes the probes out.
class ObjectEngine {
  public:
    // `tables`, by which stacks are walked, outlive it. Errors: the kernel refuses the programs.
    [[nodiscard]] static Result<std::unique_ptr<ObjectEngine>> load(const TraceTarget& target, const ObjectPlan& plan,
                                                                    const UnwindStore& tables);
    ~ObjectEngine();

    // How texts of the program are shown: before the first is taken.
    void show_texts(CommandLines mode) { texts_ = mode; }
    // From now on shorter uses that succeed are counted and not told.
    void set_least(std::chrono::nanoseconds least);
    // From now on so many calls, and failures, may be told.
    void set_room(std::uint64_t calls);
    // From now on so many creations may have their stacks walked whose call has one already.
    void set_stack_room(std::uint64_t stacks);
    // Forgets stacks from which nothing lives any more, where room for others grows short.
    void sweep_stacks();
    // `costs`: of each function of the plan, then of each of the allocator's. Tells which could not be watched. Errors:
    // Vanished; none of them could be.
    [[nodiscard]] Result<std::vector<CallProbes::Refused>> attach(const ObjectPlan& plan,
                                                                  const std::vector<calls::ProbeCost>& costs);
    // As CallProbes, of functions; the allocator's go all together.
    [[nodiscard]] Status take_out(const std::set<std::uint32_t>& functions);

    struct Taken {
        std::vector<calls::ObjectMessage> messages;  // of failures that were taken before
        std::vector<calls::ObjectCall> calls;
    };
    // After `wait`: nobody is woken up for a call.
    [[nodiscard]] Taken take(std::chrono::milliseconds wait);
    // Whether a text that a function gave may be about a failure of another: they are of one file, or about the same objects,
    // as a library may have the texts of its errors in another one.
    [[nodiscard]] bool speak_of_one(std::uint32_t failed, std::uint32_t told) const;
    // So far, of each function.
    [[nodiscard]] std::vector<std::uint64_t> hits() const;
    [[nodiscard]] std::vector<calls::ObjectFunctionTotals> totals_of_functions() const;
    // What lives is counted, which takes a moment for each of them.
    [[nodiscard]] std::vector<calls::ClassCounts> counts(std::size_t classes) const;
    struct Old {
        calls::OldObject object;
        std::uint64_t caller = 0;  // address that had it created
        std::uint64_t stack = 0;   // its number; 0: not known
    };
    // Alive; of each class the oldest, at most `most` each.
    [[nodiscard]] std::vector<Old> oldest(std::size_t most) const;
    // nullopt: it was forgotten.
    [[nodiscard]] std::optional<lagtrap_object_stack> stack(std::uint64_t number) const;
    [[nodiscard]] lagtrap_object_totals totals() const;
    // Returns when the kernel has taken all probes out.
    void detach();

  private:
    ObjectEngine() = default;
    static int on_record(void* self, void* data, std::size_t bytes);
    void take_message(const lagtrap_object_message& record);
    void take_call(const lagtrap_object_call& record, const lagtrap_object_call_texts* texts);
    [[nodiscard]] Status attach_memory(const ObjectPlan& plan);
    [[nodiscard]] Status attach_exceptions(const ObjectPlan& plan);
    [[nodiscard]] lagtrap_object_function* all() const { return static_cast<lagtrap_object_function*>(functions_.at); }

    std::unique_ptr<objects_bpf, void (*)(objects_bpf*)> programs_{nullptr, nullptr};
    std::unique_ptr<ring_buffer, void (*)(ring_buffer*)> ring_{nullptr, nullptr};
    std::unique_ptr<FunctionProbes> probes_;
    std::unique_ptr<CallProbes> other_probes_;  // of the allocator and of exceptions
    Link scheduler_link_;
    MappedMap functions_, classes_, totals_;
    std::uint32_t watched_ = 0, memory_ = 0;  // functions
    bool memory_is_out_ = false;
    std::vector<std::uint32_t> files_, class_numbers_;  // of each function
    Taken taken_;
    CommandLines texts_ = CommandLines::Masked;
};

}  // namespace lagtrap::daemon
