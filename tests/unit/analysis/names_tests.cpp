// Names and source lines of frames, from the recording and found later.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/delay_report.hpp"
#include "analysis/recording.hpp"
#include "analysis/trace_places.hpp"
#include "tests/unit/analysis/trace_builder.hpp"
#include "trace/names/module_symbols.hpp"

namespace lagtrap::analysis::names_tests {
namespace {

using test::TraceBuilder;
using testing::ElementsAre;
constexpr std::uint64_t ms = TraceBuilder::ms;

// The first sample's stack as "main@a.c:3", outermost first.
std::vector<std::string> stack_of(const Recording& recording) {
    std::vector<std::string> frames;
    for (const std::uint32_t id :
         recording.stacks[recording.find_thread(10)->samples.at(0).stack]) {
        const Frame& frame = recording.frames[id];
        std::string text = recording.name(frame.label);
        if (frame.source != 0)
            text += "@" + recording.name(frame.source) + ":" + std::to_string(frame.line);
        frames.push_back(std::move(text));
    }
    return frames;
}

TraceBuilder sampled(const TraceBuilder::Stack& stack) {
    TraceBuilder builder(100 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    builder.samples(10 * ms, 50 * ms, 0, 10, 10, stack);
    return builder;
}

TEST(Names, source_lines_are_read) {
    const auto recording = sampled({"main@/src/a.c:3", "work", "inlined@b.h:9"}).decode();
    ASSERT_TRUE(recording) << recording.error().message;
    EXPECT_EQ(recording->unreadable, 0U);
    EXPECT_THAT(stack_of(*recording), ElementsAre("main@/src/a.c:3", "work", "inlined@b.h:9"));
    EXPECT_EQ(recording->name(recording->frames[0].build_id), "abcd");
}

TEST(Names, later_symbols_name_places_and_add_inlined_functions) {
    TraceBuilder builder = sampled({"main", "?:/lib/libz.so.1", "leaf"});
    builder.off_cpu(60 * ms, 10, 10, {"main", "?:/lib/libz.so.1", "k:ep_poll"});
    builder.later_symbols("?:/lib/libz.so.1",
                          {"copy@/src/copy.h:7", "@/src/z.c:80", "inflate@/src/z.c:120"});
    builder.later_symbols("leaf", {"leaf@/src/leaf.c:5"});
    const auto recording = builder.decode();
    ASSERT_TRUE(recording) << recording.error().message;
    EXPECT_EQ(recording->unreadable, 0U);
    EXPECT_THAT(stack_of(*recording),
                ElementsAre("main", "inflate@/src/z.c:120", "[libz.so.1]@/src/z.c:80",
                            "copy@/src/copy.h:7", "leaf@/src/leaf.c:5"));
}

TEST(Names, later_symbols_do_not_replace_what_is_known_better) {
    TraceBuilder builder = sampled({"main@/src/a.c:3", "work"});
    builder.later_symbols("main@/src/a.c:3", {"other", "main"});
    builder.later_symbols("work", {"@/src/a.c:9"});
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    EXPECT_THAT(stack_of(*recording), ElementsAre("main@/src/a.c:3", "work@/src/a.c:9"));
}

TEST(Names, the_last_symbols_of_a_place_count) {
    TraceBuilder builder = sampled({"?:/lib/libz.so.1"});
    builder.later_symbols("?:/lib/libz.so.1", {"inflate"});
    builder.later_symbols("?:/lib/libz.so.1", {"inflate@/src/z.c:120"});
    EXPECT_THAT(stack_of(builder.decode().value()), ElementsAre("inflate@/src/z.c:120"));
}

TEST(Names, symbols_of_another_build_are_not_used) {
    TraceBuilder builder = sampled({"?:/lib/libz.so.1"});
    std::string bytes = builder.trace();
    trace::append_module_symbols(bytes,
                                 {"/lib/libz.so.1", "abce", {{0x1001, {{"inflate", "", 0}}}}}, 0);
    const auto other = decode_recording(bytes, builder.system);
    ASSERT_TRUE(other);
    EXPECT_THAT(stack_of(*other), ElementsAre("[libz.so.1]"));
    trace::append_module_symbols(bytes,
                                 {"/lib/libz.so.1", "abcd", {{0x1001, {{"inflate", "", 0}}}}}, 0);
    EXPECT_THAT(stack_of(decode_recording(bytes, builder.system).value()), ElementsAre("inflate"));
}

TEST(Names, a_place_with_too_many_functions_is_bounded) {
    TraceBuilder builder = sampled({"?:/lib/libz.so.1"});
    builder.later_symbols("?:/lib/libz.so.1", std::vector<std::string>(10'000, "again"));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    EXPECT_LE(stack_of(*recording).size(), 64U);
    EXPECT_GT(recording->unreadable, 0U);
}

TEST(TracePlaces, lists_what_lacks_names_or_lines) {
    TraceBuilder builder =
        sampled({"main@/src/a.c:3", "work", "?:/lib/libz.so.1", "?:[jit]", "k:do_syscall_64"});
    builder.sample(60 * ms, 0, 10, 10, {"main@/src/a.c:3", "?:/lib/libz.so.1"});
    const auto places = read_places(builder.trace());
    ASSERT_TRUE(places) << places.error().message;
    EXPECT_EQ(places->counts.frames, 40U * 5 + 2);
    EXPECT_EQ(places->counts.named, 40U * 3 + 1);
    EXPECT_EQ(places->counts.located, 40U + 1);
    EXPECT_EQ(places->last_ns, TraceBuilder::begin_ns + 60 * ms);
    ASSERT_EQ(places->modules.size(), 2U);
    EXPECT_EQ(places->modules[0].path, "/lib/libz.so.1");  // the most used one
    EXPECT_EQ(places->modules[0].build_id, "abcd");
    ASSERT_EQ(places->modules[0].places.size(), 1U);
    EXPECT_EQ(places->modules[0].places[0].name, "");
    EXPECT_EQ(places->modules[1].path, "/usr/bin/app");
    ASSERT_EQ(places->modules[1].places.size(), 1U);
    EXPECT_EQ(places->modules[1].places[0].name, "work");

    builder.later_symbols("?:/lib/libz.so.1", {"inflate"});  // a name without a line
    builder.later_symbols("work", {"work@/src/a.c:9"});
    const auto after = read_places(builder.trace());
    ASSERT_TRUE(after);
    EXPECT_EQ(after->counts.named, 40U * 4 + 2);
    EXPECT_EQ(after->counts.located, 40U * 2 + 1);
    ASSERT_EQ(after->modules.size(), 1U);
    EXPECT_EQ(after->modules[0].places[0].name, "inflate");
}

TEST(TracePlaces, damaged_traces_are_refused) {
    EXPECT_EQ(read_places("\x0a\x7fnot a trace").error().kind, ErrorKind::Invalid);
}

TEST(DelayReport, functions_have_the_line_where_most_of_their_time_went) {
    TraceBuilder builder = sampled({"main@/src/a.c:3", "work@/src/a.c:30"});
    builder.samples(50 * ms, 60 * ms, 0, 10, 10, {"main@/src/a.c:4"});
    const auto delay = TraceBuilder::delay(1, "query", 10 * static_cast<std::int64_t>(ms), 50 * ms,
                                           5 * ms, 10, 10);
    builder.run(delay);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto report = report_delay(*recording, delay);
    ASSERT_EQ(report.functions.size(), 2U);
    for (const FunctionTime& function : report.functions) {
        EXPECT_EQ(function.source, "/src/a.c");
        EXPECT_EQ(function.line, function.name == "main" ? 3U : 30U);
    }
}

TEST(QualityReport, tells_what_stopped_the_stacks) {
    TraceBuilder builder(100 * ms, 2);
    builder.system.stacks.on_cpu = {80, 60, 6};
    builder.system.stacks.off_cpu = {0, 0, 0};
    builder.system.stacks.user_stacks = 80;
    builder.system.stacks.user_stacks_complete = 60;
    builder.system.stacks.stops = {{"/lib/libx\x1b.so", "gap", 16, 0}};
    builder.system.stacks.other_stops = {"", "", 4, 0};
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto quality = report_quality(*recording);
    EXPECT_DOUBLE_EQ(quality.on_cpu_complete.value(), 0.75);
    EXPECT_FALSE(quality.off_cpu_complete.has_value());
    EXPECT_DOUBLE_EQ(quality.by_frame_pointers, 0.1);
    ASSERT_EQ(quality.stops.size(), 1U);
    EXPECT_EQ(quality.stops[0].module, "/lib/libx\\x1b.so");
    EXPECT_DOUBLE_EQ(quality.stops[0].share, 0.2);
    EXPECT_DOUBLE_EQ(quality.other_stops, 0.05);
    EXPECT_EQ(stop_reason_in_words("gap"), "no unwind information");
    EXPECT_EQ(stop_reason_in_words("of a later version"), "of a later version");
}

}  // namespace
}  // namespace lagtrap::analysis::names_tests
