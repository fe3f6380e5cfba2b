#include "daemon/events/run_takeover.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "bpf/run_tag.h"
#include "core/unique_fd.hpp"

namespace lagtrap::daemon::run_takeover_test {
namespace {

constexpr std::uint64_t frame = 77;  // the stack pointer of each run

// The table of one event monitor, as its programs see it.
struct Programs {
    Programs()
        : tags_fd(::memfd_create("tags", MFD_CLOEXEC)),
          slots_fd(::memfd_create("slots", MFD_CLOEXEC)) {
        EXPECT_EQ(::ftruncate(tags_fd.get(), LAGTRAP_MIN_BUCKETS * sizeof(lagtrap_bucket)), 0);
        EXPECT_EQ(::ftruncate(slots_fd.get(),
                              LAGTRAP_MIN_BUCKETS * LAGTRAP_BUCKET_SLOTS * sizeof(lagtrap_slot)),
                  0);
        tags_memory =
            MappedMap::map(tags_fd.get(), sizeof(lagtrap_bucket), LAGTRAP_MIN_BUCKETS, "tags")
                .value();
        slots_memory = MappedMap::map(slots_fd.get(), sizeof(lagtrap_slot),
                                      LAGTRAP_MIN_BUCKETS * LAGTRAP_BUCKET_SLOTS, "slots")
                           .value();
        buckets = static_cast<lagtrap_bucket*>(tags_memory.at);
        slots = static_cast<lagtrap_slot*>(slots_memory.at);
    }
    [[nodiscard]] RunTakeover::Table table() const { return {tags_fd.get(), slots_fd.get()}; }

    // The index of a run with this tag, or -1.
    [[nodiscard]] int find(std::uint64_t tag) const {
        for (const std::uint32_t bucket : {lagtrap_first_bucket(tag, LAGTRAP_MIN_BUCKETS),
                                           lagtrap_second_bucket(tag, LAGTRAP_MIN_BUCKETS)})
            for (std::uint32_t place = 0; place < LAGTRAP_BUCKET_TAGS; ++place)
                if (buckets[bucket].tags[place] == tag)
                    return static_cast<int>(bucket * LAGTRAP_BUCKET_SLOTS + place);
        return -1;
    }
    // A thread begins a run.
    lagtrap_slot& begin(std::uint32_t event, std::uint32_t tid, std::uint8_t depth = 0) {
        return open(event, tid, depth, lagtrap_run_tag(tid, 0, event, depth));
    }
    // As begin(), for a call identified by its frame.
    lagtrap_slot& begin_by_frame(std::uint32_t event, std::uint32_t tid) {
        lagtrap_slot& slot = open(event, tid, 0, lagtrap_run_tag(frame, tid, event, 0));
        slot.by_frame = 1;
        return slot;
    }
    lagtrap_slot& open(std::uint32_t event, std::uint32_t tid, std::uint8_t depth,
                       std::uint64_t tag) {
        std::uint32_t bucket = lagtrap_first_bucket(tag, LAGTRAP_MIN_BUCKETS), place = 0;
        while (place < LAGTRAP_BUCKET_TAGS && buckets[bucket].tags[place] != 0) ++place;
        EXPECT_LT(place, LAGTRAP_BUCKET_TAGS + 0U);
        lagtrap_slot& slot = slots[bucket * LAGTRAP_BUCKET_SLOTS + place];
        slot = {};
        slot.run.event = event;
        slot.run.begin_pid = slot.run.begin_tid = tid;
        slot.run.begin_ns = slot.run.begin_hit_ns = 1000 + tid;
        slot.run.depth = depth;
        slot.stack_pointer = frame;
        slot.report.begin_stack = 5;
        slot.deadline_ns = 5000;
        buckets[bucket].tags[place] = tag;
        return slot;
    }
    void end(std::uint64_t tag) {
        const auto index = static_cast<std::uint32_t>(find(tag));
        buckets[index / LAGTRAP_BUCKET_SLOTS].tags[index % LAGTRAP_BUCKET_SLOTS] = 0;
    }

    UniqueFd tags_fd, slots_fd;
    MappedMap tags_memory, slots_memory;
    lagtrap_bucket* buckets = nullptr;
    lagtrap_slot* slots = nullptr;
};

class Takeover : public testing::Test {
  protected:
    RunTakeover takeover() { return RunTakeover::between(before.table(), after.table()).value(); }

