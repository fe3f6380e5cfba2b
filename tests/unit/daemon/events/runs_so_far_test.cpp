#include "daemon/events/runs_so_far.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "core/clock.hpp"
#include "tests/unit/daemon/run_table_fixture.hpp"

namespace lagtrap::daemon::runs_so_far_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t tid = 77, generation = 5;
constexpr std::uint64_t never_ns = LAGTRAP_NEVER_NS - 1;  // a deadline that is not over

class RunsSoFarTest : public RunTableFixture {
  protected:
    RunsSoFarTest() {
        EXPECT_TRUE(so_far.map(sets.get(), times.get()));
        // Where bpf/thread_times.bpf.h keeps this thread.
        const std::uint32_t set = (tid * 0x9e3779b1U) >> 21;
        auto* const known = static_cast<lagtrap_timed_set*>(mapped_sets.at);
        known[set].tids[2] = tid;
        thread = static_cast<lagtrap_thread_times*>(mapped_times.at) + set * LAGTRAP_TIMED_WAYS + 2;
        thread->generation = generation;
        thread->since_ns = 1;
    }
    // A run of that thread, whose time was counted at `counted_ns`.
    lagtrap_slot& begin(std::uint32_t bucket, std::uint64_t begin_ns, std::uint64_t counted_ns,
                        std::uint64_t deadline_ns = never_ns) {
        lagtrap_slot& slot = open(bucket, 0, deadline_ns);
        slot.run.begin_hit_ns = begin_ns;
        slot.run.begin_tid = 30 + bucket;
        slot.run.begin_cpu = 3;
        slot.times_tid = tid;
        slot.times_generation = generation;
        slot.counted_ns = counted_ns;
        return slot;
    }
    [[nodiscard]] std::vector<lagtrap_run_so_far> all(std::size_t limit = 100) const {
        return so_far.of(table, events, limit);
    }
    [[nodiscard]] lagtrap_run_so_far sole() const {
        const auto runs = all();
        EXPECT_EQ(runs.size(), 1U);
        return runs.empty() ? lagtrap_run_so_far{} : runs.front();
    }
    static std::vector<std::uint64_t> lengths_of(const lagtrap_run_so_far& run) {
        std::vector<std::uint64_t> lengths;
        for (const lagtrap_wait& wait : run.waits)
            if (wait.length_ns != 0) lengths.push_back(wait.length_ns);
        return lengths;
    }

    static constexpr std::size_t sets_bytes = LAGTRAP_TIMED_SETS * sizeof(lagtrap_timed_set);
    static constexpr std::size_t times_bytes = LAGTRAP_TIMED_THREADS * sizeof(lagtrap_thread_times);
    UniqueFd sets = memory_of("sets", sets_bytes), times = memory_of("times", times_bytes);
    MappedMap mapped_sets = MappedMap::map(sets.get(), 1, sets_bytes, "sets").value(),
              mapped_times = MappedMap::map(times.get(), 1, times_bytes, "times").value();
    lagtrap_thread_times* thread = nullptr;
    std::vector<settings::Event> events{2};
    RunsSoFar so_far;
};

