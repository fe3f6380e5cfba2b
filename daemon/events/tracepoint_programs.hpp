// Spreads markers on tracepoints over the copies of the BPF program for them. The kernel attaches a
// program to a tracepoint only once (bpf_prog_array_copy() in kernel/bpf/core.c), so each marker on
// the same tracepoint needs another copy.
#pragma once

#include <cstddef>
#include <vector>

#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Returns the copy for each of the markers, from 0: how many earlier ones are on the same
// tracepoint. It means nothing for markers of other kinds.
[[nodiscard]] std::vector<std::size_t> tracepoint_programs_of(
    const std::vector<const settings::Marker*>& markers);

}  // namespace lagtrap::daemon
