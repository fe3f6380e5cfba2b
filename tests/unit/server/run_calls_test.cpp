#include "server/ingest/run_calls.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace lagtrap::server::run_calls_test {
namespace {

// A call of 1,000 ms with `inner` calls, the first of which is the longest.
analysis::Recording recording_of(std::uint32_t inner) {
    analysis::Recording recording;
    calls::Function outer, callee;
    outer.name = "outer";
    callee.name = "inner";
    callee.module = "/usr/lib/inner.so";
    recording.called_functions = {outer, callee};
    analysis::RunCalls& run = recording.run_calls.emplace_back();
    run.pid = 7;
    run.begin_ns = 1000;
    run.tree.tid = 8;
    calls::Call root;
    root.end_ns = 1'000'000'000;
    run.tree.calls.push_back(root);
    run.times.push_back({1'000'000'000, 1'000'000'000, 0, 0, 500'000'000});
    for (std::uint32_t number = 0; number < inner; ++number) {
        calls::Call call;
        call.function = 1;
        call.parent = 0;
        call.begin_ns = 1000 * number;
        call.end_ns = call.begin_ns + 900;
        run.tree.calls.push_back(call);
        run.times.push_back({900 - number, 900 - number, 0, 0, 900 - number});
    }
    return recording;
}

trace::Delay delay_at(std::uint64_t begin_ns, std::uint32_t tid) {
    trace::Delay delay;
    delay.begin_ns = begin_ns;
    delay.duration_ns = 1'000'000'000;
    delay.begin_pid = 7;
    delay.begin_tid = tid;
    return delay;
}

TEST(RunCallsTest, TheLongestAreToldWithTheirDepth) {
    const auto reported = run_calls_json(recording_of(500), delay_at(1500, 8)).as_object();
    EXPECT_EQ(reported.at("count").to_number<std::size_t>(), 501U);
    const auto& rows = reported.at("longest").as_array();
    ASSERT_EQ(rows.size(), run_calls_limit);
    EXPECT_EQ(rows[0].at("name"), "outer");
    EXPECT_EQ(rows[0].at("depth").to_number<int>(), 0);
    EXPECT_EQ(rows[1].at("module"), "/usr/lib/inner.so");
    EXPECT_EQ(rows[1].at("depth").to_number<int>(), 1);
    EXPECT_EQ(rows.back().at("wall_ns").to_number<std::uint64_t>(), 900 - (run_calls_limit - 2));
}

TEST(RunCallsTest, OtherThreadsAndOtherTimesHaveNone) {
    EXPECT_TRUE(run_calls_json(recording_of(1), delay_at(1500, 9)).is_null());
    EXPECT_TRUE(run_calls_json(recording_of(1), delay_at(600'000'000, 8)).is_null());
}

}  // namespace
}  // namespace lagtrap::server::run_calls_test
