// Random hits, switches and wakeups of several threads on several CPUs: every result and counter
// must equal the model's.
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <random>

#include "tests/unit/bpf/run_model.hpp"

namespace lagtrap::native {

const std::vector<ModelEvent> random_events = {
    {LAGTRAP_EVENT_TIMES, LAGTRAP_NESTING_EACH, 20'000},
    {0, LAGTRAP_NESTING_EACH, 5'000},
    {LAGTRAP_EVENT_TIMES, LAGTRAP_NESTING_OUTERMOST, 50'000},
    {LAGTRAP_EVENT_TIMES, LAGTRAP_NESTING_RESTART, 10'000},
    {LAGTRAP_EVENT_TIMES | LAGTRAP_EVENT_KEY_ARGUMENT, LAGTRAP_NESTING_EACH, 20'000},
    {LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_KEY_MACHINE, LAGTRAP_NESTING_EACH, 20'000},
    {LAGTRAP_EVENT_TIMES | LAGTRAP_EVENT_KEY_ARGUMENT, LAGTRAP_NESTING_RESTART, 30'000},
    {LAGTRAP_EVENT_TIMES | LAGTRAP_EVENT_MATCH_STACK, LAGTRAP_NESTING_EACH, 15'000},
    {LAGTRAP_EVENT_TIMES | LAGTRAP_EVENT_STACK_ORDER, LAGTRAP_NESTING_EACH, 15'000},
    {LAGTRAP_EVENT_MATCH_STACK, LAGTRAP_NESTING_EACH, 15'000, true},
    {LAGTRAP_EVENT_TIMES | LAGTRAP_EVENT_STACK_ORDER, LAGTRAP_NESTING_OUTERMOST, 15'000},
    {LAGTRAP_EVENT_TIMES | LAGTRAP_EVENT_MATCH_STACK, LAGTRAP_NESTING_OUTERMOST, 15'000},
};
constexpr std::uint32_t machine_keyed = 5;
constexpr std::size_t deepest = 150;

class RandomRuns : public testing::TestWithParam<std::uint32_t>, public Machine {
  protected:
    RandomRuns() : model_(random_events), random_(GetParam()), cpus_(cpu_count, nullptr) {
        model_.now_ns = kernel.now_ns;
        for (std::uint32_t event = 0; event < random_events.size(); ++event) {
            const ModelEvent& one = random_events[event];
            const bool is_call = (one.flags & LAGTRAP_EVENT_MATCH_STACK) != 0;
            const Probe call = one.by_frame ? Probe::frame : Probe::function;
            add_event(event, one.flags | LAGTRAP_EVENT_RECORD_RUNS, one.nesting,
                      is_call ? call : Probe::usdt)
                .threshold_ns = one.threshold_ns;
        }
        for (const std::uint32_t tid : {101, 102, 103, 201, 202, 203})
            waiting_for_cpu_.push_back(&thread(tid));
    }

    std::uint32_t below(std::uint32_t limit) {
        return static_cast<std::uint32_t>(random_() % limit);
    }
    bool one_in(std::uint32_t count) { return below(count) == 0; }

    void step();
    void let_time_pass();
    void switch_cpu(std::uint32_t cpu);
    native_thread* take_next();
    void leave(native_thread& prev, bool blocks, const native_thread& next);
    void wake_one(const native_thread& waker);
    void hit_marker(native_thread& by);
    void compare_reports(std::uint32_t event, const std::optional<ModelRun>& ended,
                         const native_thread& by);
    void compare_counters(std::uint32_t event);

    RunModel model_;
    std::mt19937 random_;
    std::vector<native_thread*> cpus_;  // what runs on each; NULL: its idle thread
    std::vector<native_thread*> waiting_for_cpu_, blocked_;
    const native_thread idle_ = idle_thread();
    bool growing_ = false;  // more begins than ends
};

void RandomRuns::let_time_pass() {
    std::uint64_t elapsed_ns = below(3000);
    if (one_in(4)) elapsed_ns = 0;
    // thread numbers are checked again after this time
    if (one_in(50)) elapsed_ns += 150'000;
    if (one_in(1000)) elapsed_ns += 61'000'000'000;  // a run open for this long no longer counts
    pass(elapsed_ns);
    model_.pass(elapsed_ns);
}

native_thread* RandomRuns::take_next() {
    if (waiting_for_cpu_.empty() || one_in(4)) return nullptr;
    const auto place =
        waiting_for_cpu_.begin() + below(static_cast<std::uint32_t>(waiting_for_cpu_.size()));
    native_thread* next = *place;
    waiting_for_cpu_.erase(place);
    return next;
}

void RandomRuns::leave(native_thread& prev, bool blocks, const native_thread& next) {
    static constexpr std::pair<std::uint64_t, std::uint32_t> waits[] = {
        {SYS_futex, LAGTRAP_WAIT_LOCK},
        {SYS_read, LAGTRAP_WAIT_INPUT},
        {SYS_nanosleep, LAGTRAP_WAIT_SLEEP},
        {no_call, LAGTRAP_WAIT_PAGE}};
    const auto& [call, wait_class] = waits[below(std::size(waits))];
    prev.call = call;
    prev.throttled = one_in(4);
    if (blocks) {
        block(prev, next);
        model_.set_state(prev.tid, LAGTRAP_THREAD_BLOCKED, wait_class);
        blocked_.push_back(&prev);
    } else {
        preempt(prev, next);
        model_.set_state(prev.tid,
                         prev.throttled ? LAGTRAP_THREAD_THROTTLED : LAGTRAP_THREAD_RUNNABLE);
        waiting_for_cpu_.push_back(&prev);
    }
}

void RandomRuns::switch_cpu(std::uint32_t cpu) {
    native_thread* prev = cpus_[cpu];
    native_thread* next = take_next();
    if (!prev && !next) return;
    const native_thread& coming = next ? *next : idle_;
    if (prev)
        leave(*prev, one_in(2), coming);
    else
        preempt(idle_, coming);
    if (next) model_.set_state(next->tid, LAGTRAP_THREAD_ON_CPU);
    cpus_[cpu] = next;
}

void RandomRuns::wake_one(const native_thread& waker) {
    if (blocked_.empty()) return;
    native_thread& wakee = *blocked_.front();
    blocked_.erase(blocked_.begin());
    wakee.throttled = one_in(4);
    wake(wakee, waker);
    model_.set_state(wakee.tid,
                     wakee.throttled ? LAGTRAP_THREAD_THROTTLED : LAGTRAP_THREAD_RUNNABLE);
    waiting_for_cpu_.push_back(&wakee);
}

void RandomRuns::hit_marker(native_thread& by) {
    // With many begins, most have one key, so that they nest deeper than allowed.
    const bool deep = growing_ && !one_in(4);
    const std::uint32_t event =
        deep ? machine_keyed : below(static_cast<std::uint32_t>(random_events.size()));
    const Hit hit{.key = deep ? 0 : below(3),
                  .stack_pointer = 0x7000 - 0x100 * below(8),
                  .site = 0x400000 + below(2)};
    const std::uint32_t choice = below(10);
    std::optional<ModelRun> ended;
    if (choice < (growing_ ? 7U : 4U) && model_.depth(event, by.tid, hit) < deepest) {
        begin(event, by, hit);
        model_.begin(event, by.tid, hit);
    } else if (choice == 9 && !random_events[event].by_frame) {
        const auto number = static_cast<std::uint16_t>(below(3));
        stage(event, by, number, hit);
        model_.stage(event, by.tid, number, static_cast<std::uint16_t>(kernel.cpu), hit);
    } else {
        end(event, by, hit);
        ended = model_.end(event, by.tid, hit);
    }
    compare_reports(event, ended, by);
    compare_counters(event);
}

void RandomRuns::compare_reports(std::uint32_t event, const std::optional<ModelRun>& ended,
                                 const native_thread& by) {
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), ended ? 1 : 0);
    if (!ended) return;
    const lagtrap_run& run = reported[0].run;
    EXPECT_EQ(run.event, event);
    EXPECT_EQ(run.depth, ended->depth);
    EXPECT_EQ(run.begin_tid, ended->begin_tid);
    EXPECT_EQ(run.end_tid, by.tid);
    EXPECT_EQ(run.begin_ns, ended->begin_ns);
    EXPECT_EQ(run.end_ns, model_.now_ns);
    EXPECT_EQ(reported[0].doubtful != 0, ended->doubtful);
    const std::size_t kept = std::min<std::size_t>(ended->stages.size(), LAGTRAP_MAX_STAGES);
    ASSERT_EQ(run.stage_count, kept);
    EXPECT_EQ(run.stages_lost, std::min<std::size_t>(ended->stages.size() - kept, 255));
    for (std::size_t i = 0; i < kept; ++i)
        EXPECT_EQ(std::memcmp(&run.stages[i], &ended->stages[i], sizeof(lagtrap_stage_hit)), 0);
    if ((random_events[event].flags & LAGTRAP_EVENT_TIMES) == 0) return;
    EXPECT_EQ(std::memcmp(&reported[0].parts, &ended->parts, sizeof(ended->parts)), 0);
    EXPECT_EQ(reported[0].handed_over_ns, ended->handed_over_ns);
    EXPECT_EQ(sum_of(reported[0].parts) + reported[0].handed_over_ns, run.end_ns - run.begin_ns);
}

// Sums of all CPUs. Does not compare costs and the time of a marker's last hit.
void RandomRuns::compare_counters(std::uint32_t event) {
    constexpr std::size_t word_count = sizeof(lagtrap_event_counters) / sizeof(std::uint64_t);
    std::array<std::uint64_t, word_count> sums{};
    std::uint64_t max_ns = 0;
    const std::uint32_t cpu = kernel.cpu;
    for (kernel.cpu = 0; kernel.cpu < cpu_count; ++kernel.cpu) {
        const auto* words = reinterpret_cast<const __u64*>(&counters(event));
        for (std::size_t i = 0; i < word_count; ++i) sums[i] += words[i];
        max_ns = std::max<std::uint64_t>(max_ns, counters(event).max_ns);
    }
    kernel.cpu = cpu;
    auto found = std::bit_cast<lagtrap_event_counters>(sums);
    found.max_ns = max_ns;
    found.seen = {};
    std::memset(found.costs, 0, sizeof(found.costs));
    for (auto& marker : found.markers) marker.last_ns = 0;
    const auto wanted =
        std::bit_cast<std::array<std::uint64_t, word_count>>(model_.counters(event));
    const auto compared = std::bit_cast<std::array<std::uint64_t, word_count>>(found);
    if (compared == wanted) return;
    for (std::size_t i = 0; i < word_count; ++i)
        EXPECT_EQ(compared[i], wanted[i]) << "word " << i << " of the counters of event " << event;
}

void RandomRuns::step() {
    let_time_pass();
    kernel.cpu = below(cpu_count);
    native_thread* running = cpus_[kernel.cpu];
    const std::uint32_t choice = below(10);
    if (choice == 0) wake_one(running ? *running : idle_);
    if (choice == 1 || !running) return switch_cpu(kernel.cpu);
    if (choice > 1) hit_marker(*running);
}

TEST_P(RandomRuns, are_as_the_model_has_them) {
    constexpr int step_count = 3000;
    for (int i = 0; i < step_count && !HasFailure(); ++i) {
        growing_ = i / 500 % 3 == 1;
        step();
        if (i % 100 == 0) {
            EXPECT_EQ(open_runs(), model_.open_runs());
        }
        if (HasFailure()) ADD_FAILURE() << "at step " << i;
    }
    EXPECT_EQ(spilled_runs(), 0);
    EXPECT_GT(model_.counters(machine_keyed).too_deep, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRuns, testing::Values(1, 2, 3, 4));

}  // namespace lagtrap::native
