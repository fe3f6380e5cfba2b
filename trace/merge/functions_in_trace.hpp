// Adds a recording's function trace to its merged trace: reads it from the capture, finds source
// lines, counts calls for the system file, and writes slices.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "trace/merge/recorded_functions.hpp"
#include "trace/names/function_sources.hpp"
#include "trace/perfetto/call_slices.hpp"
#include "trace/perfetto/packet_writer.hpp"
#include "trace/stacks/stack_table.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace {

// Used like CallsInTrace.
class FunctionsInTrace {
  public:
    // Missing functions are listed in the recording quality (SessionQuality::omitted).
    void load(const std::filesystem::path& directory, SystemFile& file);
    void ask_sources(StackTable& stacks, ModuleTable& modules);
    void fill_sources(const StackTable& stacks);
    void add_to(PacketWriter& writer, std::uint64_t offset_ns, SystemFile& file);
    [[nodiscard]] std::uint64_t next_due_ns() const { return slices_->next_due_ns(); }
    void write_due(std::uint64_t now_ns) { slices_->write_due(now_ns); }

  private:
    void count(std::uint64_t offset_ns, SystemFile& file);

    RecordedFunctions recorded_;
    FunctionSources sources_;
    std::optional<CallSlices> slices_;
};

}  // namespace lagtrap::trace
