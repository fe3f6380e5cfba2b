#include "daemon/events/open_runs.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "core/clock.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::daemon::open_runs_test {
namespace {

constexpr std::uint32_t buckets = LAGTRAP_MIN_BUCKETS;
constexpr std::size_t slots = std::size_t{buckets} * LAGTRAP_BUCKET_SLOTS;

// The table as the programs would fill it, in memory files.
class OpenRunsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        tags_fd_ = UniqueFd(::memfd_create("tags", MFD_CLOEXEC));
        slots_fd_ = UniqueFd(::memfd_create("slots", MFD_CLOEXEC));
        ASSERT_EQ(::ftruncate(tags_fd_.get(), buckets * sizeof(lagtrap_bucket)), 0);
        ASSERT_EQ(::ftruncate(slots_fd_.get(), slots * sizeof(lagtrap_slot)), 0);
        tags_memory_ =
            MappedMap::map(tags_fd_.get(), sizeof(lagtrap_bucket), buckets, "tags").value();
        slots_memory_ =
            MappedMap::map(slots_fd_.get(), sizeof(lagtrap_slot), slots, "slots").value();
        const CallFrames frames(std::chrono::minutes(1));
        runs_.emplace(RunTable::map(tags_fd_.get(), slots_fd_.get(), buckets).value(), frames);
        settings::Event by_thread;
        by_thread.name = "by_thread";
        settings::Event at_end = by_thread;
        at_end.breach = settings::BreachMode::End;
        settings::Event by_key = by_thread;
        by_key.key = settings::KeyKind::Argument;
        settings::Event call = by_thread;
        call.begin.kind = call.end.kind = settings::MarkerKind::Function;
        call.end.side = settings::FunctionSide::Return;
        settings::Event of_machine = by_key;
        of_machine.key_scope = settings::KeyScope::Machine;
        events_ = {by_thread, at_end, by_key, call, of_machine};
    }

    lagtrap_slot& open(std::size_t index, std::uint32_t event, std::uint64_t deadline_ns) {
        lagtrap_slot& slot = static_cast<lagtrap_slot*>(slots_memory_.at)[index];
        slot.run.event = event;
        slot.run.begin_pid = static_cast<std::uint32_t>(::getpid());
        slot.run.begin_tid = static_cast<std::uint32_t>(::gettid());
        slot.run.begin_ns = slot.run.begin_hit_ns = now_ns_ - 1000;
        slot.deadline_ns = deadline_ns & ~LAGTRAP_DEADLINE_REPORTED;
        tag(index) = index / LAGTRAP_BUCKET_SLOTS << 8 | 1;  // in its first bucket
        runs_->table().want_visit(index, 1);
        return slot;
    }
    std::uint64_t& tag(std::size_t index) {
        return static_cast<std::uint64_t*>(tags_memory_.at)[index];
    }

    OpenRuns::Look look(OpenRuns::Tell tell) { return look(tell, believed_); }
    OpenRuns::Look look(OpenRuns::Tell tell, const OpenRuns::IsBelieved& believed,
                        std::vector<std::uint64_t> early_points_ns = {}) {
        return runs_->look({now_ns_, events_, tell, believed, std::move(early_points_ns)});
    }
    std::vector<lagtrap_run> snapshot(const OpenRuns::IsBelieved& believed) {
        return runs_->snapshot(now_ns_, believed, 100).runs;
    }
    // Has the bucket of a slot visited at this time and no earlier.
    void set_due(std::size_t index, std::uint64_t due_ns) {
        state(index) &= LAGTRAP_SPILLED_MASK;
        runs_->table().want_visit(index, due_ns);
    }
    std::uint64_t& state(std::size_t index) {
        return runs_->table().state(static_cast<std::uint32_t>(index / LAGTRAP_BUCKET_SLOTS));
    }

    UniqueFd tags_fd_, slots_fd_;
    MappedMap tags_memory_, slots_memory_;
    std::optional<OpenRuns> runs_;
    std::vector<settings::Event> events_;
    std::uint64_t now_ns_ = monotonic_ns() & ~LAGTRAP_DEADLINE_REPORTED;
    const OpenRuns::IsBelieved believed_ = [](std::uint32_t) { return true; };
};