    Programs before, after;
    std::vector<settings::Event> events{3};
};

TEST_F(Takeover, FindsRunsUnderTheNewNumberOfTheirEvent) {
    before.begin(2, 100).open_depth = 1;
    before.begin(2, 100, 1);
    RunTakeover moves = takeover();
    moves.copy({{2, 0}}, events);
    moves.settle();
    const int outer = after.find(lagtrap_run_tag(100, 0, 0, 0)),
              inner = after.find(lagtrap_run_tag(100, 0, 0, 1));
    ASSERT_GE(outer, 0);
    ASSERT_GE(inner, 0);
    const lagtrap_slot& slot = after.slots[outer];
    EXPECT_EQ(slot.run.event, 0U);
    EXPECT_EQ(slot.run.begin_ns, 1100U);
    EXPECT_EQ(slot.deadline_ns, 5000U);
    EXPECT_EQ(slot.open_depth, (lagtrap_run_tag(100, 0, 0, 0) >> 32 << 32) | 1);
    EXPECT_EQ(slot.stack_pointer, frame);
    EXPECT_EQ(slot.report.begin_stack, 0U) << "the stack was told to nobody by these programs";
    EXPECT_EQ(moves.counts().at(2).taken, 2U);
    EXPECT_EQ(moves.counts().at(2).left, 0U);
}

TEST_F(Takeover, FindsCallsByTheirFrames) {
    before.begin_by_frame(2, 100);
    RunTakeover moves = takeover();
    moves.copy({{2, 0}}, events);
    moves.settle();
    EXPECT_GE(after.find(lagtrap_run_tag(frame, 100, 0, 0)), 0);
}

TEST_F(Takeover, LeavesRunsOfOtherEvents) {
    before.begin(1, 100);
    RunTakeover moves = takeover();
    moves.copy({{2, 0}}, events);
    moves.settle();
    EXPECT_EQ(after.find(lagtrap_run_tag(100, 0, 1, 0)), -1);
    EXPECT_EQ(moves.counts().at(1).left, 1U);
}

TEST_F(Takeover, TakesBackWhatEndedMeanwhile) {
    before.begin(0, 100).reported = 1;
    before.begin(0, 200).reported = 1;
    RunTakeover moves = takeover();
    moves.copy({{0, 0}}, events);
    before.end(lagtrap_run_tag(100, 0, 0, 0));
    before.end(lagtrap_run_tag(200, 0, 0, 0));
    // The thread has begun another run, which both programs saw.
    after.end(lagtrap_run_tag(200, 0, 0, 0));
    after.begin(0, 200).run.begin_hit_ns = 9999;
    moves.settle();
    EXPECT_EQ(after.find(lagtrap_run_tag(100, 0, 0, 0)), -1);
    EXPECT_GE(after.find(lagtrap_run_tag(200, 0, 0, 0)), 0) << "that one is the new programs' own";
    EXPECT_EQ(moves.counts().at(0).taken, 0U);
    EXPECT_EQ(moves.counts().at(0).reported, 0U);
}

TEST_F(Takeover, YieldsToARunOfTheSameKey) {
    before.begin(0, 100);
    after.begin(0, 100).run.begin_hit_ns = 9999;
    RunTakeover moves = takeover();
    moves.copy({{0, 0}}, events);
    moves.settle();
    EXPECT_EQ(after.slots[after.find(lagtrap_run_tag(100, 0, 0, 0))].run.begin_hit_ns, 9999U);
    EXPECT_EQ(moves.counts().at(0).left, 1U);
}

TEST_F(Takeover, SpillsWhereABucketIsFull) {
    before.begin(0, 101);
    const std::uint64_t tag = lagtrap_run_tag(101, 0, 0, 0);
    ASSERT_NE(lagtrap_first_bucket(tag, LAGTRAP_MIN_BUCKETS),
              lagtrap_second_bucket(tag, LAGTRAP_MIN_BUCKETS));
    lagtrap_bucket& full = after.buckets[lagtrap_first_bucket(tag, LAGTRAP_MIN_BUCKETS)];
    for (auto& other : full.tags) other = 1;
    RunTakeover moves = takeover();
    moves.copy({{0, 0}}, events);
    EXPECT_EQ(moves.counts().at(0).taken, 1U);
    EXPECT_EQ(after.find(tag) / LAGTRAP_BUCKET_SLOTS,
              static_cast<int>(lagtrap_second_bucket(tag, LAGTRAP_MIN_BUCKETS)));
    EXPECT_EQ(full.state & LAGTRAP_SPILLED_MASK, 1U);
    before.end(tag);
    moves.settle();
    EXPECT_EQ(after.find(tag), -1);
    EXPECT_EQ(full.state & LAGTRAP_SPILLED_MASK, 0U);
}

TEST_F(Takeover, LeavesWhatItsEndWouldNotFind) {
    before.begin(0, 100).run.key = 7;
    events[0].key = settings::KeyKind::Argument;
    RunTakeover moves = takeover();
    moves.copy({{0, 0}}, events);
    EXPECT_EQ(moves.counts().at(0).left, 1U);
    EXPECT_EQ(moves.counts().at(0).taken, 0U);
}

TEST_F(Takeover, FindsRunsByWhatEverTheirKeyIs) {
    const std::uint64_t address = 0xc000'0000;
    events[0].key = events[1].key = settings::KeyKind::Argument;
    events[1].key_scope = settings::KeyScope::Machine;
    before.open(0, 100, 0, lagtrap_run_tag(7, 100, 0, 0)).run.key = 7;
    before.open(1, 100, 0, lagtrap_run_tag(8, 0, 1, 0)).run.key = 8;
    lagtrap_slot& goroutine = before.open(2, 100, 0, lagtrap_run_tag(34, 100, 2, 0));
    goroutine.run.key = 34;
    goroutine.run.flags = LAGTRAP_RUN_OF_GOROUTINE;
    before.open(2, 101, 0, lagtrap_run_tag(address | LAGTRAP_KEY_NO_GOROUTINE, 101, 2, 0))
        .goroutine = address;
    RunTakeover moves = takeover();
    moves.copy({{0, 2}, {1, 0}, {2, 1}}, events);
    moves.settle();
    EXPECT_GE(after.find(lagtrap_run_tag(7, 100, 2, 0)), 0);
    EXPECT_GE(after.find(lagtrap_run_tag(8, 0, 0, 0)), 0) << "any process may end it";
    EXPECT_GE(after.find(lagtrap_run_tag(34, 100, 1, 0)), 0);
    EXPECT_GE(after.find(lagtrap_run_tag(address | LAGTRAP_KEY_NO_GOROUTINE, 101, 1, 0)), 0);
    for (const auto& [event, counts] : moves.counts()) EXPECT_EQ(counts.left, 0U) << event;
}

TEST_F(Takeover, SkipsWhatIsNotThereCompletely) {
    before.begin(0, 100).deadline_ns = 0;
    before.begin(9, 101);
    RunTakeover moves = takeover();
    moves.copy({{0, 0}}, events);
    EXPECT_EQ(after.find(lagtrap_run_tag(100, 0, 0, 0)), -1);
    EXPECT_TRUE(moves.counts().empty()) << "it is ending, or of no event";
}

TEST_F(Takeover, CountsDelaysThatWereReportedBefore) {
    before.begin(0, 100).reported = 1;
    before.begin(0, 200);
    lagtrap_slot& timed = before.begin(0, 300);
    timed.times_generation = 4;
    timed.report.end_stack = timed.report.stage_stacks[0] = 6;
    RunTakeover moves = takeover();
    moves.copy({{0, 0}}, events);
    moves.settle();
    EXPECT_EQ(moves.counts().at(0).taken, 3U);
    EXPECT_EQ(moves.counts().at(0).reported, 1U);
    const lagtrap_slot& slot = after.slots[after.find(lagtrap_run_tag(300, 0, 0, 0))];
    EXPECT_EQ(slot.times_generation, 0U) << "its times begin anew";
    EXPECT_EQ(slot.report.end_stack, 0U);
    EXPECT_EQ(slot.report.stage_stacks[0], 0U);
}

TEST(MakeTheSameRuns, DoesNotAskWhereTheFileSaysIt) {
    settings::Event one, other;
    other.begin.line = 7;
    other.trace_length = std::chrono::seconds(3);
    EXPECT_TRUE(make_the_same_runs(one, other));
    other.threshold = std::chrono::seconds(1);
    EXPECT_FALSE(make_the_same_runs(one, other));
    other.threshold_rule = settings::ThresholdRule{};
    EXPECT_FALSE(make_the_same_runs(one, other));
    one.threshold_rule = settings::ThresholdRule{990'000, 200, {}};
    EXPECT_TRUE(make_the_same_runs(one, other)) << "the threshold may change at any time";
    one.threshold_rule.reset();
    other = one;
    other.begin.key = settings::ArgumentRef{1, {}, {}};
    EXPECT_FALSE(make_the_same_runs(one, other));
    one.begin.key = settings::ArgumentRef{0, "dev", "sector"};
    other = one;
    EXPECT_TRUE(make_the_same_runs(one, other));
    other.begin.key->second_field.clear();
    EXPECT_FALSE(make_the_same_runs(one, other));
    other = one;
    other.stages.emplace_back();
    EXPECT_FALSE(make_the_same_runs(one, other));
}

TEST(MakeTheSameRuns, AsksForEachThingThatDecidesWhatARunIs) {
    using Change = std::function<void(settings::Event&)>;
    settings::Event event;
    event.stages.push_back({"one", {}, false});
    event.other_ends.push_back({{}, settings::EndMeaning::Failed});
    const std::vector<Change> changes{
        [](auto& one) { one.name = "x"; },
        [](auto& one) {
            one.breach = one.breach == settings::BreachMode::End ? settings::BreachMode::Deadline
                                                                 : settings::BreachMode::End;
        },
        [](auto& one) { one.nesting = settings::Nesting::Restart; },
        [](auto& one) { one.key = settings::KeyKind::Argument; },
        [](auto& one) { one.key_scope = settings::KeyScope::Machine; },
        [](auto& one) { one.record = settings::RecordMode::Runs; },
        [](auto& one) { one.stacks = settings::StackMode::Markers; },
        [](auto& one) { one.copies = !one.copies; },
        [](auto& one) { one.scope.pid = 7; },
        [](auto& one) { one.scope.descendants = !one.scope.descendants; },
        [](auto& one) { one.scope.uid = 7; },
        [](auto& one) { one.scope.binary = "x"; },
        [](auto& one) { one.scope.groups.unit = "x"; },
        [](auto& one) { one.scope.groups.control_group = "x"; },
        [](auto& one) { one.scope.groups.container = "x"; },
        [](auto& one) { one.scope.groups.image = "x"; },
        [](auto& one) { one.scope.groups.pod = "x"; },
        [](auto& one) { one.scope.groups.pod_namespace = "x"; },
        [](auto& one) { one.scope.groups.label = "x"; },
        [](auto& one) { one.begin_time = settings::ArgumentRef{}; },
        [](auto& one) { one.trace_id = settings::ArgumentRef{}; },
        [](auto& one) { one.begin.binary = "x"; },
        [](auto& one) { one.begin.kind = settings::MarkerKind::Tracepoint; },
        [](auto& one) { one.begin.kind = settings::MarkerKind::Library; },
        [](auto& one) { one.begin.side = settings::FunctionSide::Return; },
        [](auto& one) { one.end.provider = "x"; },
        [](auto& one) { one.end.name = "x"; },
        [](auto& one) { one.end.key = settings::ArgumentRef{}; },
        [](auto& one) { one.other_ends[0].meaning = settings::EndMeaning::Cancelled; },
        [](auto& one) { one.other_ends[0].marker.name = "x"; },
        [](auto& one) { one.other_ends.clear(); },
        [](auto& one) { one.stages[0].name = "x"; },
        [](auto& one) { one.stages[0].marker.name = "x"; }};
    for (std::size_t number = 0; number < changes.size(); ++number) {
        settings::Event other = event;
        changes[number](other);
        EXPECT_FALSE(make_the_same_runs(event, other)) << number;
        EXPECT_FALSE(make_the_same_runs(other, event)) << number;
    }
    EXPECT_TRUE(make_the_same_runs(event, event));
}

}  // namespace
}  // namespace lagtrap::daemon::run_takeover_test
