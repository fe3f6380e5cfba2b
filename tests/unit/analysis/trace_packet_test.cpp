#include "analysis/trace_packet.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/trace_messages.hpp"

namespace lagtrap::analysis::trace_packet_test {
namespace {

using protozero::pbf_writer;
using test::message_of;

std::string text_of(protozero::data_view view) { return {view.data(), view.size()}; }

TEST(TracePacket, IsSplitIntoItsFields) {
    const std::string bytes = message_of([](pbf_writer& packet) {
        packet.add_string(20004, "earlier");
        packet.add_string(20005, "wait");
        packet.add_string(20002, "switch");
        packet.add_string(20001, "waking");
        packet.add_string(59, "defaults");
        packet.add_string(12, "names");
        packet.add_uint64(13, 3);
        packet.add_uint32(10, 7);
        packet.add_uint64(8, 123'456'789'012);
        packet.add_string(12, "more names");
    });
    const Packet packet = split_packet(bytes);
    EXPECT_EQ(packet.at_ns, 123'456'789'012U);
    EXPECT_EQ(packet.sequence, 7U);
    EXPECT_EQ(packet.flags, 3U);
    ASSERT_EQ(packet.interned.size(), 2U);
    EXPECT_EQ(text_of(packet.interned[0]), "names");
    EXPECT_EQ(text_of(packet.interned[1]), "more names");
    EXPECT_EQ(text_of(packet.defaults), "defaults");
    EXPECT_EQ(text_of(packet.switching), "switch");
    EXPECT_EQ(text_of(packet.waking), "waking");
    EXPECT_EQ(text_of(packet.earlier_wait), "earlier");
    EXPECT_EQ(text_of(packet.wait), "wait");
    EXPECT_TRUE(packet.parts.empty());
    EXPECT_EQ(packet.parts_left_out, 0U);
}

TEST(TracePacket, PartsKeepTheirKindAndOrder) {
    // Switches and wakeups, waits for files, written data, memory of a group, processes, runs,
    // names of threads, symbols, samples.
    const std::vector<std::uint32_t> fields{1, 20003, 20006, 20007, 2, 11, 60, 61, 66};
    const std::string bytes = message_of([&](pbf_writer& packet) {
        for (const std::uint32_t field : fields) packet.add_string(field, std::to_string(field));
        packet.add_string(6, "clocks");
        packet.add_uint64(1, 5);  // the number of a part, but not its type
    });
    const Packet packet = split_packet(bytes);
    ASSERT_EQ(packet.parts.size(), fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
        EXPECT_EQ(packet.parts[i].first >> 3, fields[i]);
        EXPECT_EQ(text_of(packet.parts[i].second), std::to_string(fields[i]));
    }
}

TEST(TracePacket, PartsBeyondTheLimitAreCounted) {
    const auto split = [](int samples, int names) {
        return message_of([&](pbf_writer& packet) {
            for (int i = 0; i < samples; ++i) packet.add_string(66, "sample");
            for (int i = 0; i < names; ++i) packet.add_string(12, "names");
        });
    };
    const std::string most = split(600, 400), more = split(600, 403);
    EXPECT_EQ(split_packet(most).parts_left_out, 0U);
    const Packet packet = split_packet(more);
    EXPECT_EQ(packet.parts.size(), 600U);
    EXPECT_EQ(packet.interned.size(), 400U);
    EXPECT_EQ(packet.parts_left_out, 3U);
}

}  // namespace
}  // namespace lagtrap::analysis::trace_packet_test
