// A recording of this machine, without a slow run.
#include "daemon/capture/recorder.hpp"

#include <filesystem>

#include <gmock/gmock.h>

#include "daemon/capture/capture_session.hpp"
#include "tests/unit/daemon/bpf_fixture.hpp"

namespace lagtrap::daemon::recorder_test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;

// Loading takes seconds, so all tests share the programs.
class ARecorder : public BpfFixture {
  protected:
    static void SetUpTestSuite() {
        if (::geteuid() != 0) return;
        settings_.history.length = 0ns;
        settings_.history.early_share_ppm = 0;
        settings_.events.resize(1);
        settings_.events[0].name = "query";
        settings_.events[0].threshold = 50ms;
        Unwinder::Options options;
        options.memory_bytes = 8 << 20;
        auto unwinder = Unwinder::create(options, inspector_, mapped_files_);
        ASSERT_TRUE(unwinder) << unwinder.error().message;
        unwinder_ = std::move(unwinder).value();
        const auto threads = TimedThreads::create(settings_).value();
        auto monitor = EventMonitor::create(settings_, unwinder_->store(), threads, {});
        ASSERT_TRUE(monitor) << monitor.error().message;
        monitor_ = std::move(*monitor);
        auto recorder = Recorder::create(settings_, *unwinder_, mapped_files_, threads, nullptr);
        ASSERT_TRUE(recorder) << recorder.error().message;
        recorder_ = std::move(*recorder);
    }
    static void TearDownTestSuite() {
        recorder_.reset();
        monitor_.reset();
        unwinder_.reset();
    }
    ARecorder() { std::filesystem::create_directory(folder_); }
    ~ARecorder() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] trace::Session session() const {
        return make_session("00000000-0000-4000-8000-000000000000", settings_,
                            *monitor_->thresholds(), 0, trace::TriggerReason::Manual, nullptr,
                            {1s, 1s});
    }
    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(folder_))
            names.push_back(entry.path().filename());
        return names;
    }

    const std::filesystem::path folder_ =
        testing::TempDir() + "recorder-" + std::to_string(::getpid());
    inline static settings::Settings settings_;
    inline static DirectInspector inspector_{"/proc", {}};
    inline static MappedFiles mapped_files_;
    inline static std::unique_ptr<Unwinder> unwinder_;
    inline static std::unique_ptr<EventMonitor> monitor_;
    inline static std::unique_ptr<Recorder> recorder_;
};

TEST_F(ARecorder, RecordsFromItsStartToItsStop) {
    trace::Session session = this->session();
    EXPECT_EQ(recorder_->stop(session).error().kind, ErrorKind::Invalid) << "nothing runs";
    EXPECT_TRUE(recorder_->drain());
    EXPECT_EQ(recorder_->until_next_drain(), 20ms);
    EXPECT_FALSE(recorder_->keeps_history());
    EXPECT_FALSE(recorder_->history().is_kept);
    EXPECT_EQ(recorder_->history_calls_fd(), -1);
    const std::uint64_t before_ns = monotonic_ns();
    ASSERT_TRUE(recorder_->start(folder_, session, *monitor_));
    EXPECT_GE(session.started_ns, before_ns);
    EXPECT_THAT(files(), Contains("session.json"));
    EXPECT_EQ(recorder_->first_run(), AwaitedRun::State::Gone)
        << "no thread of the trigger has an open run";
    while (recorder_->written_bytes() == 0) ASSERT_TRUE(recorder_->drain());
    const Status stopped = recorder_->stop(session);
    ASSERT_TRUE(stopped) << stopped.error().message;
    EXPECT_GT(session.ended_ns, session.started_ns);
    EXPECT_EQ(session.history_length_ns, 0U);
    EXPECT_FALSE(recorder_->stop(session));
}

TEST_F(ARecorder, AnEarlyRecordingIsKeptOrDropped) {
    const auto own_pid = static_cast<std::uint32_t>(::getpid());
    ASSERT_TRUE(recorder_->begin_early(*monitor_, own_pid));
    const Status again = recorder_->begin_early(*monitor_, own_pid);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().kind, ErrorKind::Busy);
    EXPECT_FALSE(recorder_->early_is_full());
    recorder_->drop_early();
    recorder_->drop_early();
    EXPECT_THAT(files(), testing::IsEmpty());
    ASSERT_TRUE(recorder_->begin_early(*monitor_, own_pid));
    const std::uint64_t begun_ns = monotonic_ns();
    trace::Session session = this->session();
    ASSERT_TRUE(recorder_->start(folder_, session, *monitor_));
    EXPECT_LE(session.started_ns, begun_ns) << "it begins with the early one";
    EXPECT_TRUE(recorder_->stop(session));
    EXPECT_THAT(files(), Contains("session.json"));
}

TEST_F(ARecorder, TheMonitorOfEventsThatAreNotArmedCountsNothing) {
    const auto statuses = monitor_->status();
    ASSERT_EQ(statuses.size(), 1U);
    EXPECT_EQ(statuses[0].name, "query");
    EXPECT_EQ(statuses[0].threshold_ns, 50'000'000U);
    EXPECT_FALSE(statuses[0].armed);
    EXPECT_FALSE(statuses[0].records_runs);
    EXPECT_FALSE(statuses[0].groups);
    EXPECT_EQ(statuses[0].counters.hits(), 0U);
    EXPECT_EQ(monitor_->progress().of, 1U);
    ASSERT_TRUE(monitor_->set_threshold(0, 70ms));
    EXPECT_EQ(monitor_->status()[0].threshold_ns, 70'000'000U);
    EXPECT_EQ(monitor_->thresholds()->of_ns(0), 70'000'000U);
    ASSERT_TRUE(monitor_->set_threshold(0, 50ms));
    ASSERT_TRUE(monitor_->take_stacks(0, false));
    EXPECT_TRUE(monitor_->status()[0].stacks_disabled);
    ASSERT_TRUE(monitor_->take_stacks(0, true));
    EXPECT_FALSE(monitor_->status()[0].stacks_disabled);
    EXPECT_GT(monitor_->times_cost_ns(), 0U);
    ASSERT_TRUE(monitor_->count_times(false));
    EXPECT_EQ(monitor_->times_cost_ns(), 0U);
    ASSERT_TRUE(monitor_->count_times(true));
    EXPECT_EQ(monitor_->hits().at(0).hits, 0U);
    EXPECT_THAT(monitor_->take_parties(), testing::IsEmpty());
    EXPECT_EQ(monitor_->all_counters().count("query"), 1U);
    EXPECT_FALSE(monitor_->program_fds().empty());
}

TEST_F(ARecorder, TheUnwinderScansAllProcessesAndPreparesOwnCode) {
    const auto missing =
        unwinder_->prepare(static_cast<std::uint32_t>(::getpid()), 60s, [] { return false; });
    EXPECT_EQ(missing, 0U);
    EXPECT_EQ(unwinder_->cache_problem(), "");
    unwinder_->begin_capture();
    EXPECT_TRUE(unwinder_->end_capture());
    EXPECT_FALSE(unwinder_->take_events().empty()) << "the mappings of all processes";
    unwinder_->begin_capture();
    unwinder_->forget_capture();
    EXPECT_TRUE(unwinder_->take_events().empty());
}

}  // namespace
}  // namespace lagtrap::daemon::recorder_test
