// The watch of open runs and its programs, loaded into the kernel but attached to nothing.
#include "daemon/events/breach_watch.hpp"

#include <unistd.h>

#include <condition_variable>
#include <deque>

#include <gmock/gmock.h>

#include "core/clock.hpp"
#include "daemon/unwinding/unwind_store.hpp"
#include "tests/unit/daemon/bpf_fixture.hpp"

namespace lagtrap::daemon::breach_watch_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

settings::Settings two_events() {
    settings::Settings settings;
    settings.history.early_share_ppm = 0;
    settings.events.resize(2);
    for (settings::Event& event : settings.events) {
        event.begin.binary = event.end.binary = "/usr/bin/app";
        event.begin.name = "begin";
        event.end.name = "end";
        event.threshold = 50ms;
    }
    settings.events[0].name = "query";
    settings.events[1].name = "insert";
    settings.events[1].record = settings::RecordMode::Runs;
    return settings;
}

// Loading takes a second, so all tests share the programs.
class LoadedPrograms : public BpfFixture {
  protected:
    static void SetUpTestSuite() {
        if (::geteuid() != 0) return;
        settings_ = two_events();
        store_ = UnwindStore::create(8 << 20).value();
        threads_.emplace(TimedThreads::create(settings_).value());
        auto loaded = MonitorPrograms::load(settings_, *store_, *threads_);
        ASSERT_TRUE(loaded) << loaded.error().message;
        programs_ = std::move(*loaded);
    }
    static void TearDownTestSuite() {
        programs_.reset();
        threads_.reset();
        store_.reset();
    }

    inline static settings::Settings settings_;
    inline static std::unique_ptr<UnwindStore> store_;
    inline static std::optional<TimedThreads> threads_;
    inline static std::unique_ptr<MonitorPrograms> programs_;
};

class ABreachWatch : public LoadedPrograms {
  protected:
    void SetUp() override {
        LoadedPrograms::SetUp();
        if (IsSkipped()) return;
        table_.emplace(
            RunTable::map(programs_->tags_fd(), programs_->slots_fd(), programs_->open_buckets())
                .value());
        const auto take = [this](const BreachReport& report) {
            if (const auto* const aborted = std::get_if<AbortedRuns>(&report))
                aborted_ += aborted->runs.size();
            const auto* const breach = std::get_if<Breach>(&report);
            if (breach == nullptr) return;
            const std::lock_guard lock(mutex_);
            breaches_.push_back(*breach);
            came_.notify_one();
        };
        watch_ = BreachWatch::create(settings_, *programs_, take).value();
    }
    void TearDown() override {
        if (IsSkipped()) return;
        watch_->want_breach(false);
        watch_.reset();
        table_->for_each_open([this](std::size_t index, std::uint64_t) { table_->tag(index) = 0; });
    }
    // Opens a run of this thread, which began a second ago.
    void open(std::size_t bucket, std::uint32_t event, std::uint64_t deadline_ns) {
        const std::size_t index = bucket * LAGTRAP_BUCKET_SLOTS;
        lagtrap_slot& slot = table_->slot(index);
        slot = {};
        slot.run.event = event;
        slot.run.begin_pid = static_cast<std::uint32_t>(::getpid());
        slot.run.begin_tid = static_cast<std::uint32_t>(::gettid());
        slot.run.begin_ns = slot.run.begin_hit_ns = begin_ns_;
        slot.deadline_ns = deadline_ns & ~LAGTRAP_DEADLINE_REPORTED;
        table_->tag(index) = bucket << 8 | 1;
        table_->want_visit(index, 1);
    }
    Breach next_breach() {
        std::unique_lock lock(mutex_);
        EXPECT_TRUE(came_.wait_for(lock, 60s, [this] { return !breaches_.empty(); }));
        if (breaches_.empty()) return {};
        const Breach first = breaches_.front();
        breaches_.pop_front();
        return first;
    }
    [[nodiscard]] std::uint32_t flag(std::uint32_t lagtrap_watch::*field) const {
        return __atomic_load_n(&(programs_->watch()->*field), __ATOMIC_ACQUIRE);
    }

    const std::uint64_t begin_ns_ = monotonic_ns() - 1'000'000'000;
    std::optional<RunTable> table_;
    std::unique_ptr<BreachWatch> watch_;
    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<Breach> breaches_;
    std::atomic<std::size_t> aborted_{0};
};

