// Interns the call stacks of one packet sequence. Each is written into the first packet that refers
// to it, with those frames, mappings and names that are new to the sequence.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include <protozero/pbf_writer.hpp>

#include "trace/processes/modules.hpp"
#include "trace/stacks/stack_table.hpp"

namespace lagtrap::trace {

class CallstackInterner {
  public:
    CallstackInterner(const StackTable& stacks, const ModuleTable& modules);

    // Returns the number of the call stack made of a kernel and a user stack (either may be
    // nullptr); 0 if both are nullptr. If the number is new, adds its definition to `packet` as
    // interned_data.
    std::uint64_t intern(const CallStack* kernel, const CallStack* user,
                         protozero::pbf_writer& packet);

    // Number of interned call stacks.
    [[nodiscard]] std::size_t size() const { return callstacks_.size(); }
    // Forgets all numbers, as readers do at a packet that clears the sequence's state.
    void clear();

  private:
    void define_frames(const CallStack& stack, protozero::pbf_writer& interned);
    void define_frame(FrameId id, protozero::pbf_writer& interned);
    void define_mapping(ModuleId module, protozero::pbf_writer& interned);
    void define_name(FunctionName name, protozero::pbf_writer& interned);
    void define_source(FunctionName path, protozero::pbf_writer& interned);
    void append_outermost_first(const CallStack* stack, std::vector<std::uint64_t>& ids) const;

    using Pair = std::pair<const CallStack*, const CallStack*>;
    struct PairHash {
        std::size_t operator()(const Pair& pair) const {
            const auto first = reinterpret_cast<std::uintptr_t>(pair.first);
            const auto second = reinterpret_cast<std::uintptr_t>(pair.second);
            return (first * 31 + second) * 0x9e3779b97f4a7c15ULL >> 9;
        }
    };

    const StackTable& stacks_;
    const ModuleTable& modules_;
    std::unordered_map<Pair, std::uint64_t, PairHash> callstacks_;
    std::vector<bool> frames_defined_;
    std::vector<bool> mappings_defined_;
    std::vector<bool> names_defined_;
    std::vector<bool> sources_defined_;
};

}  // namespace lagtrap::trace
