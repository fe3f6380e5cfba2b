#include "server/api/run_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/before_recording.hpp"
#include "server/api/counters.hpp"
#include "server/api/summary_json.hpp"

namespace lagtrap::server::run_json_test {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

TEST(RunJson, StartsHaveNames) {
    EXPECT_STREQ(start_name(trace::StartKind::Cold), "cold");
    EXPECT_STREQ(start_name(trace::StartKind::Warm), "warm");
    EXPECT_STREQ(start_name(trace::StartKind::Unknown), "unknown");
}

TEST(RunJson, ARunHasEachOfItsFigures) {
    StoredRun run;
    run.id = 1;
    run.event = "open";
    run.begin_realtime_ns = 2;
    run.duration_ns = 1000;
    run.threshold_ns = 4;
    run.host = "host";
    run.user = "user";
    run.build = "build";
    run.process = "process";
    run.unit = "unit";
    run.executable = "executable";
    run.thread = "thread";
    run.pid = 5;
    run.begin_tid = 6;
    run.end_tid = 7;
    run.weight = 8;
    run.start = trace::StartKind::Warm;
    run.delay = true;
    const json::object plain = run_json(run);
    EXPECT_EQ(json::serialize(plain),
              R"({"id":"1","event":"open","begin_ns":"2","duration_ns":1000,"threshold_ns":4,)"
              R"("host":"host","user":"user","build":"build","process":"process","unit":"unit",)"
              R"("executable":"executable","pid":5,"tid":6,"thread":"thread","start":"warm",)"
              R"("delay":true,"weight":8,"bundle":null,"bundle_delay":null,"dirty":null,)"
              R"("outlier":null,"stages":[],"without_stages":false,"times":null})");
    run.bundle_delay = 3;
    EXPECT_TRUE(run_json(run).at("bundle_delay").is_null());
    run.bundle = "abc";
    EXPECT_EQ(run_json(run).at("bundle"), "abc");
    EXPECT_EQ(run_json(run).at("bundle_delay"), 3);
    run.bundle_delay = 0;
    EXPECT_TRUE(run_json(run).at("bundle_delay").is_null());
    run.dirty = DirtyMark{1, true, rule_by_hand, "why", "ann", 9};
    run.outlier = DirtyMark{1, false, rule_duration, "far", "server", 10};
    run.without_stages = true;
    EXPECT_EQ(json::serialize(run_json(run).at("dirty")),
              R"({"rule":"by hand","reason":"why","by":"ann","at_ns":"9"})");
    EXPECT_EQ(json::serialize(run_json(run).at("outlier")),
              R"({"rule":"duration","reason":"far","by":null,"at_ns":"10"})");
    EXPECT_EQ(run_json(run).at("without_stages"), true);
}

TEST(RunJson, StagesBeginWithTheTimeBeforeTheFirstMarker) {
    StoredRun run;
    run.stages = {{"one", 10, 20, 1}, {"two", 30, 5, 1}};
    EXPECT_EQ(json::serialize(run_json(run).at("stages")),
              R"([{"name":"begin","at_ns":0,"duration_ns":10},)"
              R"({"name":"one","at_ns":10,"duration_ns":20},)"
              R"({"name":"two","at_ns":30,"duration_ns":5}])");
    run.stages.assign(255, {"one", 10, 20, 1});
    EXPECT_EQ(run_json(run).at("stages").as_array().size(), 256U);
    run.stages.assign(256, {"one", 10, 20, 1});
    EXPECT_EQ(run_json(run).at("stages").as_array().size(), 256U);
}

TEST(RunJson, TimesAddUpToTheRun) {
    StoredRun run;
    run.duration_ns = 1000;
    trace::RunTimes& times = run.times.emplace();
    times.parts.on_cpu_ns = 100;
    times.parts.runnable_ns = 200;
    times.parts.throttled_ns = 50;
    times.parts.blocked_ns[LAGTRAP_WAIT_LOCK] = 300;
    times.parts.blocked_ns[LAGTRAP_WAIT_DISK] = 1;
    times.handed_over_ns = 150;
    json::object found = run_json(run).at("times").as_object();
    EXPECT_EQ(found.at("on_cpu_ns"), 100);
    EXPECT_EQ(found.at("runnable_ns"), 200);
    EXPECT_EQ(found.at("throttled_ns"), 50);
    EXPECT_EQ(found.at("blocked_ns"), 301);
    EXPECT_EQ(found.at("handed_over_ns"), 150);
    EXPECT_EQ(found.at("unknown_ns"), 249);
    const json::array& blocked = found.at("blocked").as_array();
    ASSERT_EQ(blocked.size(), 2U);
    EXPECT_EQ(blocked[0].at("reason").as_string(),
              std::string_view(analysis::reason_of_class(LAGTRAP_WAIT_LOCK)));
    EXPECT_EQ(blocked[0].at("ns"), 300);
    EXPECT_EQ(blocked[1].at("reason").as_string(),
              std::string_view(analysis::reason_of_class(LAGTRAP_WAIT_DISK)));
    times.parts.on_cpu_ns = 5000;
    EXPECT_EQ(run_json(run).at("times").at("unknown_ns"), 0);
}

TEST(RunJson, StacksKeepTheirInnermostFrames) {
    trace::RunStack stack(1025);
    stack[0] = {"libdemo.so", "ab12", UINT64_MAX, "load_data", "load.c", 7};
    const json::array frames = stack_json(stack);
    ASSERT_EQ(frames.size(), 1024U);
    EXPECT_EQ(json::serialize(frames[0]),
              R"({"function":"load_data","module":"libdemo.so","build_id":"ab12",)"
              R"("offset":"18446744073709551615","file":"load.c","line":7})");
    stack.resize(1024);
    EXPECT_EQ(stack_json(stack).size(), 1024U);
}

TEST(SummaryJson, FiguresAndPercentiles) {
    Summary summary;
    for (std::uint64_t i = 1; i <= 100; ++i) summary.durations.add(i * 1'000'000);
    summary.delay_durations.add(100'000'000);
    summary.longest_ns = 100'000'000;
    summary.counts = {90, 7, 0, 100, 25};
    summary.hours = {{3600, 60, 5}, {7200, 40, 20}};
    const json::object found = summary_json(summary, 50'000'000);
    EXPECT_EQ(found.at("runs"), 100);
    EXPECT_EQ(found.at("delays"), 25);
    EXPECT_EQ(found.at("hidden"), 7);
    EXPECT_EQ(found.at("share_over").as_double(), 0.25);
    EXPECT_EQ(found.at("threshold_ns"), 50'000'000);
    EXPECT_TRUE(summary_json(summary, std::nullopt).at("threshold_ns").is_null());
    const json::object& percentiles = found.at("percentiles").as_object();
    ASSERT_EQ(percentiles.size(), 6U);
    for (const auto& [name, value] :
         {std::pair("p50", 50e6), std::pair("p75", 75e6), std::pair("p90", 90e6),
          std::pair("p95", 95e6), std::pair("p99", 99e6)})
        EXPECT_NEAR(percentiles.at(name).to_number<double>(), value, value * 0.025) << name;
    EXPECT_EQ(percentiles.at("max"), 100'000'000);
    EXPECT_EQ(
        json::serialize(found.at("hours")),
        R"([{"hour_ns":"3600","runs":60,"delays":5},{"hour_ns":"7200","runs":40,"delays":20}])");
    summary.counts.delays = 200;
    EXPECT_EQ(summary_json(summary, 1).at("share_over").as_double(), 1.0);
    summary.longest_ns = 10'000'000;
    EXPECT_EQ(summary_json(summary, 1).at("percentiles").at("p50"), 10'000'000);
    const json::object nothing = summary_json({}, std::nullopt);
    EXPECT_EQ(nothing.at("share_over").as_double(), 0.0);
    EXPECT_TRUE(nothing.at("histogram").as_array().empty());
}

TEST(SummaryJson, OnlyTheNewestHoursAreKept) {
    Summary summary;
    for (std::uint64_t i = 0; i < 2000; ++i) summary.hours.push_back({i, 1, 0});
    EXPECT_EQ(summary_json(summary, {}).at("hours").as_array().size(), 2000U);
    summary.hours.push_back({2000, 1, 0});
    const json::object found = summary_json(summary, {});
    const json::array& hours = found.at("hours").as_array();
    ASSERT_EQ(hours.size(), 2000U);
    EXPECT_EQ(hours.front().at("hour_ns"), "1");
    EXPECT_EQ(hours.back().at("hour_ns"), "2000");
}

// The classes adjoin, cover all durations, and have each run once.
TEST(SummaryJson, ClassesOfAHistogramAdjoin) {
    Summary summary;
    for (std::uint64_t ns = 1000; ns <= 10'000'000'000; ns *= 10) summary.durations.add(ns, 3);
    summary.delay_durations.add(10'000'000'000, 2);
    summary.delay_durations.add(1000, 9);
    const json::object found = summary_json(summary, {});
    const json::array& classes = found.at("histogram").as_array();
    const auto bins = summary.durations.bins();
    EXPECT_GE(classes.size(), 31U);
    EXPECT_LE(classes.size(), 61U);
    EXPECT_EQ(classes.front().at("low_ns").to_number<std::uint64_t>(), bins.front().low_ns);
    EXPECT_GE(classes.back().at("high_ns").to_number<std::uint64_t>(), bins.back().high_ns);
    std::uint64_t runs = 0, delays = 0, empty = 0;
    for (std::size_t i = 0; i < classes.size(); ++i) {
        const auto low_ns = classes[i].at("low_ns").to_number<std::uint64_t>(),
                   high_ns = classes[i].at("high_ns").to_number<std::uint64_t>();
        if (i > 0) {
            EXPECT_EQ(low_ns, classes[i - 1].at("high_ns").to_number<std::uint64_t>());
        }
        EXPECT_LT(low_ns, high_ns);
        const auto count = classes[i].at("runs").to_number<std::uint64_t>();
        if (count > 0) {
            bool holds_one = false;
            for (std::uint64_t ns = 1000; ns <= 10'000'000'000; ns *= 10)
                holds_one |= low_ns <= ns + ns / 50 && ns <= high_ns + high_ns / 50;
            EXPECT_TRUE(holds_one) << low_ns << ' ' << high_ns;
        }
        empty += count == 0 ? 1 : 0;
        runs += count;
        delays += classes[i].at("delays").to_number<std::uint64_t>();
    }
    EXPECT_EQ(runs, 24U);
    EXPECT_EQ(empty, classes.size() - 8);
    // Not more delays than runs in a class.
    EXPECT_EQ(classes.front().at("delays"), 3);
    EXPECT_EQ(classes.back().at("delays"), 2);
    EXPECT_EQ(delays, 5U);
}

TEST(SummaryJson, LossesNameTheirHosts) {
    EXPECT_EQ(json::serialize(losses_json({9, {{"alpha", 7, 5}, {"beta", 2, 6}}})),
              R"({"runs":9,"hosts":[{"host":"alpha","runs":7,"last_ns":"5"},)"
              R"({"host":"beta","runs":2,"last_ns":"6"}]})");
}

TEST(Metrics, EachFigureHasItsOwnName) {
    Counters counters;
    std::uint64_t number = 100;
    std::vector<std::pair<const char*, const char*>> names;
    std::vector<std::uint64_t> values;
    const auto set = [&](std::atomic<std::uint64_t>& counter, const char* type, const char* name) {
        counter = ++number;
        names.emplace_back(type, name);
        values.push_back(number);
    };
    const auto put = [&](std::uint64_t& figure, const char* type, const char* name) {
        figure = ++number;
        names.emplace_back(type, name);
        values.push_back(number);
    };
    set(counters.requests, "counter", "requests_total");
    set(counters.refused_requests, "counter", "requests_refused_total");
    set(counters.requests_failed, "counter", "requests_failed_total");
    set(counters.uploads_new, "counter", "uploads_new_total");
    set(counters.uploads_already, "counter", "uploads_already_total");
    set(counters.uploads_refused, "counter", "uploads_refused_total");
    set(counters.uploads_over_quota, "counter", "uploads_over_quota_total");
    set(counters.uploads_aborted, "counter", "uploads_aborted_total");
    set(counters.upload_bytes, "counter", "upload_bytes_total");
    set(counters.uploads_now, "gauge", "uploads");
    set(counters.bundles_expired, "counter", "bundles_expired_total");
    set(counters.runs_expired, "counter", "runs_expired_total");
    set(counters.audit_lost, "counter", "audit_lost_total");
    set(counters.audit_left_out, "counter", "audit_left_out_total");
    set(counters.connections, "gauge", "connections");
    set(counters.connections_refused, "counter", "connections_refused_total");
    set(counters.connections_refused_of_address, "counter", "connections_refused_of_address_total");
    Totals totals;
    put(totals.bundles, "gauge", "bundles");
    put(totals.bad, "gauge", "bundles_bad");
    put(totals.bytes, "gauge", "bundle_bytes");
    put(totals.delays, "gauge", "delays");
    StoreSize size;
    put(size.runs, "gauge", "runs");
    put(size.lost, "gauge", "runs_lost");
    put(size.bytes, "gauge", "store_bytes");
    put(size.memory_bytes, "gauge", "store_memory_bytes");
    JobCounts jobs;
    put(jobs.waiting, "gauge", "jobs_waiting");
    put(jobs.running, "gauge", "jobs_running");
    put(jobs.failed, "gauge", "jobs_failed");
    JobFigures figures;
    set(figures.bundles_parsed, "counter", "bundles_parsed_total");
    set(figures.bundles_bad, "counter", "bundles_bad_total");
    set(figures.parser_failures, "counter", "parser_failures_total");
    set(figures.runs_marked_dirty, "counter", "runs_dirty_total");
    const std::string text = format_metrics(counters, totals, size, jobs, figures);
    std::size_t lines = 0;
    for (const char letter : text) lines += letter == '\n' ? 1 : 0;
    EXPECT_EQ(lines, 3 * names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string name = std::string("lagtrap_server_") + names[i].second;
        EXPECT_THAT(text, HasSubstr("# HELP " + name + " "));
        EXPECT_THAT(text, HasSubstr("\n# TYPE " + name + " " + names[i].first + "\n" + name + " " +
                                    std::to_string(values[i]) + "\n"));
    }
    const std::string quota = quota_metrics(5, {6, 7});
    for (const char* line :
         {"\nlagtrap_server_quota_bytes 5\n", "\nlagtrap_server_quota_senders 6\n",
          "\nlagtrap_server_quota_most_bytes 7\n"})
        EXPECT_THAT(quota, HasSubstr(line));
}

}  // namespace
}  // namespace lagtrap::server::run_json_test