TEST_F(ABreachWatch, ReportsAnOverdueRunWhenItIsWanted) {
    open(3, 0, begin_ns_ + 1'000);
    open(5, 1, LAGTRAP_NEVER_NS);
    watch_->start();
    watch_->want_breach(true);
    const Breach breach = next_breach();
    EXPECT_TRUE(breach.at_deadline);
    EXPECT_EQ(breach.run.event, 0U);
    EXPECT_EQ(breach.run.begin_ns, begin_ns_);
    EXPECT_GE(breach.noticed_ns, breach.run.end_ns);
    EXPECT_STRNE(breach.run.comm, "") << "the thread's name";
    EXPECT_EQ(flag(&lagtrap_watch::breach_wanted), 0U) << "one report is enough";
    open(7, 1, begin_ns_ + 1'000);
    watch_->look_soon();
    watch_->want_breach(true);
    EXPECT_EQ(next_breach().run.event, 1U);
}

TEST_F(ABreachWatch, TellsTheProgramsWhatIsWanted) {
    watch_->want_breach(true);
    EXPECT_EQ(flag(&lagtrap_watch::breach_wanted), 1U);
    watch_->want_breach(false);
    EXPECT_EQ(flag(&lagtrap_watch::breach_wanted), 0U);
    watch_->record_runs(BreachWatch::Recorded::Early);
    EXPECT_EQ(flag(&lagtrap_watch::recording), 1U);
    watch_->record_runs(BreachWatch::Recorded::No);
    EXPECT_EQ(flag(&lagtrap_watch::recording), 0U);
    watch_->record_runs(BreachWatch::Recorded::Yes);
    EXPECT_EQ(flag(&lagtrap_watch::recording), 1U);
    watch_->record_runs(BreachWatch::Recorded::No);
}

TEST_F(ABreachWatch, EventsWithoutRecordingsReportNothing) {
    watch_->set_events_without_recordings({0});
    open(3, 0, begin_ns_ + 1'000);
    open(5, 1, begin_ns_ + 2'000);
    watch_->start();
    watch_->want_breach(true);
    EXPECT_EQ(next_breach().run.event, 1U);
}

TEST_F(ABreachWatch, PartiesWithoutRecordingsReportNothing) {
    open(3, 0, begin_ns_ + 1'000);
    table_->slot(3 * LAGTRAP_BUCKET_SLOTS).run.begin_party = 1000;
    open(5, 1, begin_ns_ + 2'000);
    watch_->set_parties_without_recordings({1000});
    watch_->start();
    watch_->want_breach(true);
    EXPECT_EQ(next_breach().run.event, 1U);
}

TEST_F(ABreachWatch, KnowsTheOpenRuns) {
    open(3, 0, LAGTRAP_NEVER_NS);
    const auto tid = static_cast<std::uint32_t>(::gettid());
    EXPECT_TRUE(watch_->is_open(0, tid, begin_ns_));
    EXPECT_FALSE(watch_->is_open(1, tid, begin_ns_));
    EXPECT_EQ(watch_->count()[0].open, 1U);
    const OpenRuns::Snapshot open_runs = watch_->open_runs();
    ASSERT_EQ(open_runs.runs.size(), 1U);
    EXPECT_EQ(open_runs.runs[0].begin_ns, begin_ns_);
    EXPECT_STRNE(open_runs.runs[0].comm, "");
    EXPECT_EQ(open_runs.left_out, 0U);
    watch_->forget_runs(1);
    EXPECT_TRUE(watch_->is_open(0, tid, begin_ns_));
    watch_->forget_runs(0);
    EXPECT_FALSE(watch_->is_open(0, tid, begin_ns_));
    EXPECT_EQ(watch_->count()[0].abandoned, 1U);
}

TEST_F(ABreachWatch, RunsOfAPartyCanBeForgotten) {
    open(3, 0, LAGTRAP_NEVER_NS);
    open(5, 0, LAGTRAP_NEVER_NS);
    table_->slot(5 * LAGTRAP_BUCKET_SLOTS).run.begin_party = 1000;
    watch_->forget_runs_of(0, {1000, 0});
    EXPECT_EQ(watch_->count()[0].open, 1U);
}

TEST_F(ABreachWatch, SweepsReportRunsOfThreadsThatAreGone) {
    open(5, 1, LAGTRAP_NEVER_NS);
    std::thread gone([this] {
        table_->slot(5 * LAGTRAP_BUCKET_SLOTS).run.begin_tid =
            static_cast<std::uint32_t>(::gettid());
    });
    gone.join();
    watch_->sweep();
    EXPECT_EQ(watch_->count()[1].open, 0U);
    EXPECT_EQ(aborted_, 1U);
}

TEST_F(ABreachWatch, EarlyRecordingsAreOffWithoutAShare) {
    EXPECT_EQ(watch_->early().counts.since_ns, 0U);
    EXPECT_THAT(watch_->early().points_ns,
                testing::ElementsAre(LAGTRAP_NEVER_NS, LAGTRAP_NEVER_NS));
}

class MonitorProgramsTest : public LoadedPrograms {
  protected:
    static MarkerPlan plan_in_file() {
        MarkerPlan plan;
        plan.marker.kind = settings::MarkerKind::Function;
        plan.places.file = WatchedFile::open("/proc/self/exe").value();
        plan.places.offsets = {0x10, 0x20};
        return plan;
    }
};

TEST_F(MonitorProgramsTest, TheBreakdownOfTimeCanBeSwitched) {
    EXPECT_TRUE(programs_->counts_times());
    ASSERT_TRUE(programs_->count_times(false));
    EXPECT_FALSE(programs_->counts_times());
    ASSERT_TRUE(programs_->count_times(true));
    EXPECT_TRUE(programs_->counts_times());
}

TEST_F(MonitorProgramsTest, AMarkerHasARequestWithItsNumber) {
    MarkerPlan plan;
    plan.marker.kind = settings::MarkerKind::Tracepoint;
    plan.role = LAGTRAP_ROLE_BEGIN;
    plan.tracepoint_id = 77;
    plan.marker.kind = settings::MarkerKind::Usdt;
    const auto request = programs_->request_for({1, 0}, plan);
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_NE(request->program, nullptr);
    EXPECT_EQ(request->tracepoint_id, 77U);
    EXPECT_EQ(request->cookies, (std::vector<std::uint64_t>{3}));
    EXPECT_EQ(request->file, nullptr);
    EXPECT_FALSE(request->return_probe);
}

TEST_F(MonitorProgramsTest, AddressesHaveTheirCookies) {
    MarkerPlan plan = plan_in_file();
    auto request = programs_->request_for({0, 0}, plan);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->offsets, plan.places.offsets);
    EXPECT_EQ(request->cookies, (std::vector<std::uint64_t>{1, 1}));
    plan.by_frame = true;
    request = programs_->request_for({0, 0}, plan);
    EXPECT_EQ(request->cookies, (std::vector<std::uint64_t>{1 | LAGTRAP_COOKIE_BY_FRAME,
                                                            1 | LAGTRAP_COOKIE_BY_FRAME}));
    plan.by_frame = false;
    plan.places.return_probe = true;
    request = programs_->request_for({0, 0}, plan);
    EXPECT_TRUE(request->return_probe);
    EXPECT_EQ(request->cookies[1],
              1 | std::uint64_t{LAGTRAP_EXIT_RETURNED} << LAGTRAP_COOKIE_EXIT_SHIFT);
}

TEST_F(MonitorProgramsTest, GoFunctionsHaveTheirOwnProgram) {
    MarkerPlan plan = plan_in_file();
    const auto usual = programs_->request_for({0, 0}, plan);
    plan.places.goid_offset = 152;
    const auto of_go = programs_->request_for({0, 0}, plan);
    ASSERT_TRUE(usual && of_go);
    EXPECT_NE(usual->program, of_go->program);
}

TEST_F(MonitorProgramsTest, GroupsBeyondTheRoomAreAnError) {
    EXPECT_TRUE(programs_->scope_group(0, 7, true));
    const Status more = programs_->scope_group(0, 8, true);
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().kind, ErrorKind::TooLarge);
    EXPECT_THAT(more.error().message, HasSubstr("control groups in scopes"));
    EXPECT_TRUE(programs_->scope_group(0, 7, false));
    EXPECT_TRUE(programs_->scope_group(0, 8, true));
    EXPECT_TRUE(programs_->scope_group(0, 8, false));
}

TEST_F(MonitorProgramsTest, PartiesAreLimitedAndReleased) {
    ASSERT_TRUE(programs_->limit(0, {1000, 0}, true));
    EXPECT_TRUE(programs_->parties().limits(0));
    ASSERT_TRUE(programs_->release_all(0));
    EXPECT_FALSE(programs_->parties().limits(0));
}

TEST_F(MonitorProgramsTest, GoroutinesAreKeysIfThePlanSaysSo) {
    EventPlan plan;
    plan.by_goroutine = true;
    ASSERT_TRUE(programs_->configure_plan(0, plan, true));
    EXPECT_TRUE(programs_->pairs_by_goroutine(0));
    EXPECT_FALSE(programs_->pairs_by_goroutine(1));
    ASSERT_TRUE(programs_->pair_by_goroutine(0, false));
    EXPECT_FALSE(programs_->pairs_by_goroutine(0));
}

TEST_F(MonitorProgramsTest, CountersBeginAtZero) {
    const auto counters = programs_->counters(0);
    ASSERT_TRUE(counters);
    EXPECT_EQ(counters->hits(), 0U);
    const auto runs = programs_->run_counters(1);
    ASSERT_TRUE(runs);
    EXPECT_EQ(runs->reported, 0U);
    EXPECT_FALSE(programs_->counters(LAGTRAP_MAX_EVENTS)) << "there is no such event";
}

TEST_F(MonitorProgramsTest, TooManyEventsAreRefused) {
    settings::Settings many;
    many.events.resize(LAGTRAP_MAX_EVENTS + 1);
    const auto loaded = MonitorPrograms::load(many, *store_, *threads_);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().kind, ErrorKind::TooLarge);
    EXPECT_THAT(loaded.error().message, HasSubstr("more than"));
}

}  // namespace
}  // namespace lagtrap::daemon::breach_watch_test
