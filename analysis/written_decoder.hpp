// Decodes whose data disks wrote, and what filled the memory of a control group. For analysis/
// only.
#pragma once

#include <cstdint>

#include <protozero/data_view.hpp>

#include "analysis/raw_trace.hpp"

namespace lagtrap::analysis {

// Adds a LagtrapWritten message from a packet with the time stamp `at_ns`. Throws
// protozero::exception if it is damaged.
void take_written(protozero::data_view message, std::uint64_t at_ns, RawTrace& trace);

// The same for a LagtrapDiskLimit message.
void take_disk_limit(protozero::data_view message, std::uint64_t at_ns, RawTrace& trace);

// The same for a LagtrapGroupMemory message.
void take_group_memory(protozero::data_view message, RawTrace& trace);

}  // namespace lagtrap::analysis
