#include "cli/status/metrics_text.hpp"

#include <map>
#include <sstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/before_recording.hpp"

namespace lagtrap::cli::metrics_text_test {
namespace {

using testing::HasSubstr;

std::string text_of(const std::string& answer) {
    return metrics_text(boost::json::parse(answer).as_object());
}

// Every sample without the common begin of its name: "event_delays_total{event=\"a\"}".
class Metrics {
  public:
    explicit Metrics(const std::string& answer) {
        std::istringstream lines(text_of(answer));
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("# ")) continue;
            EXPECT_TRUE(line.starts_with("lagtrap_")) << line;
            const auto space = line.rfind(' ');
            samples_[line.substr(8, space - 8)] = line.substr(space + 1);
        }
    }
    [[nodiscard]] std::string of(const std::string& name) const {
        const auto found = samples_.find(name);
        return found == samples_.end() ? "none" : found->second;
    }
    [[nodiscard]] std::string of_event(const std::string& name,
                                       const std::string& labels = "") const {
        return of("event_" + name + "{event=\"a\"" + labels + "}");
    }

  private:
    std::map<std::string, std::string> samples_;
};

TEST(MetricsText, EachFigureOfAnEventHasItsName) {
    const Metrics metrics(
        R"({"events":[{"name":"a","delays":1,"unmatched_begins":2,"unmatched_ends":3,)"
        R"("abandoned":4,"left_by_exception":5,"failed":6,"cancelled":7,"lost":8,"limited":9,)"
        R"("counted":10,"hits":11,"open":12,"threshold_ns":13000000,"limits":[1,2]}]})");
    const char* const counters[] = {
        "delays", "unmatched_begins", "unmatched_ends", "abandoned",   "left_by_exception",
        "failed", "cancelled",        "lost",           "limited_hits"};
    int expected = 1;
    for (const char* counter : counters)
        EXPECT_EQ(metrics.of_event(std::string(counter) + "_total"), std::to_string(expected++))
            << counter;
    EXPECT_EQ(metrics.of_event("counted_total"), "10");
    EXPECT_EQ(metrics.of_event("hits_total"), "11");
    EXPECT_EQ(metrics.of_event("open_runs"), "12");
    EXPECT_EQ(metrics.of_event("threshold_seconds"), "0.013");
    EXPECT_EQ(metrics.of_event("limited_parties"), "2");
}

TEST(MetricsText, AnEventWatchedInPartIsArmedAndNotDisabled) {
    const auto states = [](const std::string& fields) {
        const Metrics metrics(R"({"events":[{"name":"a")" + fields + "}]}");
        return metrics.of_event("armed") + metrics.of_event("disabled") +
               metrics.of_event("stages_disabled") + " " + metrics.of_event("watched_ratio");
    };
    EXPECT_EQ(states(""), "000 0.000");
    EXPECT_EQ(states(R"(,"armed":true,"watched_share":1)"), "100 1.000");
    EXPECT_EQ(states(R"(,"disabled":true)"), "010 0.000");
    EXPECT_EQ(states(R"(,"disabled":true,"watched_share":0.25)"), "100 0.250");
    EXPECT_EQ(states(R"(,"armed":true,"stages_disabled":true,"watched_share":1)"), "101 1.000");
}

TEST(MetricsText, EachFigureOfTheDaemonHasItsName) {
    const Metrics metrics(
        R"({"captures":{"done":1,"failed":2,"declined":3,"skipped_cool_down":4,)"
        R"("skipped_hourly_limit":5,"skipped_event_share":6,"skipped_daily_limit":7,)"
        R"("skipped_questions":8,"skipped_user_share":9,"merges_over_limit":10,"set_aside":11},)"
        R"("history":{"early":{"kept":12,"dropped":13,"held_back":14}},)"
        R"("batches":{"written":15,"lost_runs":16},)"
        R"("cost":{"bpf_run_time_ns":1700000000,"daemon_cpu_ns":1800000000,"memory_bytes":19},)"
        R"("budget":{"used_ppm":20000,"disabled_count":21}})");
    const char* const outcomes[] = {"done",
                                    "failed",
                                    "declined",
                                    "skipped_cool_down",
                                    "skipped_hourly_limit",
                                    "skipped_event_share",
                                    "skipped_daily_limit",
                                    "skipped_questions",
                                    "skipped_user_share"};
    int expected = 1;
    for (const char* outcome : outcomes)
        EXPECT_EQ(metrics.of("captures_total{outcome=\"" + std::string(outcome) + "\"}"),
                  std::to_string(expected++))
            << outcome;
    EXPECT_EQ(metrics.of("merges_over_limit_total"), "10");
    EXPECT_EQ(metrics.of("captures_set_aside"), "11");
    EXPECT_EQ(metrics.of("early_recordings_total{outcome=\"kept\"}"), "12");
    EXPECT_EQ(metrics.of("early_recordings_total{outcome=\"dropped\"}"), "13");
    EXPECT_EQ(metrics.of("early_recordings_total{outcome=\"held_back\"}"), "14");
    EXPECT_EQ(metrics.of("batches_written_total"), "15");
    EXPECT_EQ(metrics.of("batches_lost_runs_total"), "16");
    EXPECT_EQ(metrics.of("bpf_seconds_total"), "1.7");
    EXPECT_EQ(metrics.of("cpu_seconds_total"), "1.8");
    EXPECT_EQ(metrics.of("memory_bytes"), "19");
    EXPECT_EQ(metrics.of("watching_cpu_share"), "0.02");
    EXPECT_EQ(metrics.of("disabled_total"), "21");
    EXPECT_EQ(metrics.of("settings_error"), "0");
    EXPECT_EQ(Metrics(R"({"settings":{"reload_error":"x"}})").of("settings_error"), "1");
}

