#include "daemon/status/status_parts.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "daemon/status/status_report.hpp"

namespace lagtrap::daemon::status_parts_test {
namespace {

using namespace std::chrono_literals;
using boost::json::object;
using boost::json::parse;
using boost::json::value;

const SteadyTime now{100s};

// Counters have different values, so that none can be taken for another.
class Numbers {
  public:
    template <typename... Counters>
    void give(Counters&... counters) {
        ((counters = static_cast<Counters>(++last_)), ...);
    }

  private:
    std::uint64_t last_ = 0;
};

TEST(StatusParts, TimesLeftEndAtZero) {
    EXPECT_EQ(seconds_until(now + 1500ms, now), 1.5);
    EXPECT_EQ(seconds_until(now, now), 0.0);
    EXPECT_EQ(seconds_until(now - 1s, now), 0.0);
}

TEST(StatusParts, StatesHaveNamesAndMergesShowWhileNothingElseHappens) {
    EXPECT_STREQ(capture_state_name(CaptureState::Waiting, false), "waiting");
    EXPECT_STREQ(capture_state_name(CaptureState::Waiting, true), "merging");
    EXPECT_STREQ(capture_state_name(CaptureState::CoolingDown, false), "cooling-down");
    EXPECT_STREQ(capture_state_name(CaptureState::CoolingDown, true), "merging");
    for (const bool is_merging : {false, true}) {
        EXPECT_STREQ(capture_state_name(CaptureState::Confirming, is_merging), "confirming");
        EXPECT_STREQ(capture_state_name(CaptureState::Recording, is_merging), "recording");
    }
}

TEST(StatusParts, MemoryIsTheSecondNumberOfStatmInPages) {
    EXPECT_EQ(resident_bytes("500 30 7 1 0 9 0\n", 4096), 30U * 4096);
    EXPECT_EQ(resident_bytes("500", 4096), 0U);
    EXPECT_EQ(resident_bytes("", 4096), 0U);
    EXPECT_EQ(resident_bytes("500 x", 4096), 0U);
}

TEST(StatusParts, TheBudgetHasEachNumberUnderItsName) {
    OverheadStatus status;
    Numbers numbers;
    numbers.give(status.used_ppm, status.share_ppm, status.recording_share_ppm, status.looks,
                 status.disabled_count, status.program_ns, status.probes.simple_ns,
                 status.probes.stepped_ns, status.probes.return_ns);
    const auto expected = [](bool exhausted, bool program_measured, bool probes_measured) {
        return object{{"used_ppm", 1},
                      {"share_ppm", 2},
                      {"recording_share_ppm", 3},
                      {"looks", 4},
                      {"exhausted", exhausted},
                      {"disabled_count", 5},
                      {"program_ns", 6},
                      {"program_measured", program_measured},
                      {"probe_ns", 7},
                      {"probe_stepped_ns", 8},
                      {"probe_return_ns", 9},
                      {"probes_measured", probes_measured}};
    };
    EXPECT_EQ(budget_report(status), expected(false, false, false));
    status.exhausted = true;
    EXPECT_EQ(budget_report(status), expected(true, false, false));
    status.program_measured = true;
    EXPECT_EQ(budget_report(status), expected(true, true, false));
    status.probes.measured = true;
    EXPECT_EQ(budget_report(status), expected(true, true, true));
}

TEST(StatusParts, TheUnwinderHasEachNumberUnderItsName) {
    UnwinderStatus status;
    Numbers numbers;
    numbers.give(status.spaces.processes, status.spaces.spaces, status.spaces.processes_left_out,
                 status.spaces.mappings_left_out, status.spaces.spaces_without_room,
                 status.spaces.bytes, status.spaces.limit_bytes, status.spaces.read_anew,
                 status.not_described, status.tables, status.tables_waiting,
                 status.tables_without_room, status.modules.failed, status.table_bytes,
                 status.tables_kept, status.kept_bytes, status.used_bytes, status.taken_bytes,
                 status.budget_bytes, status.modules.made, status.modules.make_cpu_ns,
                 status.modules.from_cache, status.modules.from_cache_cpu_ns, status.events_lost,
                 status.scans);
    status.largest = {{"/usr/lib/lib\n.so", 26}, {"/usr/bin/b", 25}};
    const value expected = {{"processes", 1},
                            {"spaces", 2},
                            {"processes_left_out", 3},
                            {"mappings_left_out", 4},
                            {"spaces_without_room", 5},
                            {"mapping_bytes", 6},
                            {"mapping_limit_bytes", 7},
                            {"read_anew", 8},
                            {"not_described", 9},
                            {"tables", 10},
                            {"tables_waiting", 11},
                            {"tables_without_room", 12},
                            {"tables_failed", 13},
                            {"table_bytes", 14},
                            {"tables_kept", 15},
                            {"kept_bytes", 16},
                            {"used_bytes", 17},
                            {"taken_bytes", 18},
                            {"budget_bytes", 19},
                            {"made", 20},
                            {"make_cpu_ns", 21},
                            {"cached", 22},
                            {"from_cache_cpu_ns", 23},
                            {"lost", 24},
                            {"scans", 25}};
    object reported = unwinder_report(status);
    const value largest = reported.at("largest");
    reported.erase("largest");
    EXPECT_EQ(value(reported), expected);
    ASSERT_EQ(largest.as_array().size(), 2U);
    EXPECT_EQ(largest.at(1), (value{{"path", "/usr/bin/b"}, {"bytes", 25}}));
    EXPECT_EQ(largest.at(0).at("bytes"), 26);
    EXPECT_EQ(largest.at(0).at("path").as_string().find('\n'), std::string_view::npos);
}

TEST(StatusParts, BatchesHaveEachNumberUnderItsName) {
    EXPECT_EQ(value(batches_report({1, 2, 3, 4, 5, 6}, "no ring")),
              (value{{"written", 1},
                     {"runs", 2},
                     {"bytes", 3},
                     {"failed", 4},
                     {"lost_runs", 5},
                     {"removed", 6},
                     {"problem", "no ring"}}));
}

TEST(StatusParts, RemovedEntriesOfTheSpoolAreByState) {
    SpoolKept kept;
    kept.removed.sent = 1;
    kept.removed.rejected = 2;
    kept.removed.unsent = 3;
    kept.removed.bytes = 4;
    kept.problem = "a\x1b[0m";
    object reported = spool_report(kept);
    EXPECT_EQ(reported.at("problem").as_string().find('\x1b'), std::string_view::npos);
    EXPECT_TRUE(reported.at("problem").as_string().starts_with("a"));
    reported.erase("problem");
    EXPECT_EQ(reported, (object{{"removed_sent", 1},
                                {"removed_rejected", 2},
                                {"removed_unsent", 3},
                                {"removed_bytes", 4}}));
}

TEST(StatusParts, EarlyRecordingsAreCountedAndEventsHaveTheirPoints) {
    std::vector<settings::Event> events(2);
    events[0].name = "query";
    events[1].name = "never";
    BreachWatch::Early early;
    early.points_ns = {5'000, LAGTRAP_NEVER_NS};
    EXPECT_TRUE(early_report(early, events, 1'000).is_null()) << "early recordings are off";
    early.counts = {1, 2, 3, 4, 5, 6, 700};
    EXPECT_EQ(early_report(early, events, 1'000),
              parse(R"({"begun":1,"kept":2,"dropped":3,"outgrown":4,"held_back":5,"time_ns":6,
                        "watched_ns":300,"points":[{"event":"query","point_ns":5000},
                                                   {"event":"never","point_ns":null}]})"));
}

TEST(StatusParts, TheWindowHasItsLengthAndWhatItLost) {
    const settings::History settings{.length = 5s, .sample_interval = 20ms};
    EXPECT_TRUE(window_report({false, 1, 2, 3}, settings).is_null());
    EXPECT_EQ(window_report({true, 1, 2, 3}, settings),
              parse(R"({"length_ns":5000000000,"sample_interval_ns":20000000,"size_bytes":1,
                        "cut":2,"lost":3})"));
}

TEST(StatusParts, AClosedEventSaysWhyAndForHowLong) {
    using Reason = CaptureLimits::Reason;
    for (const auto& [reason, name] :
         std::vector<std::pair<Reason, const char*>>{{Reason::CoolDown, "cool-down"},
                                                     {Reason::HourlyLimit, "hourly-limit"},
                                                     {Reason::EventShare, "event-share"},
                                                     {Reason::DailyLimit, "daily-limit"},
                                                     {Reason::Questions, "questions"}}) {
        const std::map<std::string, CaptureLimits::Closed> closed{
            {"query", {now + 90s, reason}}, {"other", {now + 1s, Reason::CoolDown}}};
        EXPECT_EQ(closed_report(closed, "query", now),
                  (value{{"reason", name}, {"seconds_left", 90.0}}));
        EXPECT_TRUE(closed_report(closed, "missing", now).is_null());
    }
}

TEST(StatusParts, PartiesWithoutCapturesAreUsersOrContainers) {
    EXPECT_EQ(
        value(parties_without_captures_report({{1000, now + 7s}, {4026532841, now - 7s}}, now)),
        parse(R"([{"seconds_left":7E0,"uid":1000},
                        {"seconds_left":0E0,"namespace":4026532841}])"));
}

TEST(StatusParts, AQuestionSaysWhatItIsAbout) {
    EXPECT_EQ(value(pending_report({"S1", "query", "shop, process 7", now + 10s, true}, now)),
              parse(R"({"event":"query","session":"S1","process":"shop, process 7","recorded":true,
                        "seconds_left":1E1})"));
    EXPECT_FALSE(pending_report({"S1", "query", "shop, process 7", now, false}, now)
                     .at("recorded")
                     .as_bool());
}

TEST(StatusParts, ARecordingIsForAnEventOrAClient) {
    EXPECT_EQ(value(capture_report("S1", "query", std::nullopt, 2.5)),
              parse(R"({"session":"S1","event":"query","client":null,"seconds_left":2.5})"));
    EXPECT_EQ(value(capture_report("S1", "query", StreamClient{7, 1000}, 2.5)),
              parse(R"({"session":"S1","event":null,"client":{"pid":7,"uid":1000},
                        "seconds_left":2.5})"));
}

TEST(StatusParts, OnlyACoolDownIsOne) {
    for (const CaptureState state :
         {CaptureState::Waiting, CaptureState::Confirming, CaptureState::Recording})
        EXPECT_TRUE(cool_down_report(state, 3.5, true).is_null());
    EXPECT_EQ(cool_down_report(CaptureState::CoolingDown, 3.5, true),
              (value{{"seconds_left", 3.5}, {"hourly_limit", true}}));
    EXPECT_EQ(cool_down_report(CaptureState::CoolingDown, 3.5, false),
              (value{{"seconds_left", 3.5}, {"hourly_limit", false}}));
}

TEST(StatusParts, CapturesAreCountedByOutcome) {
    CaptureCounts counts;
    MergeCounts merges;
    Numbers numbers;
    numbers.give(merges.done, counts.failed, merges.failed, merges.over_limit, merges.without_names,
                 merges.waiting, merges.set_aside, merges.removed, counts.declined,
                 counts.skipped.cool_down, counts.skipped.hourly_limit, counts.skipped.event_share,
                 counts.skipped.daily_limit, counts.skipped.questions, counts.skipped_user_share);
    EXPECT_EQ(value(captures_report(counts, merges, {"somebody"})),
              (value{{"done", 1},
                     {"failed", 2},
                     {"merges_failed", 3},
                     {"merges_over_limit", 4},
                     {"without_names", 5},
                     {"waiting", 6},
                     {"set_aside", 7},
                     {"removed", 8},
                     {"declined", 9},
                     {"skipped_cool_down", 10},
                     {"skipped_hourly_limit", 11},
                     {"skipped_event_share", 12},
                     {"skipped_daily_limit", 13},
                     {"skipped_questions", 14},
                     {"skipped_user_share", 15},
                     {"users_without", {"somebody"}}}));
}

TEST(StatusParts, TheLastBundleAndWhatHeldUpAMerge) {
    EXPECT_TRUE(last_bundle_report(std::nullopt).is_null());
    EXPECT_EQ(last_bundle_report(LastBundle{"/spool/b", "sha", "S1", "query"}),
              parse(R"({"path":"/spool/b","digest":"sha","session":"S1","event":"query"})"));
    EXPECT_TRUE(held_up_report(std::nullopt).is_null());
    EXPECT_EQ(held_up_report(HeldUp{"S1", {"/srv/shop/a", 1000}}),
              parse(R"({"session":"S1","path":"/srv/shop/a","user":1000})"));
    EXPECT_EQ(held_up_report(HeldUp{"S1", {"/a", std::nullopt}}),
              parse(R"({"session":"S1","path":"/a","user":null})"));
}

TEST(StatusReport, MemoryIsThereIfItHasALimit) {
    object report;
    MemoryStatus memory;
    add_memory(report, memory);
    EXPECT_TRUE(report.at("memory").is_null());
    memory.use.emplace();
    memory.use->used_bytes = 1;
    memory.use->limit_bytes = 2;
    memory.mapping_bytes = 3;
    memory.disabled_count = 4;
    memory.killed = 5;
    const auto reported = [&](bool tables, bool merges) {
        memory.holds = {tables, merges};
        add_memory(report, memory);
        return report.at("memory");
    };
    EXPECT_EQ(reported(true, false),
              parse(R"({"used_bytes":1,"limit_bytes":2,"mapping_bytes":3,"tables_held":true,
                        "merges_held":false,"disabled_count":4,"killed":5})"));
    EXPECT_FALSE(reported(false, true).at("tables_held").as_bool());
    EXPECT_TRUE(reported(false, true).at("merges_held").as_bool());
}

TEST(StatusReport, EventsWithoutARuleHaveNoThreshold) {
    const auto folder = std::filesystem::path(testing::TempDir()) / "status-thresholds";
    const ThresholdKeeper keeper(folder / "history", Log(), ClockSnapshot::take());
    object report = parse(R"({"events":[{"name":"a"},{"name":"b"}]})").as_object();
    add_thresholds(report, keeper);
    EXPECT_EQ(report.at("events"), parse(R"([{"name":"a","auto_threshold":null},
                                             {"name":"b","auto_threshold":null}])"));
}

TEST(StatusReport, EachEventHasItsFunctions) {
    class NoThreads : public FunctionThreads {
        Status begin_recorded(std::shared_ptr<FunctionRecorder> /*recorder*/) override {
            return success();
        }
    };
    boost::asio::io_context context;
    NoThreads threads;
    const EventFunctions functions(
        context, threads, [](std::uint32_t) { return std::set<std::uint32_t>{}; }, Log());
    object report = parse(R"({"events":[{"name":"a"}]})").as_object();
    add_functions(report, functions);
    EXPECT_EQ(report.at("events"), parse(R"([{"name":"a","functions":null}])"));
}

}  // namespace
}  // namespace lagtrap::daemon::status_parts_test
