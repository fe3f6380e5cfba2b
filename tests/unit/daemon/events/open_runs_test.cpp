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

// The table as the programs would fill it, in memory files.
class OpenRunsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        tags_fd_ = UniqueFd(::memfd_create("tags", MFD_CLOEXEC));
        slots_fd_ = UniqueFd(::memfd_create("slots", MFD_CLOEXEC));
        ASSERT_EQ(::ftruncate(tags_fd_.get(), LAGTRAP_BUCKETS * sizeof(lagtrap_bucket)), 0);
        ASSERT_EQ(::ftruncate(slots_fd_.get(), LAGTRAP_OPEN_SLOTS * sizeof(lagtrap_slot)), 0);
        tags_memory_ = MappedMap::map(tags_fd_.get(), sizeof(lagtrap_bucket), LAGTRAP_BUCKETS, "tags").value();
        slots_memory_ = MappedMap::map(slots_fd_.get(), sizeof(lagtrap_slot), LAGTRAP_OPEN_SLOTS, "slots").value();
        const CallFrames frames(std::chrono::minutes(1));
        runs_.emplace(RunTable::map(tags_fd_.get(), slots_fd_.get()).value(), frames);
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
        slot.deadline_ns = deadline_ns & ~LAGTRAP_DEADLINE_TOLD;
        tag(index) = index / LAGTRAP_BUCKET_SLOTS << 8 | 1;  // in its first bucket
        return slot;
    }
    std::uint64_t& tag(std::size_t index) { return static_cast<std::uint64_t*>(tags_memory_.at)[index]; }

    UniqueFd tags_fd_, slots_fd_;
    MappedMap tags_memory_, slots_memory_;
    std::optional<OpenRuns> runs_;
    std::vector<settings::Event> events_;
    std::uint64_t now_ns_ = monotonic_ns() & ~LAGTRAP_DEADLINE_TOLD;
    const OpenRuns::IsBelieved believed_ = [](std::uint32_t) { return true; };
};

TEST_F(OpenRunsTest, AnEmptyTableHasNothingToLookFor) {
    const auto look = runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_);
    EXPECT_EQ(look.open, 0U);
    EXPECT_TRUE(look.overdue.empty());
    EXPECT_EQ(look.earliest_deadline_ns, LAGTRAP_NEVER_NS);
}

TEST_F(OpenRunsTest, TellsOfAnOverdueRunOnce) {
    open(17, 0, now_ns_ - 1);
    open(4000, 0, now_ns_ + 500);
    open(LAGTRAP_OPEN_SLOTS - 2, 0, now_ns_ + 300);
    const auto look = runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_);
    EXPECT_EQ(look.open, 3U);
    ASSERT_EQ(look.overdue.size(), 1U);
    EXPECT_EQ(look.overdue[0].end_ns, now_ns_);
    EXPECT_EQ(look.overdue[0].flags, LAGTRAP_RUN_OPEN | LAGTRAP_RUN_DELAY | LAGTRAP_RUN_REPORTED);
    EXPECT_STRNE(look.overdue[0].comm, "");
    EXPECT_EQ(look.earliest_deadline_ns, now_ns_ + 300);
    EXPECT_TRUE(runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_).overdue.empty());
}

TEST_F(OpenRunsTest, AnEndAndALookAtOnceTellOfADelayOnce) {
    constexpr int rounds = 2000;
    std::atomic<int> round{0}, ended{0};
    int told_by_end = 0;
    // Removes the deadline as end_run() does.
    std::thread ending([&] {
        for (int number = 1; number <= rounds; ++number) {
            while (round.load() != number) std::this_thread::yield();
            auto& slot = static_cast<lagtrap_slot*>(slots_memory_.at)[17];
            if (!(__atomic_exchange_n(&slot.deadline_ns, 0, __ATOMIC_SEQ_CST) & LAGTRAP_DEADLINE_TOLD)) ++told_by_end;
            ended.store(number);
        }
    });
    std::size_t told_by_look = 0;
    for (int number = 1; number <= rounds; ++number) {
        open(17, 0, now_ns_ - 2);
        round.store(number);
        told_by_look += runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_).overdue.size();
        while (ended.load() != number) std::this_thread::yield();
    }
    ending.join();
    EXPECT_EQ(told_by_look + static_cast<std::size_t>(told_by_end), static_cast<std::size_t>(rounds));
}

