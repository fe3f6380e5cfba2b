// Decodes which processes and threads there are. For analysis/ only.
#pragma once

#include <cstdint>

#include <protozero/data_view.hpp>

#include "analysis/raw_trace.hpp"

namespace lagtrap::analysis {

// Each adds a message from a packet or event with the time stamp `at_ns`, and throws
// protozero::exception if it is damaged.

void take_process_tree(protozero::data_view message, std::uint64_t at_ns, RawTrace& trace);
// A TrackDescriptor: names and units, if it is of a thread or process.
void take_track(protozero::data_view message, std::uint64_t at_ns, RawTrace& trace);
// A TaskNewtaskFtraceEvent: `creator_tid` started a thread.
void take_new_task(protozero::data_view message, std::uint64_t at_ns, std::uint32_t creator_tid,
                   RawTrace& trace);

}  // namespace lagtrap::analysis