TEST_F(OpenRunsTest, AnEmptyTableHasNothingToLookFor) {
    const auto seen = look(OpenRuns::Tell::Everything);
    EXPECT_EQ(seen.visited, 0U);
    EXPECT_TRUE(seen.overdue.empty());
    EXPECT_EQ(seen.earliest_deadline_ns, LAGTRAP_NEVER_NS);
    EXPECT_EQ(seen.next_due_ns, LAGTRAP_NEVER_NS);
}

TEST_F(OpenRunsTest, TellsOfAnOverdueRunOnce) {
    open(17, 0, now_ns_ - 1);
    open(4000, 0, now_ns_ + 500);
    open(slots - 2, 0, now_ns_ + 300);
    const auto seen = look(OpenRuns::Tell::Everything);
    EXPECT_EQ(seen.visited, 3U);
    ASSERT_EQ(seen.overdue.size(), 1U);
    EXPECT_EQ(seen.overdue[0].end_ns, now_ns_);
    EXPECT_EQ(seen.overdue[0].flags, LAGTRAP_RUN_OPEN | LAGTRAP_RUN_DELAY | LAGTRAP_RUN_REPORTED);
    EXPECT_EQ(seen.earliest_deadline_ns, now_ns_ + 300);
    EXPECT_TRUE(look(OpenRuns::Tell::Everything).overdue.empty());
}

TEST_F(OpenRunsTest, AnEndAndALookAtOnceTellOfADelayOnce) {
    constexpr int rounds = 2000;
    std::atomic<int> round{0}, ended{0};
    int reported_by_end = 0;
    // Removes the deadline as end_run() does.
    std::thread ending([&] {
        for (int number = 1; number <= rounds; ++number) {
            while (round.load() != number) std::this_thread::yield();
            auto& slot = static_cast<lagtrap_slot*>(slots_memory_.at)[17];
            if (!(__atomic_exchange_n(&slot.deadline_ns, 0, __ATOMIC_SEQ_CST) &
                  LAGTRAP_DEADLINE_REPORTED))
                ++reported_by_end;
            ended.store(number);
        }
    });
    std::size_t reported_by_look = 0;
    for (int number = 1; number <= rounds; ++number) {
        open(17, 0, now_ns_ - 2);
        round.store(number);
        reported_by_look += look(OpenRuns::Tell::Everything).overdue.size();
        while (ended.load() != number) std::this_thread::yield();
    }
    ending.join();
    EXPECT_EQ(reported_by_look + static_cast<std::size_t>(reported_by_end),
              static_cast<std::size_t>(rounds));
}

TEST_F(OpenRunsTest, KeepsWhatItShallNotTellYet) {
    open(17, 0, now_ns_ - 1);
    EXPECT_TRUE(look(OpenRuns::Tell::Nothing).overdue.empty());
    EXPECT_EQ(look(OpenRuns::Tell::Everything).overdue.size(), 1U);
}

TEST_F(OpenRunsTest, PassesOverEventsThatWaitForTheirEnd) {
    open(17, 1, now_ns_ - 1);
    const auto seen = look(OpenRuns::Tell::Everything);
    EXPECT_EQ(seen.visited, 1U);
    EXPECT_TRUE(seen.overdue.empty());
    EXPECT_EQ(seen.earliest_deadline_ns, LAGTRAP_NEVER_NS);
}

TEST_F(OpenRunsTest, PassesOverASlotThatIsBeingFilled) {
    open(17, 0, 0);
    EXPECT_TRUE(look(OpenRuns::Tell::Everything).overdue.empty());
    EXPECT_TRUE(snapshot(believed_).empty());
}

TEST_F(OpenRunsTest, GivesUpRunsOfThreadsThatAreGone) {
    std::uint32_t gone = 0;
    std::thread([&] { gone = static_cast<std::uint32_t>(::gettid()); }).join();
    open(17, 0, now_ns_ - 1).run.begin_tid = gone;
    // by key: its process lives, so it may still end
    open(18, 2, now_ns_ - 1).run.begin_tid = gone;
    const auto seen = look(OpenRuns::Tell::Everything);
    ASSERT_EQ(seen.overdue.size(), 1U);
    EXPECT_EQ(seen.overdue[0].event, 2U);
    EXPECT_EQ(tag(17), 0U);
    EXPECT_EQ(runs_->count(now_ns_).at(0).abandoned, 1U);
}