TEST_F(OpenRunsTest, KeepsWhatItShallNotTellYet) {
    open(17, 0, now_ns_ - 1);
    EXPECT_TRUE(runs_->look(now_ns_, events_, OpenRuns::Tell::Nothing, believed_).overdue.empty());
    EXPECT_EQ(runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_).overdue.size(), 1U);
}

TEST_F(OpenRunsTest, PassesOverEventsThatWaitForTheirEnd) {
    open(17, 1, now_ns_ - 1);
    const auto look = runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_);
    EXPECT_EQ(look.open, 1U);
    EXPECT_TRUE(look.overdue.empty());
    EXPECT_EQ(look.earliest_deadline_ns, LAGTRAP_NEVER_NS);
}

TEST_F(OpenRunsTest, PassesOverASlotThatIsBeingFilled) {
    open(17, 0, 0);
    EXPECT_TRUE(runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_).overdue.empty());
    EXPECT_TRUE(runs_->snapshot(now_ns_, believed_).empty());
}

TEST_F(OpenRunsTest, GivesUpRunsOfThreadsThatAreGone) {
    std::uint32_t gone = 0;
    std::thread([&] { gone = static_cast<std::uint32_t>(::gettid()); }).join();
    open(17, 0, now_ns_ - 1).run.begin_tid = gone;
    open(18, 2, now_ns_ - 1).run.begin_tid = gone;  // by key: its process lives, so it may still end
    const auto look = runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_);
    ASSERT_EQ(look.overdue.size(), 1U);
    EXPECT_EQ(look.overdue[0].event, 2U);
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
    for (const auto& [index, stack_pointer] : {std::pair{17, alive}, std::pair{18, alive - (1 << 20)}}) {
        lagtrap_slot& slot = open(static_cast<std::size_t>(index), 3, now_ns_ - 1);
        slot.stack_pointer = stack_pointer;
        slot.run.begin_tid = tid;
        slot.run.begin_hit_ns = monotonic_ns();
    }
    const auto look = runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_);
    EXPECT_EQ(look.overdue.size(), 1U);
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
    EXPECT_EQ(runs_->snapshot(now_ns_, believed_).size(), 1U);
    const auto look = runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_);
    EXPECT_EQ(look.overdue.size(), 1U);
    EXPECT_NE(tag(17), 0U);
    EXPECT_EQ(tag(18), 0U);
    EXPECT_EQ(runs_->count(now_ns_).at(3).left, 1U);
}

