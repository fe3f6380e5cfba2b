// What a trace says of its machine before anything else: clocks, kernel, its own id.
#pragma once

#include <cstdint>

#include "trace/logs/session.hpp"
#include "trace/perfetto/packet_writer.hpp"

namespace lagtrap::trace {

// `at_ns`: CLOCK_BOOTTIME, no later than any other packet's. Asks the running kernel for its names.
void write_machine(const Session& session, PacketWriter& writer, std::uint64_t at_ns);

}  // namespace lagtrap::trace
