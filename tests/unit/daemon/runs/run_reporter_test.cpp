// Runs of this process, written into a ring as the event monitor's programs write them.
#include "daemon/runs/run_reporter.hpp"

#include <bpf/bpf.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>

#include "core/clock.hpp"
#include "tests/unit/await.hpp"
#include "tests/unit/daemon/bpf_fixture.hpp"
#include "tests/unit/daemon/ring_writer.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::daemon::run_reporter_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

settings::Event event_named(const std::string& name,
                            settings::StackMode stacks = settings::StackMode::None) {
    settings::Event event;
    event.name = name;
    event.threshold = 1ms;
    event.record = settings::RecordMode::Runs;
    event.stacks = stacks;
    return event;
}

class RunReporterTest : public BpfFixture {
  protected:
    void SetUp() override {
        BpfFixture::SetUp();
        if (IsSkipped()) return;
        std::string pattern = fs::temp_directory_path() / "lagtrap-reporter-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        quotas_ = quotas_map();
        spool_.emplace(spool::Spool::create(folder_).value());
        reporter_ =
            RunReporter::create(
                *spool_, [this] { ++processes_; }, {},
                Log([](Log::Level, const std::string& problem) { ADD_FAILURE() << problem; }))
                .value();
    }
    ~RunReporterTest() override {
        reporter_.reset();
        fs::remove_all(folder_);
    }

    static UniqueFd quotas_map() {
        bpf_map_create_opts options{};
        options.sz = sizeof(options);
        options.map_flags = BPF_F_MMAPABLE;
        UniqueFd map(bpf_map_create(BPF_MAP_TYPE_ARRAY, "test", 4, sizeof(lagtrap_run_quota),
                                    LAGTRAP_MAX_EVENTS, &options));
        EXPECT_TRUE(map.valid());
        return map;
    }
    [[nodiscard]] RunSource source(std::vector<settings::Event> events) const {
        RunSource made;
        made.ring = programs_.copy();
        made.quotas = UniqueFd(::dup(quotas_.get()));
        made.events = std::move(events);
        return made;
    }
    void write_run(std::uint32_t event, std::uint64_t duration_ns) {
        write_run(programs_, event, duration_ns);
    }
    static void write_run(RingWriter& programs, std::uint32_t event, std::uint64_t duration_ns) {
        lagtrap_slot slot{};
        slot.report.header.type = LAGTRAP_REPORT_RUN;
        slot.report.header.size_bytes = offsetof(lagtrap_slot, run) + sizeof(slot.run);
        slot.report.weight = 1;
        slot.run.event = event;
        slot.run.begin_ns = 1'000'000;
        slot.run.end_ns = slot.run.begin_ns + duration_ns;
        slot.run.begin_pid = slot.run.begin_tid = slot.run.end_tid =
            static_cast<std::uint32_t>(::getpid());
        std::strcpy(slot.run.comm, "work");
        programs.write(&slot, slot.report.header.size_bytes);
    }
    void write_process() {
        lagtrap_process_report report{};
        report.header.type = LAGTRAP_REPORT_PROCESS;
        report.header.size_bytes = sizeof(report);
        report.process = 1;
        report.pid = static_cast<std::uint32_t>(::getpid());
        programs_.write(report);
    }
    void set_quota(std::uint32_t event, std::uint64_t pending) const {
        lagtrap_run_quota quota{};
        quota.pending = pending;
        ASSERT_EQ(bpf_map_update_elem(quotas_.get(), &event, &quota, BPF_ANY), 0);
    }
    [[nodiscard]] lagtrap_run_quota quota(std::uint32_t event) const {
        lagtrap_run_quota read{};
        EXPECT_EQ(bpf_map_lookup_elem(quotas_.get(), &event, &read), 0);
        return read;
    }
    // Written so far, oldest first.
    [[nodiscard]] std::vector<trace::RunBatch> batches() const {
        std::vector<trace::RunBatch> all;
        const auto entries = spool_->list(spool::EntryState::Ready).value();
        for (const spool::SpoolEntry& entry : entries) {
            std::ifstream file(spool_->path_of(spool::EntryState::Ready, entry.name));
            all.push_back(
                trace::read_run_batch(std::string(std::istreambuf_iterator<char>(file), {}))
                    .value());
        }
        std::sort(all.begin(), all.end(), [](const auto& one, const auto& other) {
            return one.made_realtime_ns < other.made_realtime_ns;
        });
        return all;
    }
    [[nodiscard]] std::vector<trace::RunBatch> batches_at_the_end() {
        reporter_->stop();
        reporter_.reset();  // writes what is left
        return batches();
    }