TEST(MetricsText, ARunIsInTheFirstBucketThatCertainlyContainsIt) {
    const Metrics metrics(
        R"({"events":[{"name":"a","histogram":[{"from_ns":512,"to_ns":1024,"count":1},3,)"
        R"({"from_ns":1024,"to_ns":1025,"count":10},)"
        R"({"from_ns":68719476736,"to_ns":85899345920,"count":100}]}]})");
    const auto bucket = [&](const std::string& bound) {
        return metrics.of_event("duration_seconds_bucket", ",le=\"" + bound + "\"");
    };
    EXPECT_EQ(bucket("5.12e-07"), "none");  // 1.024 us is the first
    EXPECT_EQ(bucket("1.024e-06"), "1");
    EXPECT_EQ(bucket("2.048e-06"), "11");
    EXPECT_EQ(bucket("68.719476736"), "11");
    EXPECT_EQ(bucket("137.438953472"), "none");
    EXPECT_EQ(bucket("+Inf"), "111");
    EXPECT_EQ(metrics.of_event("duration_seconds_count"), "111");
    const Metrics one(
        R"({"events":[{"name":"a","histogram":[{"from_ns":1000,"to_ns":2000,"count":4}]}]})");
    EXPECT_EQ(one.of_event("duration_seconds_sum"), "6e-06");
}

TEST(MetricsText, TimesNeverExceedTheirSum) {
    const auto times = [](const std::string& timed) {
        const Metrics metrics(R"({"events":[{"name":"a","timed":)" + timed + "}]}");
        std::string all;
        for (const char* state : {"on_cpu", "runnable", "blocked"})
            all += metrics.of_event("time_seconds_total", ",state=\"" + std::string(state) + "\"") +
                   " ";
        return all;
    };
    EXPECT_EQ(times(R"({"ns":5000000000,"on_cpu_ns":3000000000,"runnable_ns":2500000000})"),
              "3 2 0 ");
    EXPECT_EQ(times(R"({"ns":5000000000,"on_cpu_ns":6000000000,"runnable_ns":1})"), "5 0 0 ");
}

TEST(MetricsText, DelaysAreCountedByWhatTookMostOfTheirTime) {
    const Metrics metrics(
        R"({"events":[{"name":"a","delays_mostly":{"on_cpu":1,"runnable":2,"throttled":3,)"
        R"("handed_over":4,"not_known":5,"blocked":[6,-1,"x"]}}]})");
    const auto of_class = [&](const std::string& name) {
        return metrics.of_event("delays_by_class_total", ",class=\"" + name + "\"");
    };
    EXPECT_EQ(of_class("on a CPU"), "1");
    EXPECT_EQ(of_class("for a CPU"), "2");
    EXPECT_EQ(of_class("CPU quota"), "3");
    EXPECT_EQ(of_class("between threads"), "4");
    EXPECT_EQ(of_class("not known"), "5");
    EXPECT_EQ(of_class(std::string(analysis::reason_of_class(0))), "6");
    EXPECT_EQ(of_class(std::string(analysis::reason_of_class(1))), "0");
    EXPECT_EQ(of_class(std::string(analysis::reason_of_class(2))), "0");
}

TEST(MetricsText, ProcessesAreCountedByUnit) {
    const Metrics metrics(R"({"events":[{"name":"a","processes_by_unit":[3,)"
                          R"({"unit":"b.service","processes":2},{"unit":"","processes":1}]}]})");
    EXPECT_EQ(metrics.of_event("processes", ",unit=\"b.service\""), "2");
    EXPECT_EQ(metrics.of_event("processes", ",unit=\"\""), "1");
}

TEST(MetricsText, LabelsAreEscapedAndMetricsDescribed) {
    const std::string text = text_of(R"({"events":[{"name":"a\"b\\c"}]})");
    EXPECT_THAT(text, HasSubstr("# HELP lagtrap_event_delays_total Runs over their threshold\n"
                                "# TYPE lagtrap_event_delays_total counter\n"
                                "lagtrap_event_delays_total{event=\"a\\\"b\\\\c"));
    EXPECT_THAT(text, HasSubstr("# TYPE lagtrap_event_open_runs gauge\n"));
    EXPECT_THAT(text, HasSubstr("# TYPE lagtrap_event_duration_seconds histogram\n"));
}

}  // namespace
}  // namespace lagtrap::cli::metrics_text_test
