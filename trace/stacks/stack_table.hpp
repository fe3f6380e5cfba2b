// All stacks of a recording, with shared frames. A frame is a place in a module's file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"
#include "trace/processes/address_spaces.hpp"
#include "trace/processes/modules.hpp"

namespace lagtrap::trace {

using FrameId = std::uint32_t;
using FunctionName = std::uint32_t;
inline constexpr FunctionName no_name = 0;
inline constexpr FrameId no_frame = ~FrameId{0};

// A function at a place. If functions are inlined there, the place's frame is the innermost of
// them.
struct CodeFrame {
    ModuleId module = unknown_module;
    FunctionName name = no_name;
    std::uint64_t offset = 0;       // in the file; for the kernel and unknown code, the address
    FunctionName source = no_name;  // path of its source file
    std::uint32_t line = 0;         // 0 if unknown
    FrameId inlined_into = no_frame;
};

// A frame of JIT code, of a Python function (its offset is as in lagtrap_stack) or of unknown code,
// and when it was first seen.
struct RunTimeFrame {
    FrameId frame = 0;
    std::uint32_t pid = 0;
    std::uint64_t at_ns = 0;
};

struct CallStack {
    std::uint32_t first_frame = 0;   // index into the table's list of frames, innermost first
    std::uint16_t frame_count = 0;   // excluding inlined functions
    std::uint8_t end = 0;            // enum lagtrap_stack_end
    bool by_frame_pointers = false;  // at least in part
    bool complete = false;           // known to reach the thread's first frame
    bool late = false;               // the merge walked the rest, from a copy
    std::uint32_t uses = 0;          // counted by count_use()
    // including inlined functions; finish() sets this and the next two
    std::uint32_t function_count = 0;
    std::uint32_t named_count = 0;
    std::uint32_t located_count = 0;  // with a source file
};

class StackTable {
  public:
    // `limit_bytes` limits the memory of all stacks; further ones are counted as dropped.
    StackTable(const AddressSpaces& spaces, std::size_t limit_bytes)
        : spaces_(spaces), limit_bytes_(limit_bytes) {}

    // Resolves a stack with the mappings at its time. If an id occurs twice, the first stack
    // counts.
    void add(const lagtrap_stack& stack);
    // Adds the stack of a copy: the frames of stack `copy.inner_id` if it was added, otherwise the
    // one of `copy`, followed by the `further` frames, which were walked late. `end` as in
    // lagtrap_stack.
    void add_copied(const lagtrap_stack_copy& copy, std::span<const std::uint64_t> further,
                    std::uint8_t end);

    // Counts a sample or switch with this stack; ignores unknown ids.
    void count_use(std::uint64_t stack_id);
    // How often each frame occurs in the stacks of these samples and switches.
    [[nodiscard]] std::vector<std::uint64_t> uses_of_frames() const;
    // The same as the innermost frame of a stack.
    [[nodiscard]] std::vector<std::uint64_t> innermost_uses() const;

    // nullptr for ids that no log contains, including 0.
    [[nodiscard]] const CallStack* find(std::uint64_t stack_id) const;
    // Places, innermost first; follow `inlined_into` from each.
    [[nodiscard]] std::span<const FrameId> frames_of(const CallStack& stack) const {
        return {frame_ids_.data() + stack.first_frame, stack.frame_count};
    }

    [[nodiscard]] std::vector<CodeFrame>& frames() { return frames_; }
    [[nodiscard]] const std::vector<CodeFrame>& frames() const { return frames_; }
    [[nodiscard]] const std::string& name(FunctionName name) const { return names_[name]; }
    FunctionName intern_name(std::string_view name);
    [[nodiscard]] std::size_t name_bytes() const { return name_bytes_; }

    // Frames of code without a file. Only the process itself provides their names
    // (trace/names/run_time_code.hpp).
    [[nodiscard]] const std::vector<RunTimeFrame>& run_time_frames() const {
        return run_time_frames_;
    }

    // Call after naming all frames. Removes the frames of the tracing itself, counts the named
    // ones, and finds the stacks that end where threads begin.
    void finish();
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

  private:
    struct PlaceHash {
        std::size_t operator()(const CodePlace& place) const {
            const std::uint64_t owner = std::uint64_t{place.module} << 40 ^ std::uint64_t{place.pid}
                                                                                << 20;
            return (place.offset ^ owner) * 0x9e3779b97f4a7c15ULL >> 17;
        }
    };
    struct SamePlace {
        bool operator()(const CodePlace& a, const CodePlace& b) const {
            return a.module == b.module && a.pid == b.pid && a.offset == b.offset;
        }
    };
    [[nodiscard]] bool has_room();
    FrameId intern_frame(const CodePlace& place, std::uint64_t at_ns);
    void append_user_frame(std::uint32_t pid, std::uint64_t address, std::uint64_t at_ns);
    void put(std::uint64_t stack_id, CallStack stack, std::uint8_t end);
    void drop_tracing_frames(CallStack& stack) const;
    void count_functions(CallStack& stack) const;

    const AddressSpaces& spaces_;
    std::size_t limit_bytes_;
    std::size_t used_bytes_ = 0;
    std::unordered_map<std::uint64_t, CallStack> stacks_;
    std::vector<FrameId> frame_ids_;
    std::vector<CodeFrame> frames_;
    std::vector<RunTimeFrame> run_time_frames_;
    std::unordered_map<CodePlace, FrameId, PlaceHash, SamePlace> frame_of_place_;
    std::vector<std::string> names_{""};
    std::size_t name_bytes_ = 0;
    std::unordered_map<std::string, FunctionName> name_ids_;
    std::uint64_t dropped_ = 0;
};

}  // namespace lagtrap::trace
