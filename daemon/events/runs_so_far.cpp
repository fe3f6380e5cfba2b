#include "daemon/events/runs_so_far.hpp"

#include <algorithm>
#include <cstring>

#include "core/clock.hpp"

namespace lagtrap::daemon {
namespace {

// As in thread_times.bpf.h.
std::uint32_t timed_set_of(std::uint32_t tid) { return (tid * 0x9e3779b1U) >> 21; }

const lagtrap_thread_times* times_of(const lagtrap_timed_set* sets,
                                     const lagtrap_thread_times* times, std::uint32_t tid) {
    const std::uint32_t set = timed_set_of(tid);
    for (std::uint32_t way = 0; way < LAGTRAP_TIMED_WAYS; ++way)
        if (__atomic_load_n(&sets[set].tids[way], __ATOMIC_ACQUIRE) == tid)
            return &times[set * LAGTRAP_TIMED_WAYS + way];
    return nullptr;
}

// A consistent copy, without a switch of the thread in between. nullopt after 100 attempts, for a
// thread that switches all the time.
std::optional<lagtrap_thread_times> copy_of(const lagtrap_thread_times& times) {
    for (int attempt = 0; attempt < 100; ++attempt) {
        const std::uint64_t since_ns = __atomic_load_n(&times.since_ns, __ATOMIC_ACQUIRE);
        const lagtrap_thread_times copy = times;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&times.since_ns, __ATOMIC_ACQUIRE) == since_ns &&
            copy.since_ns == since_ns)
            return copy;
    }
    return std::nullopt;
}

void count_state(lagtrap_thread_times& times, std::uint64_t now_ns) {
    const std::uint64_t length_ns = now_ns - std::min<std::uint64_t>(now_ns, times.since_ns);
    lagtrap_time_parts& parts = times.parts;
    const std::uint32_t wait_class =
        std::min<std::uint32_t>(times.wait_class, LAGTRAP_WAIT_CLASSES - 1);
    if (times.state == LAGTRAP_THREAD_ON_CPU) parts.on_cpu_ns += length_ns;
    if (times.state == LAGTRAP_THREAD_THROTTLED) parts.throttled_ns += length_ns;
    if (times.state == LAGTRAP_THREAD_THROTTLED || times.state == LAGTRAP_THREAD_RUNNABLE)
        parts.runnable_ns += length_ns;
    if (times.state != LAGTRAP_THREAD_BLOCKED) return;
    parts.blocked_ns[wait_class] += length_ns;
    lagtrap_wait* const shortest = std::min_element(
        std::begin(times.waits), std::end(times.waits),
        [](const lagtrap_wait& a, const lagtrap_wait& b) { return a.length_ns < b.length_ns; });
    if (length_ns > shortest->length_ns)
        *shortest = {times.since_ns, length_ns, wait_class, 0, 0, 0, {}};
}

void take_off(lagtrap_time_parts& parts, const lagtrap_time_parts& at_hit) {
    parts.on_cpu_ns -= at_hit.on_cpu_ns;
    parts.runnable_ns -= at_hit.runnable_ns;
    parts.throttled_ns -= at_hit.throttled_ns;
    for (std::size_t i = 0; i < LAGTRAP_WAIT_CLASSES; ++i)
        parts.blocked_ns[i] -= at_hit.blocked_ns[i];
}

// Frees space for the waits of the run; the thread may have kept longer ones from before it.
void forget_waits_before(lagtrap_thread_times& times, std::uint64_t from_ns) {
    for (lagtrap_wait& wait : times.waits)
        if (wait.begin_ns + wait.length_ns <= from_ns) wait = {};
}

// The time breakdown in a run's slot.
struct Counted {
    std::uint64_t at_ns = 0;
    std::uint32_t tid = 0;
    std::uint32_t generation = 0;
    lagtrap_time_parts sums_at_hit{}, parts{};
};

// nullopt if the time is not measured, or a hit is being counted.
std::optional<Counted> counted_of(const lagtrap_slot& slot) {
    const std::uint64_t at_ns = __atomic_load_n(&slot.counted_ns, __ATOMIC_ACQUIRE);
    const Counted counted{at_ns, slot.times_tid, slot.times_generation, slot.sums_at_hit,
                          slot.parts};
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (at_ns == 0 || counted.generation == 0 ||
        __atomic_load_n(&slot.counted_ns, __ATOMIC_ACQUIRE) != at_ns)
        return std::nullopt;
    return counted;
}

