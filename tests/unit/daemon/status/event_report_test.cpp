#include "daemon/status/event_report.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::event_report_test {
namespace {

using boost::json::object;
using boost::json::value;

constexpr std::uint64_t second_ns = 1'000'000'000;

struct Reported {
    settings::Event event;
    EventStatus status;
    EventSurroundings surroundings;

    Reported() {
        surroundings.now = {.monotonic_ns = 100 * second_ns,
                            .boottime_ns = 100 * second_ns,
                            .realtime_ns = 1'000 * second_ns};
    }
    [[nodiscard]] object report() const { return event_report(event, status, surroundings); }
    [[nodiscard]] value at(const char* pointer) const {
        return value(report()).at_pointer(pointer);
    }
    [[nodiscard]] std::uint64_t number(const char* pointer) const {
        return at(pointer).to_number<std::uint64_t>();
    }
};

TEST(EventReport, HasEachCounterUnderItsName) {
    Reported it;
    EventCounters& counters = it.status.counters;
    const std::vector<std::pair<const char*, std::uint64_t*>> fields{
        {"/counted", &counters.counted},
        {"/trace_texts_lost", &counters.texts_lost},
        {"/out_of_scope", &counters.out_of_scope},
        {"/limited", &counters.limited},
        {"/delays", &counters.delays},
        {"/abandoned", &counters.abandoned},
        {"/left_by_exception", &counters.left},
        {"/failed", &counters.failed},
        {"/cancelled", &counters.cancelled},
        {"/lost", &counters.lost},
        {"/expired", &counters.expired},
        {"/too_deep", &counters.too_deep},
        {"/max_ns", &counters.max_ns},
        {"/timed/ns", &counters.timed_ns},
        {"/timed/on_cpu_ns", &counters.on_cpu_ns},
        {"/timed/runnable_ns", &counters.runnable_ns},
        {"/timed/handed_over_ns", &counters.handed_over_ns},
        {"/timed/left_out", &counters.untimed},
        {"/delays_mostly/on_cpu", &counters.delays_mostly[LAGTRAP_DELAY_ON_CPU]},
        {"/delays_mostly/runnable", &counters.delays_mostly[LAGTRAP_DELAY_RUNNABLE]},
        {"/delays_mostly/throttled", &counters.delays_mostly[LAGTRAP_DELAY_THROTTLED]},
        {"/delays_mostly/handed_over", &counters.delays_mostly[LAGTRAP_DELAY_HANDED_OVER]},
        {"/delays_mostly/not_known", &counters.delays_mostly[LAGTRAP_DELAY_NOT_KNOWN]},
        {"/delays_mostly/blocked/0", &counters.delays_mostly[LAGTRAP_DELAY_BLOCKED]},
        {"/delays_mostly/blocked/12", &counters.delays_mostly[LAGTRAP_DELAY_BLOCKED + 12]},
        {"/open", &it.status.open.open},
        {"/open_overdue", &it.status.open.overdue},
        {"/recordings", &it.surroundings.recordings},
        {"/disabled_at_look", &it.surroundings.disabled_at.look},
        {"/over_since_look", &it.surroundings.disabled_at.over_since},
        {"/files", &it.status.copies.files},
        {"/processes", &it.status.copies.processes},
        {"/files_left_out", &it.status.copies.left_out},
        {"/recorded/reported", &it.status.runs.reported},
        {"/recorded/sampled_away", &it.status.runs.sampled_away},
        {"/recorded/ring_full", &it.status.runs.ring_full},
        {"/recorded/stacks_lost", &it.status.runs.stacks_lost},
    };
    it.status.records_runs = true;
    for (std::size_t i = 0; i < fields.size(); ++i) *fields[i].second = 1'000 + i;
    for (std::size_t i = 0; i < fields.size(); ++i)
        EXPECT_EQ(it.number(fields[i].first), 1'000 + i) << fields[i].first;
    counters.markers[LAGTRAP_PLACE_BEGIN].unmatched = 7;
    counters.markers[LAGTRAP_PLACE_END].unmatched = 8;
    counters.markers[LAGTRAP_PLACE_STAGE].unmatched = 9;
    EXPECT_EQ(it.number("/unmatched_begins"), 7U);
    EXPECT_EQ(it.number("/unmatched_ends"), 8U);
    EXPECT_EQ(it.number("/unmatched_stages"), 9U);
    it.status.records_runs = false;
    EXPECT_TRUE(it.at("/recorded").is_null());
}

TEST(EventReport, HasEachFlagUnderItsName) {
    const std::vector<std::pair<const char*, bool EventStatus::*>> flags{
        {"/armed", &EventStatus::armed},
        {"/arming", &EventStatus::arming},
        {"/disabled", &EventStatus::disabled},
        {"/counting", &EventStatus::counted},
        {"/stacks_disabled", &EventStatus::stacks_disabled},
        {"/stages_disabled", &EventStatus::stages_disabled}};
    for (const auto& [only, field] : flags) {
        Reported it;
        it.status.*field = true;
        for (const auto& [name, other] : flags)
            EXPECT_EQ(it.at(name).as_bool(), name == only) << name << only;
    }
}

TEST(EventReport, MarkersHaveTheirHitsAndTheWallClockOfTheLast) {
    Reported it;
    it.event.begin = {.kind = settings::MarkerKind::Usdt,
                      .binary = "/bin/a\n",
                      .provider = "app",
                      .name = "begin"};
    it.event.end = {.kind = settings::MarkerKind::Function,
                    .binary = "/bin/b",
                    .name = "work",
                    .side = settings::FunctionSide::Return};
    it.event.stages.push_back(
        {"read", {.kind = settings::MarkerKind::Tracepoint, .provider = "block", .name = "done"}});
    it.event.stages.push_back({"write", {.kind = settings::MarkerKind::Function, .name = "flush"}});
    it.status.counters.markers[LAGTRAP_PLACE_BEGIN] = {11, 12, 90 * second_ns};
    it.status.counters.markers[LAGTRAP_PLACE_END] = {21, 22, 0};
    it.status.counters.markers[LAGTRAP_PLACE_STAGE] = {31, 32, 100 * second_ns};
    it.status.counters.markers[LAGTRAP_PLACE_STAGE + 1] = {41, 42, 101 * second_ns};
    EXPECT_EQ(it.at("/markers").as_array().size(), 4U);
    EXPECT_EQ(it.at("/markers/0"), (value{{"role", "begin"},
                                          {"marker", "USDT probe app:begin"},
                                          {"binary", "/bin/a\\x0a"},
                                          {"hits", 11U},
                                          {"unmatched", 12U},
                                          {"last_realtime_ns", 990 * second_ns}}));
    EXPECT_EQ(it.at("/markers/1"), (value{{"role", "stage"},
                                          {"marker", "tracepoint block:done"},
                                          {"binary", ""},
                                          {"hits", 31U},
                                          {"unmatched", 32U},
                                          {"last_realtime_ns", 1'000 * second_ns},
                                          {"stage", "read"}}));
    EXPECT_EQ(it.at("/markers/2/marker"), "function flush");
    EXPECT_EQ(it.number("/markers/2/hits"), 41U);
    EXPECT_EQ(it.at("/markers/2/stage"), "write");
    EXPECT_EQ(it.at("/markers/3"), (value{{"role", "end"},
                                          {"marker", "return of work"},
                                          {"binary", "/bin/b"},
                                          {"hits", 21U},
                                          {"unmatched", 22U},
                                          {"last_realtime_ns", nullptr}}));
    EXPECT_EQ(it.number("/hits"), 104U);
}

TEST(EventReport, TimesAreAgesAndSeconds) {
    Reported it;
    EXPECT_EQ(it.number("/oldest_open_ns"), 0U);
    it.status.open.oldest_ns = 97 * second_ns;
    EXPECT_EQ(it.number("/oldest_open_ns"), 3 * second_ns);
    it.status.open.oldest_ns = 101 * second_ns;
    EXPECT_EQ(it.number("/oldest_open_ns"), 0U) << "a clock that was read later";
    it.status.threshold_ns = 250'000'000;
    EXPECT_EQ(it.number("/threshold_ns"), 250'000'000U);
    it.surroundings.again_in = std::chrono::milliseconds(1500);
    it.surroundings.stages_again_in = std::chrono::milliseconds(2500);
    EXPECT_EQ(it.at("/again_in_seconds").as_double(), 1.5);
    EXPECT_EQ(it.at("/stages_again_in_seconds").as_double(), 2.5);
    it.surroundings.watched_ppm = 250'000;
    EXPECT_EQ(it.at("/watched_share").as_double(), 0.25);
}

TEST(EventReport, SaysHowPreciseItsNumbersAre) {
    struct Case {
        bool armed, disabled, counted;
        std::uint64_t watched_ppm;
        bool counts_all;
        double timed_share;
        const char* count;
    };
    for (const Case& one : {Case{true, false, false, 1'000'000, true, 1, "exact"},
                            Case{true, false, false, 500'000, true, 0.5, "exact"},
                            Case{true, false, false, 500'000, false, 0.5, "estimated"},
                            Case{true, false, false, 1'000'000, false, 1, "exact"},
                            Case{false, true, false, 500'000, false, 0.5, "estimated"},
                            Case{false, true, true, 1'000'000, true, 0, "exact"},
                            Case{false, true, false, 1'000'000, true, 0, "none"},
                            Case{false, false, false, 500'000, true, 0, "none"}}) {
        Reported it;
        it.status.armed = one.armed;
        it.status.disabled = one.disabled;
        it.status.counted = one.counted;
        it.surroundings.watched_ppm = one.watched_ppm;
        it.surroundings.counts_all = one.counts_all;
        EXPECT_EQ(it.at("/precision/timed_share").as_double(), one.timed_share);
        EXPECT_EQ(it.at("/precision/count"), one.count)
            << one.armed << one.disabled << one.counted << one.watched_ppm;
    }
    Reported it;
    EXPECT_EQ(it.at("/precision/stages"), "none");
    it.event.stages.emplace_back();
    EXPECT_EQ(it.at("/precision/stages"), "on");
    EXPECT_TRUE(it.at("/precision/stages_off_since_realtime_ns").is_null());
    it.surroundings.stages_since_ns = 90 * second_ns;
    EXPECT_EQ(it.at("/precision/stages"), "off");
    EXPECT_EQ(it.number("/precision/stages_off_since_realtime_ns"), 990 * second_ns);
}

TEST(EventReport, NamesWhoIsLimitedAndUntilWhen) {
    Reported it;
    it.surroundings.limits = {{{1000, 0}, "it took 40 %", 105 * second_ns},
                              {{1001, 77}, "it alone", 99 * second_ns},
                              {{first_container_party + 5, 0}, "it", 100 * second_ns}};
    EXPECT_EQ(it.at("/limits/0"), (value{{"pid", nullptr},
                                         {"reason", "it took 40 %"},
                                         {"again_in_seconds", 5.0},
                                         {"uid", 1000U}}));
    EXPECT_EQ(it.number("/limits/1/pid"), 77U);
    EXPECT_EQ(it.at("/limits/1/again_in_seconds").as_double(), 0.0) << "it is overdue";
    EXPECT_EQ(it.number("/limits/2/namespace"), first_container_party + 5);
}

TEST(EventReport, HasItsKindsInWords) {
    Reported it;
    EXPECT_EQ(it.at("/breach"), "deadline");
    EXPECT_EQ(it.at("/nesting"), "each");
    EXPECT_EQ(it.at("/key"), "thread");
    it.status.by_goroutine = true;
    EXPECT_EQ(it.at("/key"), "goroutine");
    it.event.key = settings::KeyKind::Argument;
    EXPECT_EQ(it.at("/key"), "argument");
    it.event.breach = settings::BreachMode::End;
    EXPECT_EQ(it.at("/breach"), "end");
    it.event.nesting = settings::Nesting::Outermost;
    EXPECT_EQ(it.at("/nesting"), "outermost");
    it.event.nesting = settings::Nesting::Restart;
    EXPECT_EQ(it.at("/nesting"), "restart");
    using Kind = PairingFinding::Kind;
    it.status.pairing = {{Kind::NoEnd, "a"},       {Kind::NoBegin, "b"},
                         {Kind::OutOfScope, "c"},  {Kind::BeginsUnended, "d"},
                         {Kind::EndsUnbegun, "e"}, {Kind::NotBelieved, "f"},
                         {Kind::Crowded, "g"},     {Kind::SemaphoreUnseen, "h"}};
    const std::vector<const char*> kinds{"no-end",         "no-begin",        "out-of-scope",
                                         "begins-unended", "ends-unbegun",    "not-believed",
                                         "crowded",        "semaphore-unseen"};
    const auto pairing = it.at("/pairing").as_array();
    ASSERT_EQ(pairing.size(), kinds.size());
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        EXPECT_EQ(pairing[i].at("kind"), kinds[i]);
        EXPECT_EQ(std::string(pairing[i].at("sentence").as_string()),
                  std::string(1, static_cast<char>('a' + i)));
    }
}

TEST(EventReport, HistogramHasTheBucketsThatAreNotEmpty) {
    Reported it;
    it.status.counters.histogram[3] = 7;
    it.status.counters.histogram[20] = 9;
    const auto histogram = it.at("/histogram").as_array();
    ASSERT_EQ(histogram.size(), 2U);
    EXPECT_EQ(histogram[0].at("count").to_number<std::uint64_t>(), 7U);
    for (const auto& [index, bucket] : {std::pair(0U, 3U), std::pair(1U, 20U)}) {
        EXPECT_EQ(histogram[index].at("from_ns").to_number<std::uint64_t>(),
                  lagtrap_histogram_bucket_start_ns(bucket));
        EXPECT_EQ(histogram[index].at("to_ns").to_number<std::uint64_t>(),
                  lagtrap_histogram_bucket_start_ns(bucket + 1));
    }
    EXPECT_EQ(it.number("/runs"), 16U);
}

TEST(EventReport, HasCopiesUnitsAndGroups) {
    Reported it;
    it.status.copies.copies = {{"/a", "web.service", 5, 6, "no"}};
    it.status.copies.processes_by_unit = {{"web.service", 3}};
    it.status.copies.absent = {"/gone"};
    it.status.copies.pid = 42;
    EXPECT_EQ(it.at("/copies/0"), (value{{"path", "/a"},
                                         {"where", "web.service"},
                                         {"pid", 5U},
                                         {"processes", 6U},
                                         {"problem", "no"}}));
    EXPECT_EQ(it.at("/processes_by_unit/0"), (value{{"unit", "web.service"}, {"processes", 3U}}));
    EXPECT_EQ(it.at("/absent/0"), "/gone");
    EXPECT_EQ(it.number("/pid"), 42U);
    EXPECT_TRUE(it.at("/namesake").is_null());
    EXPECT_TRUE(it.at("/scope_groups").is_null());
    it.status.copies.namesake = {"/b", "", 1, 2, ""};
    EXPECT_EQ(it.at("/namesake/path"), "/b");
    it.status.groups = {4, {{"image", 2}}, "late"};
    EXPECT_EQ(it.at("/scope_groups"),
              (value{{"groups", 4U}, {"not_known", {{"image", 2U}}}, {"problem", "late"}}));
}

}  // namespace
}  // namespace lagtrap::daemon::event_report_test
