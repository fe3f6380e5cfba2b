// Details of bundles with many delays, and of programs with long names.
#include <fcntl.h>

#include <set>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "analysis/delay_cause.hpp"
#include "analysis/delay_timeline.hpp"
#include "core/files.hpp"
#include "server/ingest/delay_details.hpp"
#include "server/ingest/delay_surroundings.hpp"
#include "server/ingest/machine_json.hpp"
#include "server/ingest/parse_bundle.hpp"
#include "server/ingest/parsed_bundle.hpp"
#include "server/ingest/timeline_json.hpp"
#include "tests/unit/analysis/trace_builder.hpp"
#include "tests/unit/server/store_fixture.hpp"
#include "trace/bundle/bundle.hpp"

namespace lagtrap::server::bundle_details_test {
namespace {

namespace json = boost::json;
using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;

TraceBuilder one_delay(std::uint64_t length_ms) {
    TraceBuilder builder((length_ms + 200) * ms);
    builder.process(100, "/usr/bin/app").thread(100, 100, "app");
    trace::Delay delay =
        TraceBuilder::delay(1, "query", 50 * ms, length_ms * ms, 20 * ms, 100, 100);
    builder.run(delay, true);
    return builder;
}

TEST(TimelineJson, names_are_sent_once) {
    TraceBuilder builder = one_delay(400);
    const std::string name(3000, 'T');
    // 400 stacks of 30 functions with names of 3,000 bytes: 36 MB if each were written in full.
    for (std::uint64_t at = 50; at < 450; ++at) {
        TraceBuilder::Stack stack;
        for (int depth = 0; depth < 30; ++depth) stack.push_back(name + std::to_string(depth));
        stack.push_back("leaf_" + std::to_string(at));
        builder.sample(at * ms, 0, 100, 100, stack);
    }
    const auto recording = builder.decode();
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    const std::string text = timeline_json(
        *recording, analysis::timeline_of_delay(*recording, recording->system.delays[0]));
    EXPECT_LT(text.size(), 1U << 20);
    const json::object timeline = json::parse(text).as_object();
    const json::array& names = timeline.at("names").as_array();
    const json::array& frames = timeline.at("frames").as_array();
    const json::array& stacks = timeline.at("stacks").as_array();
    EXPECT_GE(stacks.size(), 390U);
    std::set<std::string> distinct;
    for (const json::value& one : names)
        EXPECT_TRUE(distinct.insert(json::value_to<std::string>(one)).second);
    const json::array& stack = stacks.at(5).as_array();
    ASSERT_EQ(stack.size(), 31U);
    const auto function = [&](std::size_t place) {
        const auto& frame = frames.at(stack.at(place).to_number<std::size_t>()).as_object();
        return json::value_to<std::string>(names.at(frame.at("function").to_number<std::size_t>()));
    };
    EXPECT_TRUE(function(0).starts_with("leaf_"));
    EXPECT_EQ(function(30), name + "0");
}

// With stacks of any depth and names of any length, the answer is bounded and says what it omits.
TEST(MachineJson, is_bounded_whatever_the_recording_holds) {
    TraceBuilder builder = one_delay(400);
    builder.switched(1 * ms, 0, 0, 0, 100);
    for (std::uint64_t at = 0; at < 5000; ++at) {
        TraceBuilder::Stack stack;
        for (std::uint64_t depth = 0; depth < 120; ++depth)
            stack.push_back("frame_" + std::to_string((at + depth) % 500));
        stack.push_back(std::string(900, 'T') + std::to_string(at));
        builder.sample(50 * ms + at * 80'000, 0, 100, 100, stack);
    }
    const auto recording = builder.decode();
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    const std::string text = machine_json(*recording, recording->system.delays[0],
                                          {0, static_cast<std::int64_t>(400 * ms), 4000});
    EXPECT_LT(text.size(), 20U << 20);
    const json::object machine = json::parse(text).as_object();
    EXPECT_GT(machine.at("left_out").as_object().at("samples").to_number<int>() +
                  machine.at("left_out").as_object().at("stacks").to_number<int>(),
              0);
    std::size_t names_bytes = 0;
    for (const json::value& one : machine.at("names").as_array())
        names_bytes += one.as_string().size();
    EXPECT_LE(names_bytes, 4U << 20);
    for (const json::value& stack : machine.at("stacks").as_array())
        EXPECT_LE(stack.as_array().size(), 128U);
    EXPECT_EQ(machine.at("threads").as_array().at(0).as_object().at("of_delay"), true);
    EXPECT_EQ(machine.at("recorded_from_ns").to_number<std::int64_t>(),
              -static_cast<std::int64_t>(50 * ms));
}

TEST(Surroundings, say_who_had_the_cpus_and_what_was_started) {
    TraceBuilder builder(1000 * ms, 1);
    builder.process(100, "/usr/bin/app --serve").thread(100, 100, "app");
    builder.process(200, "/usr/bin/hog --all", 1, TraceBuilder::begin_ns + 90 * ms)
        .thread(200, 200, "hog");
    builder.unit(200, "hog.service");
    // The hog takes the CPU for 150 ms, then the CPU is idle for 40 ms.
    builder.switched(50 * ms, 0, 0, 0, 100)
        .switched(200 * ms, 0, 100, 0, 200)
        .switched(350 * ms, 0, 200, 1, 100);
    builder.switched(450 * ms, 0, 100, 1, 0)
        .waking(490 * ms, 0, 0, 100, true)
        .switched(490 * ms, 0, 0, 0, 100);
    builder.switched(900 * ms, 0, 100, 1, 0);
    trace::Delay delay = TraceBuilder::delay(1, "query", 100 * ms, 400 * ms, 20 * ms, 100, 100);
    delay.program = "/usr/bin/app";
    delay.program_version = "1.2-3";
    builder.run(delay, true);
    builder.system.kernel_release = "6.1.0-test";
    const auto recording = builder.decode();
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    const trace::Delay& found = recording->system.delays.at(0);
    const json::object around = surroundings_json(recording->system, &*recording, found);
    EXPECT_EQ(around.at("command_line"), "/usr/bin/app --serve");
    EXPECT_EQ(around.at("program_version"), "1.2-3");
    EXPECT_EQ(around.at("machine").at("kernel"), "6.1.0-test");
    const json::object& use = around.at("cpu_use").as_object();
    EXPECT_EQ(use.at("known_ns").to_number<std::uint64_t>(), 400 * ms);
    EXPECT_EQ(use.at("idle_ns").to_number<std::uint64_t>(), 40 * ms);
    const json::array& processes = use.at("processes").as_array();
    ASSERT_EQ(processes.size(), 2U);
    EXPECT_EQ(processes[0].at("pid").to_number<int>(), 100);
    EXPECT_EQ(processes[0].at("on_cpu_ns").to_number<std::uint64_t>(), 210 * ms);
    EXPECT_EQ(processes[1].at("unit"), "hog.service");
    EXPECT_EQ(processes[1].at("on_cpu_ns").to_number<std::uint64_t>(), 150 * ms);
    const json::array& holders = around.at("cpu_holders").as_array();
    ASSERT_EQ(holders.size(), 1U);
    EXPECT_EQ(holders[0].at("pid").to_number<int>(), 200);
    EXPECT_EQ(holders[0].at("time_ns").to_number<std::uint64_t>(), 150 * ms);
    const json::object alone = surroundings_json(recording->system, nullptr, found);
    EXPECT_TRUE(alone.at("cpu_use").is_null());
    EXPECT_EQ(alone.at("program"), "/usr/bin/app");
}

using ManyDelays = StoreFixture;

TEST_F(ManyDelays, are_all_told_the_longest_in_detail) {
    TraceBuilder builder = one_delay(400);
    for (std::uint64_t i = 0; i < 2500; ++i) {
        trace::Delay delay =
            TraceBuilder::delay(i + 2, "query", 60 * ms, (21 + i / 10) * ms, 20 * ms, 100, 100);
        builder.system.delays.push_back(delay);
    }
    builder.process(200, "/usr/bin/other");
    builder.system.delays[1].user = "shop";
    builder.system.delays[2].begin_pid = 300;
    builder.system.session_id = "0b5f4f0a-4f5c-4a57-9d53-111111111111";
    const std::filesystem::path folder = directory_ / "capture";
    std::filesystem::create_directories(folder);
    ASSERT_TRUE(write_file_durably(folder / "trace.pftrace", builder.trace()).ok());
    ASSERT_TRUE(
        write_file_durably(folder / "system.xml", trace::write_system_file(builder.system)).ok());
    ASSERT_TRUE(write_file_durably(folder / "settings.xml", "<lagtrap/>").ok());
    const auto bundle = trace::write_bundle(folder, builder.system.session_id, directory_);
    ASSERT_TRUE(bundle.ok()) << bundle.error().message;
    const auto file = open_file(bundle->path, O_RDONLY);
    ASSERT_TRUE(file.ok());
    const auto described = describe_bundle(file->get());
    ASSERT_TRUE(described.ok()) << described.error().message;
    const auto parsed = read_parsed_bundle(*described);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->facts.delays, 2501U);
    std::uint32_t delays = 0;
    std::uint32_t detailed = 0;
    std::uint64_t longest_without_ns = 0, shortest_with_ns = UINT64_MAX;
    for (const BundleDelay& delay : parsed->delays) {
        if (!delay.delayed) continue;
        EXPECT_EQ(delay.number, ++delays);
        // The user's name is known from one delay and applies to all of the same user; a process
        // without facts has none.
        EXPECT_EQ(delay.user, delay.number == 3 ? "" : "shop") << delay.number;
        if (delay.profile.empty())
            longest_without_ns = std::max(longest_without_ns, delay.duration_ns);
        if (delay.profile.empty()) continue;
        ++detailed;
        EXPECT_FALSE(delay.details.empty());
        shortest_with_ns = std::min(shortest_with_ns, delay.duration_ns);
    }
    EXPECT_EQ(delays, 2501U);
    EXPECT_EQ(detailed, 1000U);
    EXPECT_LE(longest_without_ns, shortest_with_ns);
}

TEST(DelayDetails, stages_that_were_not_watched_are_not_missing) {
    TraceBuilder builder = one_delay(100);
    builder.thread(100, 101, "worker");
    const auto without_stages = [&] {
        const auto recording = builder.decode();
        return json::parse(
                   delay_details(recording->system, nullptr, recording->system.delays[0], "").json)
            .at("without_stages");
    };
    EXPECT_EQ(without_stages(), json::value(false));
    builder.system.delays[0].without_stages = true;
    EXPECT_EQ(without_stages(), json::value(true));
}

// Between markers of two threads it is unknown which of them had the run.
TEST(DelayDetails, a_run_that_another_thread_ended_was_handed_over) {
    TraceBuilder builder = one_delay(100);
    builder.thread(100, 101, "worker");
    builder.system.delays[0].end_tid = 101;
    const auto recording = builder.decode();
    ASSERT_TRUE(recording.ok());
    const json::object details =
        json::parse(
            delay_details(recording->system, &*recording, recording->system.delays[0], "").json)
            .as_object();
    EXPECT_EQ(details.at("handed_over_ns").to_number<std::uint64_t>(), 100 * ms);
    EXPECT_EQ(details.at("unknown_ns").to_number<std::uint64_t>(), 0U);
}

TEST(DelayDetails, the_cause_is_said_as_in_reports) {
    TraceBuilder builder = one_delay(100);
    builder.thread(100, 101, "worker");
    const auto recording = builder.decode();
    ASSERT_TRUE(recording.ok());
    const trace::Delay& delay = recording->system.delays[0];
    const json::value details =
        json::parse(delay_details(recording->system, &*recording, delay, "").json);
    EXPECT_EQ(json::value_to<std::vector<std::string>>(details.at("cause").at("sentences")),
              cause_sentences(causes_of_delay(*recording, delay)));
    EXPECT_TRUE(details.at("cause").at("chain").as_array().empty());
    EXPECT_TRUE(json::parse(delay_details(recording->system, nullptr, delay, "").json)
                    .at("cause")
                    .is_null());
}

TEST(DelayDetails, the_request_is_what_its_thread_published) {
    TraceBuilder builder = one_delay(100);
    const auto request = [&] {
        const auto recording = builder.decode();
        if (!recording) return json::value("unreadable");
        return json::parse(
                   delay_details(recording->system, &*recording, recording->system.delays[0], "")
                       .json)
            .at("request");
    };
    EXPECT_EQ(request(), nullptr);
    builder.context(0, builder.system.delays[0].begin_tid, "4bf92f3577b34da6a3ce929d0e0e4736",
                    "00f067aa0ba902b7", {{"http.route", "/checkout"}, {"tenant", "A"}});
    EXPECT_EQ(request(), json::value("/checkout (tenant=A)"));
}

// 11 waits for 12, which waits for 13, which computes.
TEST(DelayDetails, a_chain_of_waits_names_its_threads_in_order) {
    TraceBuilder builder(400 * ms, 3);
    builder.process(10, "/usr/bin/app")
        .thread(10, 10, "app")
        .thread(10, 11, "first")
        .thread(10, 12, "second");
    builder.thread(10, 13, "third");
    for (std::uint32_t i = 0; i < 3; ++i) builder.switched(1 * ms, i, 0, 0, 11 + i);
    builder.samples(2 * ms, 300 * ms, 2, 10, 13, {"clone3", "start_thread", "third_holds"});
    const auto wait = [&](std::uint32_t cpu, std::uint32_t tid, std::uint64_t from,
                          std::uint64_t until, const std::string& function, std::uint32_t waker) {
        builder.switched(from, cpu, tid, 1, 0);
        builder.off_cpu(
            from, 10, tid,
            {"clone3", function, "___pthread_mutex_lock", "k:futex_wait", "k:schedule"});
        builder.waking(until, cpu, waker, tid).switched(until, cpu, 0, 0, tid);
    };
    wait(1, 12, 5 * ms, 200 * ms, "second_wants", 13);
    wait(0, 11, 50 * ms, 210 * ms, "first_wants", 12);
    builder.run(TraceBuilder::delay(1, "work", static_cast<std::int64_t>(10 * ms), 240 * ms,
                                    10 * ms, 10, 11));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    const json::value details = json::parse(
        delay_details(recording->system, &*recording, recording->system.delays[0], "").json);
    const json::array& chain = details.at("cause").at("chain").as_array();
    ASSERT_EQ(chain.size(), 3U);
    const auto is = [&](std::size_t link, const char* key, const json::value& value) {
        EXPECT_EQ(chain[link].at(key), value) << link << ' ' << key;
    };
    const char* const threads[] = {"first", "second", "third"};
    const char* const functions[] = {"first_wants", "second_wants", "third_holds"};
    const char* const states[] = {"blocked", "blocked", "on CPU"};
    for (std::size_t link = 0; link < 3; ++link) {
        is(link, "thread", threads[link]);
        is(link, "tid", 11 + link);
        is(link, "function", functions[link]);
        is(link, "state", states[link]);
        is(link, "likely", false);
    }
    is(0, "whole_ns", 240 * ms);
    is(0, "time_ns", 160 * ms);
    is(1, "whole_ns", 160 * ms);
    is(1, "time_ns", 150 * ms);
    is(2, "whole_ns", 150 * ms);
    // One letter for each millisecond: 40 ms on the CPU, 160 ms blocked, 40 ms on the CPU.
    is(0, "strip",
       json::string(std::string(40, 'c') + std::string(160, 'b') + std::string(40, 'c')));
    is(1, "strip", json::string(std::string(190, 'b') + std::string(50, 'c')));
    is(2, "strip", json::string(std::string(240, 'c')));
}

}  // namespace
}  // namespace lagtrap::server::bundle_details_test