TEST_F(OpenRunsTest, GivesUpCallsWhoseFrameIsGone) {
    // A thread that sleeps deep in its stack: the frame of `alive` is above its stack pointer, that
    // of `gone` below.
    std::uint32_t tid = 0;
    char frame = 0;
    std::uint64_t alive = 0;
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    std::thread sleeper([&] {
        alive = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) + 4096;
        __atomic_store_n(&tid, static_cast<std::uint32_t>(::gettid()), __ATOMIC_RELEASE);
        EXPECT_EQ(::read(pipe[0], &frame, 1), 1);
    });
    const auto sleeping = [&] {
        const std::uint32_t now = __atomic_load_n(&tid, __ATOMIC_ACQUIRE);
        std::ifstream file("/proc/self/task/" + std::to_string(now) + "/syscall");
        std::string text;
        return now != 0 && std::getline(file, text) && !text.starts_with("running");
    };
    while (!sleeping()) std::this_thread::yield();
    for (const auto& [index, stack_pointer] :
         {std::pair{17, alive}, std::pair{18, alive - (1 << 20)}}) {
        lagtrap_slot& slot = open(static_cast<std::size_t>(index), 3, now_ns_ - 1);
        slot.stack_pointer = stack_pointer;
        slot.run.begin_tid = tid;
        slot.run.begin_hit_ns = monotonic_ns();
    }
    const auto seen = look(OpenRuns::Tell::Everything);
    EXPECT_EQ(seen.overdue.size(), 1U);
    EXPECT_NE(tag(17), 0U);
    EXPECT_EQ(tag(18), 0U);
    EXPECT_EQ(runs_->count(now_ns_).at(3).left, 1U);
    EXPECT_EQ(runs_->count(now_ns_).at(3).abandoned, 1U);
    EXPECT_EQ(::write(pipe[1], "x", 1), 1);
    sleeper.join();
}

// Whatever the thread is doing: this one is running, and has no known stack pointer.
TEST_F(OpenRunsTest, GivesUpCallsWhosePlaceAnotherCallHas) {
    std::uint64_t word = 0x401234;
    for (const std::size_t index : {17, 18}) {
        lagtrap_slot& slot = open(index, 3, now_ns_ - 1);
        slot.stack_pointer = reinterpret_cast<std::uint64_t>(&word);
        slot.return_address = index == 17 ? word : 0x405678;
    }
    EXPECT_EQ(snapshot(believed_).size(), 1U);
    const auto seen = look(OpenRuns::Tell::Everything);
    EXPECT_EQ(seen.overdue.size(), 1U);
    EXPECT_NE(tag(17), 0U);
    EXPECT_EQ(tag(18), 0U);
    EXPECT_EQ(runs_->count(now_ns_).at(3).left, 1U);
}