TEST_F(OpenRunsTest, ACallThatWasLeftBeginsNoEarlyRecording) {
    std::uint64_t word = 0x405678;
    lagtrap_slot& slot = open(17, 3, now_ns_ + 1'000'000'000);
    slot.stack_pointer = reinterpret_cast<std::uint64_t>(&word);
    slot.return_address = 0x401234;
    const auto look = runs_->look(now_ns_, events_, OpenRuns::Tell::WhoMayRecord, believed_, {500, 500, 500, 500});
    EXPECT_EQ(look.early_pid, 0U);
    EXPECT_EQ(tag(17), 0U);
    EXPECT_EQ(runs_->count(now_ns_).at(3).left, 1U);
}

TEST_F(OpenRunsTest, ADelayThatWasToldAndLeftIsNotSaidToGoOn) {
    std::uint64_t word = 0x401234;
    lagtrap_slot& slot = open(17, 3, now_ns_ - 1);
    slot.stack_pointer = reinterpret_cast<std::uint64_t>(&word);
    slot.return_address = word;
    ASSERT_EQ(runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_).overdue.size(), 1U);
    word = 0x405678;
    const auto runs = runs_->snapshot(now_ns_, believed_);
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
    EXPECT_EQ(runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_).open, 1U) << "the count is no run";
    EXPECT_EQ(tag(17), 0U);
    EXPECT_EQ(tag(spill_count), 0U);
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
    ASSERT_EQ(runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_).overdue.size(), 1U);
    static_cast<lagtrap_slot*>(slots_memory_.at)[17].run.begin_tid = 0x3fffffe;
    runs_->sweep(now_ns_, events_);
    EXPECT_EQ(runs_->count(now_ns_).at(0).abandoned, 2U);
    EXPECT_TRUE(runs_->snapshot(now_ns_, believed_).empty());
    ASSERT_EQ(runs_->left_delays().size(), 1U) << "the other was never told";
    const OpenRuns::LeftDelay& left = runs_->left_delays().front();
    EXPECT_EQ(left.run.begin_tid, 0x3fffffeU);
    EXPECT_EQ(left.run.header.type, LAGTRAP_RECORD_RUN);
    EXPECT_GE(left.run.end_ns, now_ns_);
    EXPECT_EQ(left.run.flags & (LAGTRAP_RUN_OPEN | LAGTRAP_RUN_REPORTED), LAGTRAP_RUN_OPEN | LAGTRAP_RUN_REPORTED);
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
    EXPECT_TRUE(runs_->look(now_ns_, events_, OpenRuns::Tell::WhoMayRecord, believed_).overdue.empty());
    EXPECT_EQ(runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_).overdue.size(), 1U);
}

TEST_F(OpenRunsTest, ASnapshotHasWholeRecordsWithTheirStages) {
    lagtrap_slot& slot = open(17, 0, now_ns_ + 1);
    slot.stage_next = 2;
    slot.run.stages[1].stage = 7;
    open(18, 0, now_ns_ + 1).stage_next = LAGTRAP_MAX_STAGES + 5;
    const auto runs = runs_->snapshot(now_ns_, believed_);
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_EQ(runs[0].header.size_bytes, offsetof(lagtrap_run, stages) + 2 * sizeof(lagtrap_stage_hit));
    EXPECT_EQ(runs[0].stages[1].stage, 7);
    EXPECT_EQ(runs[0].flags, LAGTRAP_RUN_OPEN);
    EXPECT_EQ(runs[1].stage_count, LAGTRAP_MAX_STAGES);
}

TEST_F(OpenRunsTest, PassesOverWhatProvesNothing) {
    open(17, 0, now_ns_ - 1).doubtful = 1;
    open(18, 2, now_ns_ - 1);
    const auto all_but_keyed = [](std::uint32_t event) { return event != 2; };
    EXPECT_TRUE(runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, all_but_keyed).overdue.empty());
    EXPECT_TRUE(runs_->snapshot(now_ns_, all_but_keyed).empty()) << "they would be shown as slow";
    EXPECT_EQ(runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_).overdue.size(), 1U)
        << "the doubtful one stays so";
    const auto counts = runs_->count(now_ns_);
    EXPECT_EQ(counts.at(0).open, 1U);
    EXPECT_EQ(counts.at(0).overdue, 0U);
    EXPECT_EQ(counts.at(2).told, 1U);
}

TEST_F(OpenRunsTest, ARunThatIsBeingEndedIsNoLongerThere) {
    open(17, 0, now_ns_ - 1);
    tag(17) = LAGTRAP_TAG_TAKEN;
    EXPECT_EQ(runs_->look(now_ns_, events_, OpenRuns::Tell::Everything, believed_).open, 0U);
    runs_->drop(0, events_);
    EXPECT_EQ(tag(17), LAGTRAP_TAG_TAKEN) << "its slot belongs to who ends it";
}

// If an event has more open runs than is plausible, the very old ones are dropped.
TEST_F(OpenRunsTest, StaleRunsGoWhereThereAreMany) {
    const auto open_many = [&](std::uint32_t event, std::size_t count, std::size_t from, std::uint64_t age_ns) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t index = from + i + i / LAGTRAP_BUCKET_TAGS;  // skips the spill counts
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
