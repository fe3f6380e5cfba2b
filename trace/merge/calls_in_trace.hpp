// Trees of calls in a trace: read from the capture, with source lines, and written as slices.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "trace/merge/recorded_calls.hpp"
#include "trace/names/function_sources.hpp"
#include "trace/perfetto/call_slices.hpp"
#include "trace/perfetto/packet_writer.hpp"
#include "trace/stacks/stack_table.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace {

// The functions are to be called in this order, each once but for the last two. Not for several threads at once.
class CallsInTrace {
  public:
    // What of them is missing stands beside what else was given up.
    void load(const std::filesystem::path& directory, SystemFile& file);
    // Wants the lines of functions that are shown, and takes them when names are known.
    void ask_sources(StackTable& stacks, ModuleTable& modules);
    void fill_sources(const StackTable& stacks);
    // `writer` outlives this. `offset_ns`: CLOCK_BOOTTIME - CLOCK_MONOTONIC.
    void add_to(PacketWriter& writer, std::uint64_t offset_ns);
    [[nodiscard]] std::uint64_t next_due_ns() const { return slices_->next_due_ns(); }
    void write_due(std::uint64_t now_ns) { slices_->write_due(now_ns); }

  private:
    RecordedCalls recorded_;
    FunctionSources sources_;
    std::optional<CallSlices> slices_;
};

}  // namespace lagtrap::trace