TEST_F(OpenRunsTest, ACallThatWasLeftBeginsNoEarlyRecording) {
    std::uint64_t word = 0x405678;
    lagtrap_slot& slot = open(17, 3, now_ns_ + 1'000'000'000);
    slot.stack_pointer = reinterpret_cast<std::uint64_t>(&word);
    slot.return_address = 0x401234;
    const auto seen = look(OpenRuns::Tell::WhoMayRecord, believed_, {500, 500, 500, 500});
    EXPECT_EQ(seen.early_pid, 0U);
    EXPECT_EQ(tag(17), 0U);
    EXPECT_EQ(runs_->count(now_ns_).at(3).left, 1U);
}

TEST_F(OpenRunsTest, ADelayThatWasToldAndLeftIsNotSaidToGoOn) {
    std::uint64_t word = 0x401234;
    lagtrap_slot& slot = open(17, 3, now_ns_ - 1);
    slot.stack_pointer = reinterpret_cast<std::uint64_t>(&word);
    slot.return_address = word;
    ASSERT_EQ(look(OpenRuns::Tell::Everything).overdue.size(), 1U);
    word = 0x405678;
    const auto runs = snapshot(believed_);
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_NE(runs[0].flags & LAGTRAP_RUN_ABANDONED, 0);
    runs_->sweep(now_ns_, events_);
    EXPECT_EQ(tag(17), 0U);
    EXPECT_EQ(runs_->count(now_ns_).at(3).left, 1U);
    EXPECT_EQ(runs_->left_delays().size(), 1U);
}

TEST_F(OpenRunsTest, ARunFreedInItsSecondBucketIsNoLongerCountedAsSpilled) {
    const std::size_t spill_count = 5 * LAGTRAP_BUCKET_SLOTS + LAGTRAP_BUCKET_TAGS;
    tag(spill_count) = 1;
    lagtrap_slot& slot = open(17, 0, now_ns_ - 1);
    slot.run.begin_pid = slot.run.begin_tid = 0x3ffffff;
    tag(17) = 5 << 8 | 1;
    EXPECT_EQ(look(OpenRuns::Tell::Everything).visited, 1U) << "the count is no run";
    EXPECT_EQ(tag(17), 0U);
    EXPECT_EQ(tag(spill_count) & LAGTRAP_SPILLED_MASK, 0U);
}

TEST_F(OpenRunsTest, SweepsBeforeTheDeadlineToo) {
    std::uint32_t gone = 0;
    std::thread([&] { gone = static_cast<std::uint32_t>(::gettid()); }).join();
    open(17, 0, LAGTRAP_NEVER_NS).run.begin_tid = gone;
    open(18, 0, LAGTRAP_NEVER_NS);
    runs_->sweep(now_ns_, events_);
    EXPECT_EQ(tag(17), 0U);
    EXPECT_NE(tag(18), 0U);
    EXPECT_EQ(runs_->count(now_ns_).at(0).open, 1U);
}

// Its process was killed. The recording that it triggered has what was known about it.
TEST_F(OpenRunsTest, ADelayThatWasToldIsKnownWhenNobodyIsLeftToEndIt) {
    open(17, 0, now_ns_ - 1).trace_text_bytes = 7;
    open(21, 0, now_ns_ + 500).run.begin_tid = 0x3ffffff;
    ASSERT_EQ(look(OpenRuns::Tell::Everything).overdue.size(), 1U);
    static_cast<lagtrap_slot*>(slots_memory_.at)[17].run.begin_tid = 0x3fffffe;
    runs_->sweep(now_ns_, events_);
    EXPECT_EQ(runs_->count(now_ns_).at(0).abandoned, 2U);
    EXPECT_TRUE(snapshot(believed_).empty());
    ASSERT_EQ(runs_->left_delays().size(), 1U) << "the other was never told";
    const OpenRuns::LeftDelay& left = runs_->left_delays().front();
    EXPECT_EQ(left.run.begin_tid, 0x3fffffeU);
    EXPECT_EQ(left.run.header.type, LAGTRAP_RECORD_RUN);
    EXPECT_GE(left.run.end_ns, now_ns_);
    EXPECT_EQ(left.run.flags & (LAGTRAP_RUN_OPEN | LAGTRAP_RUN_REPORTED),
              LAGTRAP_RUN_OPEN | LAGTRAP_RUN_REPORTED);
    EXPECT_EQ(left.text.bytes, 7);
    runs_->forget_left_delays();
    EXPECT_TRUE(runs_->left_delays().empty());
}

TEST_F(OpenRunsTest, KeysOfTheMachineOutliveTheirProcessForSomeTime) {
    constexpr std::uint64_t second_ns = 1'000'000'000, hour_ns = 3600 * second_ns;
    const auto begun_before = [&](std::size_t index, std::uint64_t age_ns) -> lagtrap_slot& {
        lagtrap_slot& slot = open(index, 4, 0);
        slot.run.begin_ns = slot.run.begin_hit_ns = now_ns_ - age_ns;
        slot.deadline_ns = slot.run.begin_ns + second_ns;
        return slot;
    };
    now_ns_ += 3 * hour_ns;
    begun_before(17, 50 * second_ns).run.begin_pid = 0;
    begun_before(18, 61 * second_ns).run.begin_pid = 0;
    begun_before(19, hour_ns - second_ns);
    begun_before(20, hour_ns + second_ns);
    runs_->sweep(now_ns_, events_);
    EXPECT_NE(tag(17), 0U) << "another process may end it";
    EXPECT_EQ(tag(18), 0U);
    EXPECT_NE(tag(19), 0U);
    EXPECT_EQ(tag(20), 0U);
    EXPECT_EQ(runs_->count(now_ns_).at(4).expired, 2U);
}

TEST_F(OpenRunsTest, LeavesOutAPartysRuns) {
    open(17, 0, now_ns_ - 1).run.begin_party = 7;
    open(18, 0, now_ns_ - 1).run.begin_party = 9;
    open(19, 2, now_ns_ - 1).run.begin_party = 9;
    runs_->leave_out(0, {9, 1}, events_);
    EXPECT_NE(tag(18), 0U) << "of another process of that user";
    runs_->leave_out(0, {9, 0}, events_);
    EXPECT_NE(tag(17), 0U);
    EXPECT_EQ(tag(18), 0U);
    EXPECT_NE(tag(19), 0U) << "of another event";
}

TEST_F(OpenRunsTest, UsersWithoutRecordingsAreToldOfInThoseOfOthers) {
    open(17, 0, now_ns_ - 1).run.begin_party = 9;
    runs_->set_parties_without_recordings({9});
    EXPECT_TRUE(look(OpenRuns::Tell::WhoMayRecord).overdue.empty());
    EXPECT_EQ(look(OpenRuns::Tell::Everything).overdue.size(), 1U);
}

TEST_F(OpenRunsTest, EventsThatMayNotRecordAreReportedInRecordingsOfOthers) {
    open(17, 0, now_ns_ - 1);
    runs_->set_events_without_recordings({0});
    EXPECT_TRUE(look(OpenRuns::Tell::WhoMayRecord).overdue.empty());
    EXPECT_EQ(look(OpenRuns::Tell::WhoMayRecord, believed_, {500}).early_pid, 0U);
    EXPECT_EQ(look(OpenRuns::Tell::Everything).overdue.size(), 1U);
}

TEST_F(OpenRunsTest, ASnapshotHasWholeRecordsWithTheirStages) {
    lagtrap_slot& slot = open(17, 0, now_ns_ + 1);
    slot.stage_next = 2;
    slot.run.stages[1].stage = 7;
    open(18, 0, now_ns_ + 1).stage_next = LAGTRAP_MAX_STAGES + 5;
    const auto runs = snapshot(believed_);
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_EQ(runs[0].header.size_bytes,
              offsetof(lagtrap_run, stages) + 2 * sizeof(lagtrap_stage_hit));
    EXPECT_EQ(runs[0].stages[1].stage, 7);
    EXPECT_EQ(runs[0].flags, LAGTRAP_RUN_OPEN);
    EXPECT_EQ(runs[1].stage_count, LAGTRAP_MAX_STAGES);
}

TEST_F(OpenRunsTest, PassesOverWhatProvesNothing) {
    open(17, 0, now_ns_ - 1).doubtful = 1;
    open(18, 2, now_ns_ - 1);
    const auto all_but_keyed = [](std::uint32_t event) { return event != 2; };
    EXPECT_TRUE(look(OpenRuns::Tell::Everything, all_but_keyed).overdue.empty());
    EXPECT_TRUE(snapshot(all_but_keyed).empty()) << "they would be shown as slow";
    EXPECT_EQ(look(OpenRuns::Tell::Everything).overdue.size(), 1U) << "the doubtful one stays so";
    const auto counts = runs_->count(now_ns_);
    EXPECT_EQ(counts.at(0).open, 1U);
    EXPECT_EQ(counts.at(0).overdue, 0U);
    EXPECT_EQ(counts.at(2).reported, 1U);
}

TEST_F(OpenRunsTest, ARunThatIsBeingEndedIsNoLongerThere) {
    open(17, 0, now_ns_ - 1);
    tag(17) = LAGTRAP_TAG_TAKEN;
    EXPECT_EQ(look(OpenRuns::Tell::Everything).visited, 0U);
    runs_->drop(0, events_);
    EXPECT_EQ(tag(17), LAGTRAP_TAG_TAKEN) << "its slot belongs to who ends it";
}

// A due time is rounded up to a multiple of 65.536 us.
TEST_F(OpenRunsTest, ARunIsVisitedWhenItIsDue) {
    constexpr std::uint64_t ms = 1'000'000;
    open(17, 0, now_ns_ + 5 * ms);
    set_due(17, now_ns_ + 5 * ms);
    const auto before = look(OpenRuns::Tell::Everything);
    EXPECT_EQ(before.visited, 0U);
    EXPECT_GE(before.next_due_ns, now_ns_ + 5 * ms);
    EXPECT_LT(before.next_due_ns, now_ns_ + 5 * ms + 65'536);
    now_ns_ = before.next_due_ns;
    EXPECT_EQ(look(OpenRuns::Tell::Everything).overdue.size(), 1U);
    EXPECT_EQ(look(OpenRuns::Tell::Everything).visited, 0U) << "its end is awaited";
}

TEST_F(OpenRunsTest, ARunBeforeItsDeadlineIsVisitedAgain) {
    open(17, 0, now_ns_ + 500'000);
    EXPECT_EQ(look(OpenRuns::Tell::Everything).earliest_deadline_ns, now_ns_ + 500'000);
    EXPECT_EQ(look(OpenRuns::Tell::Everything).visited, 0U);
    now_ns_ += 1'000'000;
    EXPECT_EQ(look(OpenRuns::Tell::Everything).overdue.size(), 1U);
}

TEST_F(OpenRunsTest, ARunThatHasEndedIsNotWaitedFor) {
    open(17, 0, now_ns_ + 5'000'000);
    set_due(17, now_ns_ + 5'000'000);
    tag(17) = 0;
    EXPECT_EQ(look(OpenRuns::Tell::Everything).next_due_ns, LAGTRAP_NEVER_NS);
    EXPECT_EQ(state(17), 0U);
}

TEST_F(OpenRunsTest, ARunThatTakesThePlaceOfAnotherIsVisited) {
    open(17, 0, now_ns_ - 1);
    const std::uint64_t of_run = tag(17);
    tag(17) = LAGTRAP_TAG_TAKEN;
    EXPECT_EQ(look(OpenRuns::Tell::Everything).visited, 0U);
    tag(17) = of_run;
    EXPECT_EQ(look(OpenRuns::Tell::Everything).visited, 1U);
}

// A begin lowers the time of its bucket after it has claimed its slot, at any moment of a visit.
TEST_F(OpenRunsTest, NoBeginGoesUnseen) {
    constexpr std::uint64_t rounds = 1'000;
    std::atomic<std::uint64_t> begun{0}, reported{0};
    const auto tid = static_cast<std::uint32_t>(::gettid());
    std::thread beginning([&] {
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            open(17, 0, now_ns_ - 2).run.begin_tid = tid;
            begun.store(round);
            while (reported.load() != round) std::this_thread::yield();
            tag(17) = 0;
        }
    });
    std::uint64_t seen = 0;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        std::size_t overdue = 0;
        while (overdue == 0 && (begun.load() != round || state(17) != 0))
            overdue += look(OpenRuns::Tell::Everything).overdue.size();
        seen += overdue;
        while (begun.load() != round) std::this_thread::yield();
        reported.store(round);
    }
    beginning.join();
    EXPECT_EQ(seen, rounds);
}

// The cost of looking grows with the runs that are open when they are due, not with all.
TEST_F(OpenRunsTest, AMillionShortRunsAreNotVisited) {
    constexpr std::uint64_t threshold_ns = 10'000'000, duration_ns = 20'000, runs = 1'000'000;
    std::uint64_t visited = 0, next_look_ns = now_ns_;
    for (std::uint64_t run = 0; run < runs; ++run) {
        const std::size_t index = run * 7919 % buckets * LAGTRAP_BUCKET_SLOTS;
        if (now_ns_ >= next_look_ns) {
            const auto seen = look(OpenRuns::Tell::Everything);
            visited += seen.visited;
            next_look_ns =
                std::min(now_ns_ + threshold_ns, std::max(seen.next_due_ns, now_ns_ + 1'000'000));
        }
        open(index, 0, now_ns_ + threshold_ns);
        set_due(index, now_ns_ + threshold_ns);
        tag(index) = 0;
        now_ns_ += duration_ns;
    }
    EXPECT_EQ(visited, 0U);
}

TEST_F(OpenRunsTest, EarlyPointsThatAreLowerNowReachOpenRuns) {
    open(17, 0, now_ns_ + 1'000'000'000);
    set_due(17, now_ns_ + 1'000'000'000);
    OpenRuns::Pass pass{
        now_ns_, events_, OpenRuns::Tell::WhoMayRecord, believed_, {500, 500, 500, 500, 500}};
    EXPECT_EQ(runs_->look(pass).early_pid, 0U);
    pass.all = true;
    EXPECT_EQ(runs_->look(pass).early_pid, static_cast<std::uint32_t>(::getpid()));
    pass.all = false;
    EXPECT_EQ(runs_->look(pass).early_pid, static_cast<std::uint32_t>(::getpid()))
        << "as long as it is open";
}

TEST_F(OpenRunsTest, ThousandsOfDelaysAtOnceAreReportedInSeveralPasses) {
    for (std::size_t bucket = 0; bucket < 600; ++bucket)
        open(bucket * LAGTRAP_BUCKET_SLOTS, 0, now_ns_ - 1);
    EXPECT_EQ(look(OpenRuns::Tell::Everything).overdue.size(), 512U);
    EXPECT_EQ(look(OpenRuns::Tell::Everything).overdue.size(), 88U);
}

TEST_F(OpenRunsTest, ASnapshotBeginsWithTheRunsOverTheirThreshold) {
    for (std::size_t index = 0; index < 5; ++index) open(index, 0, now_ns_ + 500);
    open(4000, 0, now_ns_ - 1);
    const auto few = runs_->snapshot(now_ns_, believed_, 2);
    ASSERT_EQ(few.runs.size(), 2U);
    EXPECT_EQ(few.left_out, 4U);
    auto runs = few.runs;
    fill_names(runs);
    EXPECT_STRNE(runs[0].comm, "");
    EXPECT_STREQ(runs[0].comm, runs[1].comm);
}

TEST_F(OpenRunsTest, ASweepGoesOnWhereItStopped) {
    for (std::size_t bucket = 0; bucket < 10; ++bucket)
        open(bucket * LAGTRAP_BUCKET_SLOTS, 0, LAGTRAP_NEVER_NS).run.begin_tid = 0x3ffffff;
    EXPECT_FALSE(runs_->sweep_part(now_ns_, events_, 4));
    EXPECT_EQ(runs_->count(now_ns_).at(0).open, 6U);
    EXPECT_FALSE(runs_->sweep_part(now_ns_, events_, 4));
    EXPECT_TRUE(runs_->sweep_part(now_ns_, events_, 4));
    EXPECT_EQ(runs_->count(now_ns_).at(0).open, 0U);
    EXPECT_EQ(runs_->count_swept(0).abandoned, 10U);
}

TEST(RunTableSize, HoldsTheRunsThatAreWanted) {
    EXPECT_EQ(RunTable::buckets_for(1), LAGTRAP_MIN_BUCKETS);
    EXPECT_EQ(RunTable::buckets_for(60'000), 16384U);
    EXPECT_GE(RunTable::buckets_for(262'144) * LAGTRAP_BUCKET_TAGS, 262'144U);
    EXPECT_EQ(RunTable::buckets_for(1ULL << 40), LAGTRAP_MAX_BUCKETS);
    EXPECT_EQ(RunTable::buckets_in(1ULL << 30), LAGTRAP_MIN_BUCKETS);
    EXPECT_EQ(RunTable::buckets_in(16ULL << 30), 2048U);
    EXPECT_EQ(RunTable::buckets_in(1ULL << 42), LAGTRAP_MAX_BUCKETS);
}

// If an event has more open runs than is plausible, the very old ones are dropped.
TEST_F(OpenRunsTest, StaleRunsGoWhereThereAreMany) {
    const auto open_many = [&](std::uint32_t event, std::size_t count, std::size_t from,
                               std::uint64_t age_ns) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t index = from + i + i / LAGTRAP_BUCKET_TAGS;  // skips the states
            const std::uint64_t begin_ns = now_ns_ - age_ns;
            open(index, event, begin_ns + 1'000'000).run.begin_hit_ns = begin_ns;
        }
    };
    events_[0].key = events_[1].key = settings::KeyKind::Argument;
    events_[0].key_scope = events_[1].key_scope = settings::KeyScope::Machine;
    now_ns_ += 2 * LAGTRAP_STALE_NS;
    open_many(0, 300, 0, LAGTRAP_STALE_NS + 1);
    open_many(1, 200, 1024, LAGTRAP_STALE_NS + 1);
    open(4000, 0, now_ns_ + 1).run.begin_hit_ns = now_ns_ - 1;
    EXPECT_EQ(runs_->count(now_ns_).at(0).stale, 300U);
    runs_->sweep(now_ns_, events_);
    const auto counts = runs_->count(now_ns_);
    EXPECT_EQ(counts.at(0).expired, 300U);
    EXPECT_EQ(counts.at(0).open, 1U) << "one is young";
    EXPECT_EQ(counts.at(1).open, 200U);
    EXPECT_EQ(counts.at(1).stale, 200U);
}

}  // namespace
}  // namespace lagtrap::daemon::open_runs_test
