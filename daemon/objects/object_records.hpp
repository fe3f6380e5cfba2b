// Calls, counts and probes of objects, from plans and what the programs in the kernel wrote. Uses
// no kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bpf/objects.h"
#include "calls/object_stream.hpp"
#include "daemon/objects/object_plan.hpp"
#include "daemon/probes/call_probes.hpp"
#include "daemon/processes/command_line_mask.hpp"

namespace lagtrap::daemon {

// What was thrown, for example "std::runtime_error: no such page"; empty if nothing was.
[[nodiscard]] std::string thrown_text(const lagtrap_object_call_texts& texts);

// `texts` is nullptr if the call has none.
[[nodiscard]] calls::ObjectCall object_call_of(const lagtrap_object_call& record,
                                               const lagtrap_object_call_texts* texts,
                                               CommandLines mode, std::uint64_t page_bytes);

struct TakenObjects {
    std::vector<calls::ObjectMessage> messages;  // about failures that were returned before
    std::vector<calls::ObjectCall> calls;
};
// True if a text from one function may be about a failure of another.
using SpeakOfOne = std::function<bool(std::uint32_t failed, std::uint32_t reported)>;
// Adds the text to the thread's last failure that it may be about; false if there is none.
bool add_to_failure(std::vector<calls::ObjectCall>& calls, const calls::ObjectMessage& message,
                    const SpeakOfOne& speak_of_one);
// Adds it likewise, or else keeps the message.
void add_message(TakenObjects& taken, const lagtrap_object_message& record,
                 const SpeakOfOne& speak_of_one, CommandLines mode);

[[nodiscard]] calls::ClassCounts class_counts_of(const lagtrap_object_class& counted);

struct AgedObject {
    calls::OldObject object;
    std::uint64_t caller = 0;  // address of the code that created it
    std::uint64_t stack = 0;   // its number; 0 if unknown
};
// The oldest objects of each class.
class OldestObjects {
  public:
    // Keeps at most `most` of each class. `now_ns` is CLOCK_MONOTONIC.
    OldestObjects(std::size_t most, std::uint64_t now_ns, CommandLines mode)
        : most_(most), now_ns_(now_ns), mode_(mode) {}
    void add(const lagtrap_object_key& key, const lagtrap_object_alive& alive);
    // By class, the oldest first.
    [[nodiscard]] std::vector<AgedObject> take();

  private:
    std::size_t most_;
    std::uint64_t now_ns_;
    CommandLines mode_;
    std::map<std::uint32_t, std::vector<AgedObject>> by_class_;
};

// The probes of the allocator's functions, whose numbers begin with `first`.
struct MemoryProbes {
    std::vector<CallProbe> entries, returns, exits;
};
[[nodiscard]] MemoryProbes memory_probes(const ObjectPlan& plan, std::uint32_t first);
// Of jumps to the allocator, by file.
[[nodiscard]] std::map<std::uint32_t, std::vector<CallProbe>> jump_probes(const ObjectPlan& plan);

}  // namespace lagtrap::daemon
