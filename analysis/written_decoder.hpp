// Decodes whose data disks wrote, and what filled the memory of a control group. Used inside analysis/ alone.
#pragma once

#include <cstdint>

#include <protozero/data_view.hpp>

#include "analysis/raw_trace.hpp"

namespace lagtrap::analysis {

// A message lagtrap_written of a packet of that time. Throws protozero::exception where it is damaged.
void take_written(protozero::data_view message, std::uint64_t at_ns, RawTrace& trace);

// A message lagtrap_group_memory; the same.
void take_group_memory(protozero::data_view message, RawTrace& trace);

}  // namespace lagtrap::analysis