lagtrap_run_so_far head_of(const lagtrap_run& run, std::uint64_t now_ns) {
    lagtrap_run_so_far one{};
    one.header = {sizeof(one), LAGTRAP_RECORD_RUN_SO_FAR, run.begin_cpu, now_ns};
    one.begin_hit_ns = one.from_ns = run.begin_hit_ns;
    one.until_ns = now_ns;
    one.event = run.event;
    one.begin_tid = one.tid = run.begin_tid;
    return one;
}

// For a run that is a wait for a CPU, all the time so far is runnable.
lagtrap_run_so_far waited_so_far(const lagtrap_run& run) {
    lagtrap_run_so_far one = head_of(run, monotonic_ns());
    one.parts.runnable_ns = one.until_ns - std::min(one.from_ns, one.until_ns);
    return one;
}

}  // namespace

Status RunsSoFar::map(int sets_fd, int times_fd) {
    constexpr const char* what = "the thread time table";
    TRY_ASSIGN(sets_, MappedMap::map(sets_fd, sizeof(lagtrap_timed_set), LAGTRAP_TIMED_SETS, what));
    TRY_ASSIGN(times_,
               MappedMap::map(times_fd, sizeof(lagtrap_thread_times), LAGTRAP_TIMED_THREADS, what));
    return success();
}

std::optional<lagtrap_run_so_far> RunsSoFar::of_run(
    const lagtrap_run& run, const lagtrap_slot& slot,
    const std::vector<settings::Event>& events) const {
    const auto counted = counted_of(slot);
    if (run.event < events.size() && events[run.event].begin.kind == settings::MarkerKind::RunQueue)
        return waited_so_far(run);
    const auto* const sets = static_cast<const lagtrap_timed_set*>(sets_.at);
    const auto* const times = static_cast<const lagtrap_thread_times*>(times_.at);
    if (!counted || sets == nullptr || times == nullptr) return std::nullopt;
    const lagtrap_thread_times* const of_thread = times_of(sets, times, counted->tid);
    auto copy = of_thread != nullptr ? copy_of(*of_thread) : std::nullopt;
    if (!copy || copy->generation != counted->generation) return std::nullopt;
    const std::uint64_t now_ns = monotonic_ns();
    forget_waits_before(*copy, counted->at_ns);
    count_state(*copy, now_ns);
    take_off(copy->parts, counted->sums_at_hit);
    lagtrap_run_so_far one = head_of(run, now_ns);
    one.from_ns = counted->at_ns;
    one.tid = counted->tid;
    one.parts = copy->parts;
    // If the thread is the key, there is only one hit, and the slot's parts are not written yet.
    if (counted->at_ns != run.begin_hit_ns) one.earlier = counted->parts;
    one.wait_count = LAGTRAP_KEPT_WAITS;
    std::copy(std::begin(copy->waits), std::end(copy->waits), std::begin(one.waits));
    return one;
}

std::vector<lagtrap_run_so_far> RunsSoFar::of(const RunTable& table,
                                              const std::vector<settings::Event>& events,
                                              std::size_t limit) const {
    std::vector<lagtrap_run_so_far> known;
    table.for_each_overdue_first(monotonic_ns(), [&](std::size_t index, std::uint64_t tag) {
        const auto run = table.read(index, tag);
        if (const auto one = run ? of_run(*run, table.slot(index), events) : std::nullopt)
            known.push_back(*one);
        return known.size() < limit;
    });
    return known;
}

lagtrap_trace_text trace_text_of(const lagtrap_run& run, const lagtrap_slot& slot) {
    lagtrap_trace_text one{};
    one.header = {sizeof(one), LAGTRAP_RECORD_TRACE_TEXT, run.begin_cpu, monotonic_ns()};
    one.begin_hit_ns = run.begin_hit_ns;
    one.event = run.event;
    one.begin_tid = run.begin_tid;
    one.bytes = slot.trace_text_bytes;
    std::memcpy(one.text, slot.trace_text, sizeof(one.text));
    return one;
}

std::vector<lagtrap_trace_text> trace_texts(const RunTable& table,
                                            const std::vector<settings::Event>& events,
                                            std::size_t limit) {
    std::vector<lagtrap_trace_text> texts;
    table.for_each_overdue_first(monotonic_ns(), [&](std::size_t index, std::uint64_t tag) {
        const auto run = table.read(index, tag);
        if (!run || run->event >= events.size() || !events[run->event].trace_id) return true;
        const lagtrap_trace_text one = trace_text_of(*run, table.slot(index));
        const auto again = table.read(index, tag);  // otherwise the text may belong to another run
        if (again && again->begin_hit_ns == run->begin_hit_ns) texts.push_back(one);
        return texts.size() < limit;
    });
    return texts;
}

}  // namespace lagtrap::daemon
