// Which places of a trace lack names or lines, for frames with every fact.
#include "analysis/trace_places.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/trace_messages.hpp"

namespace lagtrap::analysis::trace_places_test {
namespace {

using protozero::pbf_writer;
using test::message_of;

std::string named(std::uint64_t id, const std::string& text) {
    return message_of([&](pbf_writer& name) {
        name.add_uint64(1, id);
        name.add_bytes(2, text);
    });
}

std::string packet(std::uint32_t sequence, std::uint64_t at_ns, std::uint32_t field,
                   const std::string& message, bool off_cpu = false) {
    return message_of([&](pbf_writer& trace) {
        pbf_writer one(trace, 1);
        one.add_uint64(8, at_ns);
        one.add_uint32(10, sequence);
        if (off_cpu) {
            pbf_writer defaults(one, 59);
            pbf_writer sample(defaults, 12);
            pbf_writer timebase(sample, 1);
            pbf_writer(timebase, 3).add_string(1, "sched:sched_switch");
        }
        one.add_message(field, message);
    });
}

struct MadeFrame {
    std::uint64_t function = 0;  // 1 is "work"
    std::uint64_t mapping = 0;   // 1 and 2: two builds of a file; 3: without a build id
    std::uint64_t offset = 0, source = 0;
};

// A sequence whose stack has these frames.
std::string interned(std::uint32_t sequence, const std::vector<MadeFrame>& stack, bool off_cpu) {
    const auto mapping = [](std::uint64_t id, std::uint64_t build_id, std::uint64_t load_bias,
                            std::uint64_t path) {
        return message_of([&](pbf_writer& one) {
            one.add_uint64(1, id);
            one.add_uint64(2, build_id);
            one.add_uint64(6, load_bias);
            one.add_uint64(7, path);
        });
    };
    const std::string data = message_of([&](pbf_writer& all) {
        all.add_message(5, named(1, "work"));
        all.add_message(16, named(1, "\xab\xcd"));
        all.add_message(16, named(2, "\xef"));
        all.add_message(17, named(1, "/lib/libz.so.1"));
        all.add_message(17, named(2, "/opt/app"));
        all.add_message(18, named(1, "/src/a.c"));
        all.add_message(19, mapping(1, 1, 0x1000, 1));
        all.add_message(19, mapping(2, 2, 0x2000, 1));
        all.add_message(19, mapping(3, 0, 0, 2));
        std::uint64_t id = 0;
        for (const MadeFrame& frame : stack)
            all.add_message(6, message_of([&](pbf_writer& one) {
                                one.add_uint64(1, ++id);
                                one.add_uint64(2, frame.function);
                                one.add_uint64(3, frame.mapping);
                                one.add_uint64(4, frame.offset);
                                one.add_uint64(5, frame.source);
                            }));
        pbf_writer whole(all, 7);
        whole.add_uint64(1, 1);
        for (std::uint64_t frame = 1; frame <= id; ++frame) whole.add_uint64(2, frame);
    });
    return packet(sequence, 1, 12, data, off_cpu);
}

std::string samples(std::uint32_t sequence, int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i)
        bytes += packet(sequence, 100 + static_cast<std::uint64_t>(i), 66,
                        message_of([](pbf_writer& sample) {
                            sample.add_uint32(2, 10);
                            sample.add_uint32(3, 10);
                            sample.add_uint64(4, 1);
                        }));
    return bytes;
}

TEST(TracePlacesOf, FramesKeepFileBuildBiasAndAddress) {
    const auto places = read_places(
        interned(1, {{1, 1, 0x30}, {0, 2, 0x40}, {0, 1, 0x20}, {1, 1, 0x50, 1}}, false) +
        samples(1, 3));
    ASSERT_TRUE(places) << places.error().message;
    EXPECT_EQ(places->counts.frames, 12U);
    EXPECT_EQ(places->counts.named, 6U);
    EXPECT_EQ(places->counts.located, 3U);
    EXPECT_EQ(places->last_ns, 102U);
    EXPECT_EQ(places->places_without_build_id, 0U);
    ASSERT_EQ(places->modules.size(), 2U) << "two builds of one file";
    EXPECT_EQ(places->modules[0].path, "/lib/libz.so.1");
    EXPECT_EQ(places->modules[0].build_id, "abcd");
    EXPECT_EQ(places->modules[0].load_bias, 0x1000U);
    ASSERT_EQ(places->modules[0].places.size(), 2U) << "those without a line, by address";
    EXPECT_EQ(places->modules[0].places[0].address, 0x20U);
    EXPECT_EQ(places->modules[0].places[0].name, "");
    EXPECT_EQ(places->modules[0].places[1].address, 0x30U);
    EXPECT_EQ(places->modules[0].places[1].name, "work");
    EXPECT_EQ(places->modules[1].build_id, "ef");
    EXPECT_EQ(places->modules[1].load_bias, 0x2000U);
    ASSERT_EQ(places->modules[1].places.size(), 1U);
    EXPECT_EQ(places->modules[1].places[0].address, 0x40U);
}

TEST(TracePlacesOf, PlacesWithoutABuildIdAreOnlyCounted) {
    const auto places =
        read_places(interned(1, {{0, 3, 1}, {1, 3, 2}, {1, 3, 3, 1}}, false) + samples(1, 1));
    ASSERT_TRUE(places);
    EXPECT_TRUE(places->modules.empty());
    EXPECT_EQ(places->places_without_build_id, 2U);
}

TEST(TracePlacesOf, WaitsCountLikeSamples) {
    // The same places in a sequence of waits: one module is used by one sample, the other by four
    // waits.
    const std::string trace = interned(1, {{0, 1, 0x10}}, false) + samples(1, 1) +
                              interned(2, {{0, 2, 0x10}, {0, 1, 0x10}}, true) + samples(2, 4);
    const auto places = read_places(trace);
    ASSERT_TRUE(places);
    EXPECT_EQ(places->counts.frames, 1U + 8U);
    ASSERT_EQ(places->modules.size(), 2U);
    EXPECT_EQ(places->modules[0].build_id, "abcd") << "used five times";
    EXPECT_EQ(places->modules[0].places.size(), 1U) << "one place, though two frames";
    const auto other = read_places(interned(1, {{0, 1, 0x10}}, false) + samples(1, 1) +
                                   interned(2, {{0, 2, 0x10}}, true) + samples(2, 2));
    ASSERT_TRUE(other);
    EXPECT_EQ(other->modules.at(0).build_id, "ef") << "used twice, by waits";
}

}  // namespace
}  // namespace lagtrap::analysis::trace_places_test
