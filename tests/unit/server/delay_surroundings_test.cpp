#include "server/ingest/delay_surroundings.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::server::delay_surroundings_test {
namespace {

namespace json = boost::json;
using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;

// A delay from 100 to 500 ms. Fifteen programs have the CPU for 1, 2, ... 15 ms of it; the longest
// began before the delay.
TEST(DelaySurroundings, TwelveProcessesAreShownAndTheRestAddedUp) {
    TraceBuilder builder(1000 * ms, 1);
    builder.process(100, "/usr/bin/app").thread(100, 100, "app");
    std::uint64_t at = 100;
    builder.switched(50 * ms, 0, 0, 0, 215);
    for (std::uint32_t i = 15; i > 0; --i) {
        const std::string name = "p" + std::to_string(i);
        builder.process(200 + i, "/usr/bin/" + name).thread(200 + i, 200 + i, name);
        at += i;
        builder.switched(at * ms, 0, 200 + i, 1, i > 1 ? 199 + i : 0);
    }
    builder.switched(450 * ms, 0, 0, 0, 100).switched(900 * ms, 0, 100, 1, 0);
    builder.run(TraceBuilder::delay(1, "query", 100 * ms, 400 * ms, 20 * ms, 100, 100));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    const json::object around =
        surroundings_json(recording->system, &*recording, recording->system.delays.at(0));
    const json::object& use = around.at("cpu_use").as_object();
    EXPECT_EQ(use.at("known_ns").to_number<std::uint64_t>(), 400 * ms);
    EXPECT_EQ(use.at("idle_ns").to_number<std::uint64_t>(), (450 - at) * ms);
    const json::array& processes = use.at("processes").as_array();
    ASSERT_EQ(processes.size(), 12U);
    EXPECT_EQ(processes[0].at("process"), "app");
    EXPECT_EQ(processes[0].at("on_cpu_ns").to_number<std::uint64_t>(), 50 * ms)
        << "what was after the delay does not count";
    for (std::size_t i = 1; i < 12; ++i) {
        EXPECT_EQ(processes[i].at("process"), json::string("p" + std::to_string(16 - i)));
        EXPECT_EQ(processes[i].at("on_cpu_ns").to_number<std::uint64_t>(), (16 - i) * ms);
    }
    EXPECT_EQ(use.at("other_processes").to_number<int>(), 4);
    EXPECT_EQ(use.at("others_ns").to_number<std::uint64_t>(), (1 + 2 + 3 + 4) * ms);
}

// Of the users and command lines of programs only what is recorded is known.
TEST(DelaySurroundings, WithoutFactsAboutItsProcessThereAreNone) {
    TraceBuilder builder(1000 * ms, 1);
    builder.thread(100, 100, "app");
    builder.run(TraceBuilder::delay(1, "query", 100 * ms, 400 * ms, 20 * ms, 100, 100));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    const json::object around =
        surroundings_json(recording->system, &*recording, recording->system.delays.at(0));
    EXPECT_TRUE(around.at("uid").is_null());
    EXPECT_EQ(around.at("command_line"), "");
    EXPECT_TRUE(around.at("cpu_holders").as_array().empty());
    EXPECT_TRUE(around.at("started").as_array().empty());
    EXPECT_FALSE(around.at("cpu_use").is_null());
}

// Everything that began during the delay, but not other delays.
TEST(DelaySurroundings, ProgramsThatStartedMeanwhileAreNamed) {
    TraceBuilder builder(1000 * ms, 1);
    builder.process(100, "/usr/bin/app").thread(100, 100, "app");
    builder.process(200, "/usr/bin/before", 1, TraceBuilder::begin_ns - 901 * ms);
    builder.process(201, "/usr/bin/during --now", 1, TraceBuilder::begin_ns + 120 * ms);
    builder.process(202, "/usr/bin/after", 1, TraceBuilder::begin_ns + 600 * ms);
    builder.run(TraceBuilder::delay(1, "query", 100 * ms, 400 * ms, 20 * ms, 100, 100));
    builder.run(TraceBuilder::delay(2, "other", 150 * ms, 100 * ms, 20 * ms, 100, 100));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    const json::object around =
        surroundings_json(recording->system, &*recording, recording->system.delays.at(0));
    const json::array& started = around.at("started").as_array();
    ASSERT_EQ(started.size(), 1U);
    EXPECT_EQ(started[0].at("offset_ns").to_number<std::uint64_t>(), 20 * ms);
    EXPECT_EQ(started[0].at("pid").to_number<int>(), 201);
    EXPECT_EQ(started[0].at("command_line"), "/usr/bin/during --now");
}

}  // namespace
}  // namespace lagtrap::server::delay_surroundings_test
