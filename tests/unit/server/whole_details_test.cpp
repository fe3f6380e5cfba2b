// All that the server keeps of a recording for its pages, compared with files of tests/data/server.
#include "analysis/delay_timeline.hpp"
#include "server/ingest/delay_details.hpp"
#include "server/ingest/machine_json.hpp"
#include "server/ingest/parse_bundle.hpp"
#include "server/ingest/timeline_json.hpp"
#include "tests/unit/analysis/trace_builder.hpp"
#include "tests/unit/expected_file.hpp"
#include "tests/unit/server/readable_json.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::server::whole_details_test {
namespace {

namespace json = boost::json;
using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;

// Thread 10 computes, waits for a lock that thread 11 has, and waits for a CPU that a program has
// that was started meanwhile.
TraceBuilder build() {
    TraceBuilder builder(200 * ms, 2);
    builder.process(10, "/usr/bin/app --serve")
        .thread(10, 10, "app")
        .thread(10, 11, "worker")
        .process(20, "/usr/bin/hog --all", 1, TraceBuilder::begin_ns + 30 * ms)
        .thread(20, 20, "hog");
    builder.unit(20, "hog.service");
    builder.switched(10 * ms, 0, 0, 0, 10)
        .samples(10 * ms, 40 * ms, 0, 10, 10, {"_start", "main@app.c:7", "k:getpid"});
    builder.off_cpu(40 * ms, 10, 10,
                    {"_start", "main@app.c:9", "___pthread_mutex_lock", "k:futex_wait"}, 7);
    builder.switched(40 * ms, 0, 10, 1, 20).switched(40 * ms, 1, 0, 0, 11);
    builder.samples(40 * ms, 60 * ms, 1, 10, 11, {"clone3", "hold@app.c:20"});
    builder.waking(60 * ms, 1, 11, 10).switched(60 * ms, 1, 11, 1, 0);
    builder.switched(80 * ms, 0, 20, 1, 10);
    builder.samples(80 * ms, 110 * ms, 0, 10, 10, {"_start", "main@app.c:11"});
    builder.switched(110 * ms, 0, 10, 1, 0);
    trace::Delay first = TraceBuilder::delay(1, "work", 12 * ms, 90 * ms, 50 * ms, 10, 10);
    first.stages = {{"read", 1 * ms, 10}, {"", 30 * ms, 10}, {"answer", 120 * ms, 10}};
    first.program = "/usr/bin/app";
    first.program_version = "1.2-3";
    builder.run(first);
    builder.run(TraceBuilder::delay(2, "early", -20 * static_cast<std::int64_t>(ms), 60 * ms,
                                    20 * ms, 10, 11));
    trace::SystemFile& system = builder.system;
    system.os_name = "Debian";
    system.kernel_release = "6.1";
    system.architecture = "x86_64";
    system.cpu_count = 2;
    system.cpu_model = "a model";
    system.memory_bytes = 5ULL << 30;
    system.partial = true;
    system.delays_left_out = 9;
    system.quality.samples_taken = 1;
    system.quality.samples_lost = 2;
    system.quality.switches_lost = 3;
    system.quality.wakings_lost = 4;
    system.quality.stacks_lost = 5;
    system.quality.runs_lost = 6;
    system.quality.task_changes_lost = 7;
    system.quality.truncated_by_size = true;
    system.quality.omitted = {"usleep was hot"};
    system.stacks.user_stacks = 10;
    system.stacks.user_stacks_complete = 4;
    system.stacks.frames = 20;
    system.stacks.frames_named = 15;
    system.breach_boottime_ns = TraceBuilder::begin_ns + 62 * ms;
    trace::FunctionCounts& counts = system.functions.emplace();
    counts.pid = 10;
    counts.process = "app";
    counts.from_ns = TraceBuilder::begin_ns;
    counts.length_ns = 100 * ms;
    counts.watched = 11;
    counts.detached = 12;
    counts.min_ns = 13;
    counts.reported = 14;
    counts.not_reported = 15;
    counts.too_deep = 16;
    counts.others = 17;
    counts.others_calls = 18;
    counts.others_own_ns = 19;
    counts.functions.push_back({"fill", "/bin/app", "/src/f.c", 12, 5, 4, 100, 50, {"main"}});
    counts.functions.push_back({"bare", "", "", 0, 1, 0, 10, 10, {}});
    return builder;
}

void expect_file(const std::string& name, const json::value& found) {
    expect_text_of_file(test_data_folder() + "/server/" + name, readable(found) + "\n");
}

TEST(WholeDetails, OfADelayAreAsExpected) {
    const auto recording = build().decode();
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    json::array all;
    for (const trace::Delay& delay : recording->system.delays) {
        all.push_back(json::parse(delay_details(recording->system, &*recording, delay, "").json));
        all.push_back(
            json::parse(delay_details(recording->system, nullptr, delay, "it is torn").json));
    }
    all.push_back(json::parse(quality_json(recording->system, "")));
    all.push_back(json::parse(quality_json({}, "")));
    expect_file("delay_details.json", all);
}

TEST(WholeDetails, OfATimelineAreAsExpected) {
    const auto recording = build().decode();
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    json::array all;
    for (const trace::Delay& delay : recording->system.delays)
        all.push_back(
            json::parse(timeline_json(*recording, analysis::timeline_of_delay(*recording, delay))));
    expect_file("timeline.json", all);
}

TEST(WholeDetails, OfTheMachineAreAsExpected) {
    const auto recording = build().decode();
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    const auto machine = [&](std::int64_t from_ms, std::int64_t to_ms, std::uint32_t columns) {
        constexpr auto signed_ms = static_cast<std::int64_t>(ms);
        return json::parse(machine_json(*recording, recording->system.delays.back(),
                                        {from_ms * signed_ms, to_ms * signed_ms, columns}));
    };
    expect_file("machine.json", json::array{machine(-20, 130, 100), machine(20, 60, 3)});
}

}  // namespace
}  // namespace lagtrap::server::whole_details_test
