// Decodes switches of CPUs and wakeups of threads. For analysis/ only.
#pragma once

#include <cstdint>

#include <protozero/data_view.hpp>

#include "analysis/raw_trace.hpp"

namespace lagtrap::analysis {

// Both count what refers to impossible threads as unreadable, and throw protozero::exception if a
// message is damaged.

// A SchedSwitchFtraceEvent, with the LagtrapSwitch of its packet in `facts`, or an empty view.
void take_switch(protozero::data_view message, std::uint64_t at_ns, std::uint32_t cpu,
                 protozero::data_view facts, RawTrace& trace);
// A SchedWakingFtraceEvent, with the LagtrapWaking of its packet in `facts`, or an empty view.
// `event` has its time, waker, and whether an interrupt caused it.
void take_waking(protozero::data_view message, RawWaking event, protozero::data_view facts,
                 RawTrace& trace);

}  // namespace lagtrap::analysis
