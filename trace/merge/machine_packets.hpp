// Writes the packets about the machine that open a trace: clocks, kernel, trace id.
#pragma once

#include <cstdint>

#include "trace/logs/session.hpp"
#include "trace/perfetto/packet_writer.hpp"

namespace lagtrap::trace {

// `at_ns` is CLOCK_BOOTTIME, not later than any other packet. Takes the system's names from the
// running kernel (uname).
void write_machine(const Session& session, PacketWriter& writer, std::uint64_t at_ns);

}  // namespace lagtrap::trace
