#include "analysis/run_decoder.hpp"

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::analysis::run_decoder_test {
namespace {

namespace perfetto = trace::perfetto;
using protozero::pbf_writer;
using Numbers = std::map<std::string, std::uint64_t>;

struct Decoder {
    RunDecoder decoder;
    Interning interning;
    RawTrace raw;

    void event(std::uint64_t at_ns, bool begins, const std::string& category = "",
               const std::string& name = "", const Numbers& numbers = {},
               std::uint32_t sequence = 2, std::uint64_t track = 1) {
        std::string data;
        pbf_writer event(data);
        if (!category.empty()) event.add_string(perfetto::track_event::categories, category);
        event.add_enum(perfetto::track_event::type, begins ? perfetto::track_event::slice_begin
                                                           : perfetto::track_event::slice_end);
        if (!name.empty()) event.add_string(perfetto::track_event::name, name);
        event.add_uint64(perfetto::track_event::track_uuid, track);
        for (const auto& [key, number] : numbers) {
            pbf_writer annotation(event, perfetto::track_event::debug_annotations);
            annotation.add_string(perfetto::debug_annotation::name, key);
            annotation.add_uint64(perfetto::debug_annotation::uint_value, number);
        }
        decoder.take_event(data, at_ns, sequence, interning, raw);
    }
    const std::vector<Run>& runs() {
        decoder.finish(raw);
        return raw.runs;
    }
};

TEST(RunDecoder, ReadsWhatTheSliceSaysOfTheRun) {
    Decoder decoder;
    decoder.event(100, true, "lagtrap.run", "que\x01ry",
                  {{"run", 9},
                   {"duration_ns", 50},
                   {"threshold_ns", 40},
                   {"queued_ns", 3},
                   {"key", 77},
                   {"goroutine", 78},
                   {"depth", 1ULL << 33},
                   {"begin_pid", 10},
                   {"begin_tid", 11},
                   {"end_pid", 12},
                   {"end_tid", 13},
                   {"open", 1},
                   {"first", 2}});
    decoder.event(200, true, "lagtrap.run", "other",
                  {{"abandoned", 1}, {"reported_at_deadline", 1}, {"in_go", 1}});
    const auto& runs = decoder.runs();
    ASSERT_EQ(runs.size(), 2U);
    const analysis::Run& run = runs[0];
    EXPECT_EQ(run.id, 9U);
    EXPECT_EQ(run.event, "que\\x01ry");
    EXPECT_EQ(run.begin_ns, 100U);
    EXPECT_EQ(run.end_ns, 150U);
    EXPECT_EQ(run.threshold_ns, 40U);
    EXPECT_EQ(run.queued_ns, 3U);
    EXPECT_EQ(run.key, 77U);
    EXPECT_EQ(run.goroutine, 78U);
    EXPECT_EQ(run.depth, UINT32_MAX);
    EXPECT_EQ(run.begin_pid, 10U);
    EXPECT_EQ(run.begin_tid, 11U);
    EXPECT_EQ(run.end_pid, 12U);
    EXPECT_EQ(run.end_tid, 13U);
    EXPECT_TRUE(run.open && run.first);
    EXPECT_FALSE(run.delay || run.abandoned || run.reported_at_deadline || run.in_go);
    EXPECT_TRUE(runs[1].abandoned && runs[1].reported_at_deadline && runs[1].in_go);
    EXPECT_FALSE(runs[1].open || runs[1].first);
    EXPECT_EQ(decoder.raw.records, 2U);
    EXPECT_EQ(decoder.raw.unreadable, 0U);
}

TEST(RunDecoder, ADelayIsKnownByCategoryOrFlag) {
    Decoder decoder;
    decoder.event(1, true, "lagtrap.run", "a", {{"run", 1}});
    decoder.event(2, true, "lagtrap.run", "a", {{"run", 2}, {"delay", 1}});
    decoder.event(3, true, "lagtrap.delay", "a", {{"run", 3}});
    decoder.event(4, true, "lagtrap.runs", "a", {{"run", 4}});
    const auto& runs = decoder.runs();
    ASSERT_EQ(runs.size(), 3U);
    EXPECT_FALSE(runs[0].delay);
    EXPECT_TRUE(runs[1].delay);
    EXPECT_TRUE(runs[2].delay);
}

TEST(RunDecoder, ARunEndsWithItsSliceNeverBeforeItBegins) {
    const auto end_of = [](std::uint64_t duration_ns, std::uint64_t end_ns) {
        Decoder decoder;
        decoder.event(100, true, "lagtrap.run", "a", {{"run", 1}, {"duration_ns", duration_ns}});
        if (end_ns != 0) decoder.event(end_ns, false);
        return decoder.runs().at(0).end_ns;
    };
    EXPECT_EQ(end_of(50, 0), 150U);
    EXPECT_EQ(end_of(50, 140), 140U);
    EXPECT_EQ(end_of(50, 90), 100U);
    EXPECT_EQ(end_of(UINT64_MAX - 100, 0), UINT64_MAX);
    EXPECT_EQ(end_of(UINT64_MAX - 99, 0), UINT64_MAX);
    EXPECT_EQ(end_of(UINT64_MAX, 0), UINT64_MAX);
}

TEST(RunDecoder, SlicesNestOnTheirTrackOfTheirSequence) {
    Decoder decoder;
    decoder.event(100, true, "lagtrap.run", "a", {{"run", 1}});
    decoder.event(110, true, "foreign", "x");
    decoder.event(120, false);
    decoder.event(125, false, "", "", {}, 2, 9);
    decoder.event(126, false, "", "", {}, 3, 1);
    EXPECT_EQ(decoder.raw.unreadable, 2U);
    decoder.event(130, false);
    decoder.event(140, false);
    EXPECT_EQ(decoder.raw.unreadable, 3U);
    EXPECT_EQ(decoder.runs().at(0).end_ns, 130U);
}

TEST(RunDecoder, StagesBelongToTheRunThatTheyName) {
    Decoder decoder;
    decoder.event(100, true, "lagtrap.run", "a", {{"run", 1}, {"duration_ns", 80}});
    decoder.event(100, true, "lagtrap.run", "b", {{"run", 2}, {"duration_ns", 50}}, 2, 7);
    decoder.event(110, true, "lagtrap.stage", "one", {{"run", 1}, {"stage_tid", 11}});
    decoder.event(120, false);
    decoder.event(120, true, "lagtrap.stage", "two", {{"run", 1}, {"stage_tid", 12}});
    decoder.event(190, true, "lagtrap.stage", "late", {{"run", 2}}, 2, 7);
    decoder.event(195, true, "lagtrap.stage", "lost", {{"run", 3}}, 2, 7);
    EXPECT_EQ(decoder.raw.unreadable, 1U);
    const auto& runs = decoder.runs();
    ASSERT_EQ(runs[0].stages.size(), 2U);
    EXPECT_EQ(runs[0].stages[0].name, "one");
    EXPECT_EQ(runs[0].stages[0].begin_ns, 110U);
    EXPECT_EQ(runs[0].stages[0].end_ns, 120U);
    EXPECT_EQ(runs[0].stages[0].tid, 11U);
    EXPECT_EQ(runs[0].stages[1].end_ns, 180U);
    ASSERT_EQ(runs[1].stages.size(), 1U);
    EXPECT_EQ(runs[1].stages[0].end_ns, 190U);
}

TEST(RunDecoder, CountsWhatIsBeyondTheLimits) {
    Decoder decoder;
    decoder.event(100, true, "lagtrap.run", "a", {{"run", 1}});
    for (int i = 0; i < 1024; ++i) {
        decoder.event(110, true, "lagtrap.stage", "s", {{"run", 1}});
        decoder.event(111, false);
    }
    EXPECT_EQ(decoder.raw.unreadable, 0U);
    decoder.event(110, true, "lagtrap.stage", "s", {{"run", 1}});
    EXPECT_EQ(decoder.raw.unreadable, 1U);
    for (int i = 0; i < 4094; ++i) decoder.event(112, true, "foreign");
    EXPECT_EQ(decoder.raw.unreadable, 1U);
    decoder.event(112, true, "foreign");
    EXPECT_EQ(decoder.raw.unreadable, 2U);
    EXPECT_EQ(decoder.runs().at(0).stages.size(), 1024U);
}

TEST(RunDecoder, SortsRunsByTheirBegin) {
    Decoder decoder;
    decoder.event(300, true, "lagtrap.run", "a", {{"run", 1}});
    decoder.event(100, true, "lagtrap.run", "a", {{"run", 2}});
    decoder.event(300, true, "lagtrap.run", "a", {{"run", 3}});
    const auto& runs = decoder.runs();
    ASSERT_EQ(runs.size(), 3U);
    EXPECT_EQ(runs[0].id, 2U);
    EXPECT_EQ(runs[1].id, 1U);
    EXPECT_EQ(runs[2].id, 3U);
}

TEST(RunDecoder, CallsNestInTheInnermostOpenOne) {
    Decoder decoder;
    decoder.event(100, true, "lagtrap.call", "f", {{"wall_ns", 9}, {"on_cpu_ns", 9}});
    decoder.event(101, true, "lagtrap.call", "g", {{"wall_ns", 4}, {"blocked_ns", 4}});
    decoder.event(105, false);
    decoder.event(109, false);
    decoder.event(120, true, "lagtrap.call", "f", {{"wall_ns", 1}, {"runnable_ns", 1}});
    (void)decoder.runs();
    EXPECT_EQ(decoder.raw.unreadable, 0U);
    ASSERT_EQ(decoder.raw.run_calls.size(), 2U);
    ASSERT_EQ(decoder.raw.run_calls[0].tree.calls.size(), 2U);
    EXPECT_EQ(decoder.raw.run_calls[0].tree.calls[1].end_ns, 5U);
    EXPECT_EQ(decoder.raw.run_calls[1].tree.calls.size(), 1U);
    EXPECT_EQ(decoder.raw.called_functions.size(), 2U);
}

}  // namespace
}  // namespace lagtrap::analysis::run_decoder_test
