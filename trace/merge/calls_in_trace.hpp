// Adds a recording's call trees to its trace: reads them from the capture, finds source lines, and
// writes slices.
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

// Call the functions in this order, each once except the last two. Not thread-safe.
class CallsInTrace {
  public:
    // Missing calls are listed in the recording quality (SessionQuality::omitted).
    void load(const std::filesystem::path& directory, SystemFile& file);
    // ask_sources() requests the source lines of the functions shown; fill_sources() fetches them
    // after naming.
    void ask_sources(StackTable& stacks, ModuleTable& modules);
    void fill_sources(const StackTable& stacks);
    // `writer` must outlive this object. `offset_ns` is CLOCK_BOOTTIME - CLOCK_MONOTONIC.
    void add_to(PacketWriter& writer, std::uint64_t offset_ns);
    [[nodiscard]] std::uint64_t next_due_ns() const { return slices_->next_due_ns(); }
    void write_due(std::uint64_t now_ns) { slices_->write_due(now_ns); }

  private:
    RecordedCalls recorded_;
    FunctionSources sources_;
    std::optional<CallSlices> slices_;
};

}  // namespace lagtrap::trace