TEST_F(RunsSoFarTest, TimeSinceTheLastHitIsThatOfTheThreadSinceThen) {
    lagtrap_slot& slot = begin(4, 900, 1'000);
    slot.run.event = 1;
    slot.parts.on_cpu_ns = 55;
    thread->state = LAGTRAP_THREAD_ON_CPU;
    thread->since_ns = 1'500;
    thread->parts = {100, 200, 30, {5, 6}};
    slot.sums_at_hit = {10, 20, 3, {1, 2}};
    const auto run = sole();
    EXPECT_EQ(run.header.size_bytes, sizeof(run));
    EXPECT_EQ(run.header.type, LAGTRAP_RECORD_RUN_SO_FAR);
    EXPECT_EQ(run.header.cpu, 3U);
    EXPECT_EQ(run.header.at_ns, run.until_ns);
    EXPECT_EQ(run.begin_hit_ns, 900U);
    EXPECT_EQ(run.from_ns, 1'000U);
    EXPECT_LE(run.until_ns, monotonic_ns());
    EXPECT_EQ(run.event, 1U);
    EXPECT_EQ(run.begin_tid, 34U);
    EXPECT_EQ(run.tid, tid);
    EXPECT_EQ(run.parts.on_cpu_ns, 90 + run.until_ns - 1'500);
    EXPECT_EQ(run.parts.runnable_ns, 180U);
    EXPECT_EQ(run.parts.throttled_ns, 27U);
    EXPECT_EQ(run.parts.blocked_ns[0], 4U);
    EXPECT_EQ(run.parts.blocked_ns[1], 4U);
    EXPECT_EQ(run.earlier.on_cpu_ns, 55U);
    EXPECT_EQ(run.wait_count, LAGTRAP_KEPT_WAITS + 0U);
}

TEST_F(RunsSoFarTest, ARunWithOneHitHasNoEarlierTime) {
    begin(4, 1'000, 1'000).parts.on_cpu_ns = 55;
    EXPECT_EQ(sole().earlier.on_cpu_ns, 0U);
}

TEST_F(RunsSoFarTest, TheThreadsStateLastsUntilNow) {
    (void)begin(4, 1'000, 1'000);
    thread->since_ns = 2'000;
    thread->state = LAGTRAP_THREAD_RUNNABLE;
    auto run = sole();
    EXPECT_EQ(run.parts.runnable_ns, run.until_ns - 2'000);
    EXPECT_EQ(run.parts.throttled_ns + run.parts.on_cpu_ns, 0U);
    thread->state = LAGTRAP_THREAD_THROTTLED;
    run = sole();
    EXPECT_EQ(run.parts.runnable_ns, run.until_ns - 2'000);
    EXPECT_EQ(run.parts.throttled_ns, run.until_ns - 2'000);
    EXPECT_EQ(run.parts.on_cpu_ns, 0U);
    EXPECT_THAT(lengths_of(run), IsEmpty());
    thread->state = LAGTRAP_THREAD_BLOCKED;
    thread->wait_class = 99;  // of a newer kernel side
    run = sole();
    EXPECT_EQ(run.parts.runnable_ns, 0U);
    EXPECT_EQ(run.parts.blocked_ns[LAGTRAP_WAIT_CLASSES - 1], run.until_ns - 2'000);
    EXPECT_THAT(lengths_of(run), ElementsAre(run.until_ns - 2'000));
    EXPECT_EQ(run.waits[0].begin_ns, 2'000U);
    EXPECT_EQ(run.waits[0].wait_class, LAGTRAP_WAIT_CLASSES - 1U);
    thread->since_ns = never_ns;  // a switch after the clock was read
    EXPECT_EQ(sole().parts.blocked_ns[LAGTRAP_WAIT_CLASSES - 1], 0U);
}

TEST_F(RunsSoFarTest, KeepsTheLongestWaitsOfTheRun) {
    (void)begin(4, 1'000, 1'000);
    thread->state = LAGTRAP_THREAD_BLOCKED;
    thread->since_ns = monotonic_ns() - 1'000;
    for (std::uint64_t i = 0; i < LAGTRAP_KEPT_WAITS; ++i) {
        thread->waits[i].begin_ns = 5'000;
        thread->waits[i].length_ns = never_ns / 2 + i;
    }
    EXPECT_EQ(lengths_of(sole()).size(), LAGTRAP_KEPT_WAITS + 0U);
    EXPECT_EQ(sole().waits[0].length_ns, never_ns / 2) << "the wait that continues is shorter";
    thread->waits[3].length_ns = 7;
    auto run = sole();
    EXPECT_EQ(run.waits[3].length_ns, run.until_ns - thread->since_ns) << "the shortest goes";
    thread->state = LAGTRAP_THREAD_ON_CPU;
    thread->waits[3] = {};
    thread->waits[5].begin_ns = 900;
    thread->waits[5].length_ns = 100;
    thread->waits[6].begin_ns = 900;
    thread->waits[6].length_ns = 101;
    run = sole();
    EXPECT_EQ(run.waits[5].length_ns, 0U) << "it ended with the hit";
    EXPECT_EQ(run.waits[6].length_ns, 101U);
}

TEST_F(RunsSoFarTest, KnowsNothingOfAThreadThatIsNoLongerItsOwn) {
    lagtrap_slot& slot = begin(4, 1'000, 1'000);
    slot.times_generation = generation + 1;
    EXPECT_THAT(all(), IsEmpty());
    slot.times_generation = thread->generation = 0;
    EXPECT_THAT(all(), IsEmpty()) << "its time is not counted";
    slot.times_generation = thread->generation = generation;
    slot.counted_ns = 0;
    EXPECT_THAT(all(), IsEmpty()) << "a hit is being counted";
    slot.counted_ns = 1'000;
    slot.times_tid = tid + 1;
    EXPECT_THAT(all(), IsEmpty()) << "a thread that is not in the table";
    slot.times_tid = tid;
    EXPECT_EQ(all().size(), 1U);
    EXPECT_THAT(RunsSoFar().of(table, events, 100), IsEmpty()) << "no table";
}

TEST_F(RunsSoFarTest, AWaitForACpuIsRunnableAllTheTime) {
    events[1].begin.kind = settings::MarkerKind::RunQueue;
    lagtrap_slot& slot = begin(4, 1'000, 0);
    slot.run.event = 1;
    const auto runs = RunsSoFar().of(table, events, 100);
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].from_ns, 1'000U);
    EXPECT_EQ(runs[0].tid, 34U);
    EXPECT_EQ(runs[0].wait_count, 0U);
    EXPECT_EQ(runs[0].parts.runnable_ns, runs[0].until_ns - 1'000);
    slot.run.begin_hit_ns = never_ns;
    EXPECT_EQ(sole().parts.runnable_ns, 0U) << "it began after the clock was read";
    slot.run.event = 2;
    EXPECT_THAT(all(), IsEmpty()) << "an event that the settings do not have";
}

TEST_F(RunsSoFarTest, TheLimitLeavesThoseThatAreNotOverdue) {
    (void)begin(1, 1'000, 1'000);
    (void)begin(2, 1'000, 1'000, 10);
    (void)begin(3, 1'000, 1'000);
    std::vector<std::uint32_t> tids;
    for (const auto& run : all(2)) tids.push_back(run.begin_tid);
    EXPECT_THAT(tids, ElementsAre(32, 31));
}

class TraceTexts : public RunsSoFarTest {
  protected:
    void begin_with(std::uint32_t bucket, const char* text, std::uint64_t deadline_ns = never_ns) {
        lagtrap_slot& slot = begin(bucket, 1'000 + bucket, 0, deadline_ns);
        slot.trace_text_bytes = static_cast<std::int32_t>(std::strlen(text) + 1);
        std::strcpy(slot.trace_text, text);
    }
    [[nodiscard]] std::vector<std::string> texts(std::size_t limit = 100) const {
        std::vector<std::string> found;
        for (const lagtrap_trace_text& one : trace_texts(table, events, limit))
            found.emplace_back(one.text);
        return found;
    }
};

TEST_F(TraceTexts, AreThoseOfEventsWithATraceId) {
    events[0].trace_id = settings::ArgumentRef{0, {}, {}};
    begin_with(1, "one");
    begin_with(2, "overdue", 10);
    begin_with(3, "two");
    begin_with(4, "other");
    table.slot(index_of(4, 0)).run.event = 1;
    begin_with(5, "unknown");
    table.slot(index_of(5, 0)).run.event = 2;
    EXPECT_THAT(texts(), ElementsAre("overdue", "one", "two"));
    EXPECT_THAT(texts(2), ElementsAre("overdue", "one"));
    const auto first = trace_texts(table, events, 1).at(0);
    EXPECT_EQ(first.header.size_bytes, sizeof(first));
    EXPECT_EQ(first.header.type, LAGTRAP_RECORD_TRACE_TEXT);
    EXPECT_EQ(first.header.cpu, 3U);
    EXPECT_EQ(first.begin_hit_ns, 1'002U);
    EXPECT_EQ(first.begin_tid, 32U);
    EXPECT_EQ(first.event, 0U);
    EXPECT_EQ(first.bytes, 8);
}

}  // namespace
}  // namespace lagtrap::daemon::runs_so_far_test