    fs::path folder_;
    std::optional<spool::Spool> spool_;
    RingWriter programs_;
    UniqueFd quotas_;
    std::atomic<int> processes_{0};
    std::unique_ptr<RunReporter> reporter_;
};

using Strings = std::vector<std::string>;

Strings events_of(const trace::RunBatch& batch) {
    Strings names;
    for (const trace::RecordedRun& run : batch.runs) names.push_back(run.event);
    return names;
}

TEST_F(RunReporterTest, WritesWhatTheProgramsReported) {
    write_process();
    write_run(1, 3'000'000);
    write_run(0, 500'000);
    reporter_->use(source({event_named("query"), event_named("frame")}));
    reporter_->stop();
    const auto written = batches_at_the_end();
    ASSERT_THAT(written, SizeIs(1));
    std::array<char, 256> host{};
    ASSERT_EQ(::gethostname(host.data(), host.size() - 1), 0);
    EXPECT_EQ(written[0].host, host.data());
    EXPECT_EQ(written[0].boot_id, trace::running_boot_id());
    EXPECT_THAT(written[0].session_hint, IsEmpty());
    EXPECT_EQ(written[0].runs_lost, 0U);
    ASSERT_THAT(events_of(written[0]), ElementsAre("frame", "query"));
    EXPECT_EQ(written[0].runs[0].duration_ns, 3'000'000U);
    EXPECT_TRUE(written[0].runs[0].delay);
    EXPECT_EQ(written[0].runs[0].thread, "work");
    EXPECT_FALSE(written[0].runs[1].delay);
    EXPECT_EQ(processes_, 0) << "nobody wants stacks";
}

TEST_F(RunReporterTest, CountsWhatItWrote) {
    write_run(0, 3'000'000);
    write_run(0, 3'000'000);
    reporter_->use(source({event_named("query")}));
    reporter_->stop();
    await("the reporter", [this] { return reporter_->totals().written == 1; });
    EXPECT_EQ(reporter_->totals().written_runs, 2U);
    EXPECT_EQ(reporter_->totals().lost_runs, 0U);
    EXPECT_THAT(reporter_->problem(), IsEmpty());
}

TEST_F(RunReporterTest, NothingIsWrittenWithoutRuns) {
    reporter_->use(source({event_named("query")}));
    EXPECT_THAT(batches_at_the_end(), IsEmpty());
}

TEST_F(RunReporterTest, AnOldBatchIsClosed) {
    RunSource made = source({event_named("query")});
    made.limits.batch_interval = 1ms;
    reporter_->use(std::move(made));
    write_run(0, 3'000'000);
    await("the reporter", [this] { return reporter_->totals().written == 1; });
    write_run(0, 4'000'000);
    await("the reporter", [this] { return reporter_->totals().written == 2; });
    const auto written = batches();
    EXPECT_EQ(written.at(0).runs.at(0).duration_ns, 3'000'000U);
    EXPECT_EQ(written.at(1).runs.at(0).duration_ns, 4'000'000U);
}

TEST_F(RunReporterTest, AFullBatchIsClosed) {
    for (int i = 0; i < 3; ++i) write_run(0, 3'000'000);
    RunSource made = source({event_named("query")});
    made.limits.batch_size_bytes = 1;
    reporter_->use(std::move(made));
    const auto written = batches_at_the_end();
    ASSERT_THAT(written, SizeIs(3));
    for (const trace::RunBatch& batch : written) EXPECT_THAT(batch.runs, SizeIs(1));
}

TEST_F(RunReporterTest, TheLastRunStandsForThoseAboveTheLimit) {
    write_run(0, 3'000'000);
    write_run(0, 3'000'000);
    set_quota(0, 6);
    set_quota(1, 4);
    reporter_->use(source({event_named("query"), event_named("frame")}));
    const auto written = batches_at_the_end();
    ASSERT_THAT(written, SizeIs(1));
    EXPECT_EQ(written[0].runs.at(0).weight, 1U);
    EXPECT_EQ(written[0].runs.at(1).weight, 7U);
    EXPECT_EQ(written[0].runs_sampled_away, 6U);
    EXPECT_EQ(written[0].runs_lost, 4U) << "no run of their event can stand for them";
    EXPECT_EQ(quota(0).pending, 0U);
    EXPECT_EQ(quota(1).pending, 0U);
}

TEST_F(RunReporterTest, WhileItRunsALaterRunStandsForThoseAboveTheLimit) {
    write_run(0, 3'000'000);
    set_quota(0, 6);
    set_quota(1, 4);
    RunSource made = source({event_named("query"), event_named("frame")});
    made.limits.batch_interval = 1ms;
    reporter_->use(std::move(made));
    await("the reporter", [this] { return reporter_->totals().written == 1; });
    const auto written = batches();
    EXPECT_EQ(written.at(0).runs.at(0).weight, 7U);
    EXPECT_EQ(written.at(0).runs_lost, 0U);
    EXPECT_EQ(quota(0).pending, 0U);
    EXPECT_EQ(quota(1).pending, 4U);
}

TEST_F(RunReporterTest, RunsOfThePreviousSourceHaveItsEvents) {
    write_run(0, 3'000'000);
    set_quota(1, 4);
    reporter_->use(source({event_named("query"), event_named("frame")}));
    RingWriter next;
    write_run(next, 0, 5'000'000);
    write_run(next, 0, 6'000'000);
    RunSource made;
    made.ring = next.copy();
    made.quotas = quotas_map();
    made.events = {event_named("commit")};
    made.ended_after_ns = 1'000'000 + 5'500'000;
    reporter_->use(std::move(made));
    const auto written = batches_at_the_end();
    ASSERT_THAT(written, SizeIs(2));
    EXPECT_THAT(events_of(written[0]), ElementsAre("query"));
    EXPECT_EQ(written[0].runs_lost, 4U);
    ASSERT_THAT(events_of(written[1]), ElementsAre("commit"));
    EXPECT_EQ(written[1].runs[0].duration_ns, 6'000'000U) << "the previous one reported the other";
    EXPECT_EQ(written[1].runs_lost, 0U);
}

TEST_F(RunReporterTest, ThresholdsInForceAndWeightsAreThoseOfTheSource) {
    write_run(0, 3'000'000);
    const std::vector<settings::Event> events{event_named("query")};
    RunSource made = source(events);
    const auto thresholds = std::make_shared<EventThresholds>(events);
    thresholds->set(0, 5ms);
    made.thresholds = thresholds;
    const auto weights = std::make_shared<RunWeights>(1);
    weights->set(0, 10);
    made.weights = weights;
    reporter_->use(std::move(made));
    const auto written = batches_at_the_end();
    EXPECT_EQ(written.at(0).runs.at(0).threshold_ns, 5'000'000U);
    EXPECT_FALSE(written[0].runs[0].delay);
    EXPECT_EQ(written[0].runs[0].weight, 10U);
}

ReportedRun aborted_run() {
    ReportedRun run;
    run.run.begin_ns = 1'000'000;
    run.run.end_ns = 9'000'000;
    run.run.begin_pid = run.run.begin_tid = static_cast<std::uint32_t>(::getpid());
    return run;
}

TEST_F(RunReporterTest, RunsThatWillNeverEndAreAborted) {
    RunSource made = source({event_named("query")});
    made.limits.batch_interval = 1ms;
    write_run(0, 3'000'000);
    reporter_->use(std::move(made));
    await("the reporter", [this] { return reporter_->totals().written == 1; });
    reporter_->take_aborted({});
    reporter_->take_aborted({aborted_run(), aborted_run()});
    await("the reporter", [this] { return reporter_->totals().written_runs == 3; });
    const trace::RecordedRun run = batches().back().runs.back();
    EXPECT_TRUE(run.aborted);
    EXPECT_EQ(run.duration_ns, 8'000'000U);
}

TEST_F(RunReporterTest, TooManyAbortedRunsAreLost) {
    reporter_->take_aborted(std::vector<ReportedRun>(waiting_aborted_limit + 1, aborted_run()));
    write_run(0, 3'000'000);
    reporter_->use(source({event_named("query")}));
    const auto written = batches_at_the_end();
    ASSERT_THAT(written, SizeIs(1));
    EXPECT_THAT(written[0].runs, SizeIs(1));
    EXPECT_EQ(written[0].runs_lost, waiting_aborted_limit + 1);
}

TEST_F(RunReporterTest, ABatchNamesTheRecordingOfItsTime) {
    reporter_->note_session("00000000-0000-4000-8000-000000000007");
    write_run(0, 3'000'000);
    reporter_->use(source({event_named("query")}));
    const auto written = batches_at_the_end();
    EXPECT_EQ(written.at(0).session_hint, "00000000-0000-4000-8000-000000000007");
}

TEST_F(RunReporterTest, AfterARecordingOneMoreBatchNamesIt) {
    RunSource made = source({event_named("query")});
    made.limits.batch_interval = 1ms;
    reporter_->use(std::move(made));
    reporter_->note_session("00000000-0000-4000-8000-000000000007");
    reporter_->note_session("");
    for (std::uint64_t batch = 1; batch <= 3; ++batch) {
        write_run(0, batch * 1'000'000);
        await("the reporter", [this, batch] { return reporter_->totals().written == batch; });
    }
    std::size_t named = 0;
    for (const trace::RunBatch& batch : batches()) named += batch.session_hint.empty() ? 0 : 1;
    EXPECT_EQ(named, 1U);
}

TEST_F(RunReporterTest, AProcessWhoseStacksAreWantedIsReportedAtOnce) {
    reporter_->use(
        source({event_named("query"), event_named("frame", settings::StackMode::Markers)}));
    write_run(0, 3'000'000);
    write_process();
    await("the reporter", [this] { return processes_ == 1; });
    reporter_->stop();
    EXPECT_EQ(processes_, 1) << "runs are not processes";
}

TEST_F(RunReporterTest, AnUnusableSourceIsAProblemUntilTheNext) {
    RunSource unusable = source({event_named("query")});
    unusable.ring = UniqueFd(::dup(quotas_.get()));
    reporter_->use(std::move(unusable));
    await("the reporter", [this] { return !reporter_->problem().empty(); });
    EXPECT_THAT(reporter_->problem(), HasSubstr("map the ring of reported runs"));
    reporter_->use(source({event_named("query")}));
    await("the reporter", [this] { return reporter_->problem().empty(); });
}

TEST_F(RunReporterTest, ProgramsSendStacksAgainThatItHasForgotten) {
    reporter_->use(source({event_named("query"), event_named("frame")}));
    std::array<std::uint64_t, sizeof(lagtrap_stack) / 8 + 1> memory{};
    auto* const stack = reinterpret_cast<lagtrap_stack*>(memory.data());
    stack->header.type = LAGTRAP_RECORD_STACK;
    stack->header.size_bytes = sizeof(memory);
    stack->pid = static_cast<std::uint32_t>(::getpid());
    stack->frame_count = 1;
    memory.back() = 1;
    for (std::uint64_t number = 1; number <= 16'384; ++number) {
        stack->stack_id = number;
        programs_.write(memory);
    }
    await("the reporter", [this] { return quota(1).generation == 1; });
    EXPECT_EQ(quota(0).generation, 1U);
    EXPECT_EQ(quota(2).generation, 0U) << "there is no such event";
}

}  // namespace
}  // namespace lagtrap::daemon::run_reporter_test
