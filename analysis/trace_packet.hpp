// A packet of a Perfetto trace, split into its fields.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <protozero/data_view.hpp>

namespace lagtrap::analysis {

// The relevant parts of a TracePacket, whose fields may be in any order.
struct Packet {
    std::uint64_t at_ns = 0;
    std::uint64_t flags = 0;
    std::uint32_t sequence = 0;
    std::vector<protozero::data_view> interned;
    std::vector<std::pair<std::uint32_t, protozero::data_view>> parts;  // field, message
    protozero::data_view defaults;
    protozero::data_view switching;     // adds to the switches of this packet
    protozero::data_view earlier_wait;  // wait that the sample of this packet belongs to
    protozero::data_view wait;          // adds to the off-CPU stack of this packet
    protozero::data_view waking;        // cause of the wakeups of this packet
    std::uint64_t parts_left_out = 0;   // beyond the limit
};

// The views point into `message`. Throws protozero::exception if it is not a message.
[[nodiscard]] Packet split_packet(protozero::data_view message);

}  // namespace lagtrap::analysis
