#include "tests/unit/bpf/run_model.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lagtrap::native {

namespace {

constexpr std::size_t part_count = sizeof(lagtrap_time_parts) / sizeof(std::uint64_t);
using Words = std::array<std::uint64_t, part_count>;

// a + b - c
lagtrap_time_parts moved(const lagtrap_time_parts& a, const lagtrap_time_parts& b,
                         const lagtrap_time_parts& c) {
    auto words = std::bit_cast<Words>(a);
    const auto more = std::bit_cast<Words>(b), less = std::bit_cast<Words>(c);
    for (std::size_t i = 0; i < part_count; ++i) words[i] += more[i] - less[i];
    return std::bit_cast<lagtrap_time_parts>(words);
}

// Four buckets for each power of two.
std::size_t bucket_of(std::uint64_t duration_ns) {
    if (duration_ns < 4) return duration_ns;
    const auto power = static_cast<std::size_t>(std::bit_width(duration_ns) - 1);
    return std::min<std::size_t>(power * 4 + (duration_ns >> (power - 2)) % 4,
                                 LAGTRAP_HISTOGRAM_BUCKETS - 1);
}

// The part that took most of a delay's time; the first of equal ones.
std::size_t most_of(const ModelRun& run) {
    std::vector<std::uint64_t> lengths_ns(LAGTRAP_DELAY_PARTS);
    lengths_ns[LAGTRAP_DELAY_ON_CPU] = run.parts.on_cpu_ns;
    lengths_ns[LAGTRAP_DELAY_RUNNABLE] = run.parts.runnable_ns - run.parts.throttled_ns;
    lengths_ns[LAGTRAP_DELAY_THROTTLED] = run.parts.throttled_ns;
    lengths_ns[LAGTRAP_DELAY_HANDED_OVER] = run.handed_over_ns;
    std::copy(std::begin(run.parts.blocked_ns), std::end(run.parts.blocked_ns),
              lengths_ns.begin() + LAGTRAP_DELAY_BLOCKED);
    return static_cast<std::size_t>(std::max_element(lengths_ns.begin(), lengths_ns.end()) -
                                    lengths_ns.begin());
}

}  // namespace

RunModel::RunModel(std::vector<ModelEvent> events)
    : events_(std::move(events)), counters_(events_.size()) {}

void RunModel::pass(std::uint64_t elapsed_ns) {
    now_ns += elapsed_ns;
    for (auto& [tid, thread] : threads_) {
        lagtrap_time_parts& sums = thread.sums;
        if (thread.state == LAGTRAP_THREAD_ON_CPU) sums.on_cpu_ns += elapsed_ns;
        if (thread.state == LAGTRAP_THREAD_THROTTLED) sums.throttled_ns += elapsed_ns;
        if (thread.state == LAGTRAP_THREAD_RUNNABLE || thread.state == LAGTRAP_THREAD_THROTTLED)
            sums.runnable_ns += elapsed_ns;
        if (thread.state == LAGTRAP_THREAD_BLOCKED)
            sums.blocked_ns[thread.wait_class] += elapsed_ns;
    }
}

void RunModel::set_state(std::uint32_t tid, lagtrap_thread_state state, std::uint32_t wait_class) {
    threads_[tid].state = state;
    threads_[tid].wait_class = wait_class;
}

RunModel::Runs& RunModel::runs_of(std::uint32_t event, std::uint32_t tid, const Hit& hit) {
    if (has(event, LAGTRAP_EVENT_KEY_MACHINE)) return runs_[{event, hit.key}];
    if (has(event, LAGTRAP_EVENT_KEY_ARGUMENT))
        return runs_[{event, hit.key | std::uint64_t{tid / 100} << 32}];
    if (events_[event].by_frame)
        return runs_[{event, hit.stack_pointer | std::uint64_t{tid / 100} << 32}];
    return runs_[{event, tid}];
}

std::size_t RunModel::depth(std::uint32_t event, std::uint32_t tid, const Hit& hit) {
    return runs_of(event, tid, hit).size();
}

std::size_t RunModel::open_runs() const {
    std::size_t count = 0;
    for (const auto& [key, runs] : runs_)
        count += static_cast<std::size_t>(std::count_if(
            runs.begin(), runs.end(), [](const ModelRun& run) { return run.opened; }));
    return count;
}

void RunModel::open(std::uint32_t event, Runs& runs, std::uint32_t tid, const Hit& hit) {
    ModelRun run;
    run.depth = static_cast<std::uint32_t>(runs.size());
    run.begin_tid = run.last_tid = tid;
    run.begin_ns = run.last_hit_ns = now_ns;
    run.stack_pointer = hit.stack_pointer;
    run.site = hit.site;
    run.sums_at_hit = threads_[tid].sums;
    run.opened = runs.size() < LAGTRAP_MAX_DEPTH;
    if (!run.opened) ++counters_[event].too_deep;
    // A call that is nested too deeply may have no return.
    if (run.opened || !has(event, LAGTRAP_EVENT_MATCH_STACK)) runs.push_back(run);
}

void RunModel::count_unended(std::uint32_t event, const ModelRun& run) {
    ++counters_[event].markers[LAGTRAP_PLACE_BEGIN].unmatched;
    if (((run.begin_ns + events_[event].threshold_ns) & ~1ULL) < now_ns)
        ++counters_[event].unended_late;
}

void RunModel::count_left_call(std::uint32_t event) {
    ++counters_[event].abandoned;
    ++counters_[event].left;
}

// Drops runs that a begin proves abandoned: those of inner frames, and of the same marker in the
// same frame.
void RunModel::drop_left(std::uint32_t event, Runs& runs, const Hit& hit) {
    const bool is_call = has(event, LAGTRAP_EVENT_MATCH_STACK);
    while (!runs.empty()) {
        ModelRun& run = runs.back();
        if (run.stack_pointer > hit.stack_pointer) return;
        if (run.stack_pointer == hit.stack_pointer && !is_call && run.site != hit.site) {
            run.doubtful = true;
            return;
        }
        if (is_call)
            count_left_call(event);
        else
            count_unended(event, run);
        runs.pop_back();
    }
}

// A begin while an outermost run is open: whether that one was left.
bool RunModel::begin_around(std::uint32_t event, ModelRun& run, const Hit& hit) {
    const bool is_call = has(event, LAGTRAP_EVENT_MATCH_STACK);
    const bool ordered = is_call || has(event, LAGTRAP_EVENT_STACK_ORDER);
    const bool same_frame = run.stack_pointer == hit.stack_pointer;
    if (ordered &&
        (same_frame ? is_call || run.site == hit.site : run.stack_pointer < hit.stack_pointer)) {
        is_call ? count_left_call(event) : count_unended(event, run);
        return true;
    }
    if (is_call) return false;
    ++run.inside;
    if (!ordered || same_frame) run.doubtful = true;
    return false;
}

void RunModel::begin(std::uint32_t event, std::uint32_t tid, const Hit& hit) {
    Runs& runs = runs_of(event, tid, hit);
    ++counters_[event].markers[LAGTRAP_PLACE_BEGIN].hits;
    const std::uint32_t nesting = events_[event].nesting;
    if (nesting == LAGTRAP_NESTING_RESTART && !runs.empty()) {
        count_unended(event, runs.back());
        runs.pop_back();
    } else if (nesting == LAGTRAP_NESTING_OUTERMOST && !runs.empty()) {
        if (!begin_around(event, runs.back(), hit)) return;
        runs.pop_back();
    } else if (has(event, LAGTRAP_EVENT_MATCH_STACK | LAGTRAP_EVENT_STACK_ORDER)) {
        drop_left(event, runs, hit);
    } else if (!runs.empty()) {
        runs.back().doubtful = true;
    }
    open(event, runs, tid, hit);
}

void RunModel::count_hit(ModelRun& run, std::uint32_t tid) {
    const lagtrap_time_parts& sums = threads_[tid].sums;
    if (run.last_tid == tid)
        run.parts = moved(run.parts, sums, run.sums_at_hit);
    else
        run.handed_over_ns += now_ns - run.last_hit_ns;
    run.sums_at_hit = sums;
    run.last_tid = tid;
    run.last_hit_ns = now_ns;
}

void RunModel::stage(std::uint32_t event, std::uint32_t tid, std::uint16_t stage, std::uint16_t cpu,
                     const Hit& hit) {
    Runs& runs = runs_of(event, tid, hit);
    lagtrap_marker_count& marker = counters_[event].markers[LAGTRAP_PLACE_STAGE + stage];
    ++marker.hits;
    if (runs.empty() || !runs.back().opened) {
        ++marker.unmatched;
        return;
    }
    runs.back().stages.push_back({now_ns, tid, stage, cpu});
    if (has(event, LAGTRAP_EVENT_KEY_ARGUMENT)) count_hit(runs.back(), tid);
}

// Drops inner runs at an end in a frame that is not inside the frame around the innermost run.
void RunModel::drop_unended(std::uint32_t event, Runs& runs, const Hit& hit) {
    while (runs.size() > 1) {
        const ModelRun& around = runs[runs.size() - 2];
        if (around.stack_pointer <= runs.back().stack_pointer ||
            hit.stack_pointer < around.stack_pointer)
            return;
        count_unended(event, runs.back());
        runs.pop_back();
    }
}

// Drops inner calls; true if the innermost remaining call is the one that returns.
bool RunModel::drop_calls_inside(std::uint32_t event, Runs& runs, const Hit& hit) {
    while (!runs.empty() && runs.back().stack_pointer < hit.stack_pointer) {
        count_left_call(event);
        runs.pop_back();
    }
    return !runs.empty() && runs.back().stack_pointer == hit.stack_pointer;
}

std::optional<ModelRun> RunModel::end(std::uint32_t event, std::uint32_t tid, const Hit& hit) {
    Runs& runs = runs_of(event, tid, hit);
    lagtrap_marker_count& marker = counters_[event].markers[LAGTRAP_PLACE_END];
    ++marker.hits;
    const bool is_call = has(event, LAGTRAP_EVENT_MATCH_STACK);
    if (is_call && events_[event].nesting == LAGTRAP_NESTING_OUTERMOST && !runs.empty() &&
        hit.stack_pointer < runs.back().stack_pointer)
        return std::nullopt;
    if (runs.empty() || (is_call && !drop_calls_inside(event, runs, hit))) {
        ++marker.unmatched;
        return std::nullopt;
    }
    if (ModelRun& run = runs.back(); run.inside > 0) {
        const bool ends = has(event, LAGTRAP_EVENT_STACK_ORDER) && !run.doubtful &&
                          hit.stack_pointer >= run.stack_pointer;
        if (!ends) {
            --run.inside;
            return std::nullopt;
        }
        counters_[event].markers[LAGTRAP_PLACE_BEGIN].unmatched += run.inside;
    }
    if (has(event, LAGTRAP_EVENT_STACK_ORDER)) drop_unended(event, runs, hit);
    ModelRun run = runs.back();
    runs.pop_back();
    if (!run.opened) return std::nullopt;
    finish(event, run, tid);
    return run;
}

void RunModel::finish_times(std::uint32_t event, ModelRun& run, std::uint32_t tid) {
    lagtrap_event_counters& counters = counters_[event];
    if (has(event, LAGTRAP_EVENT_KEY_ARGUMENT))
        count_hit(run, tid);
    else
        run.parts = moved(run.parts, threads_[tid].sums, run.sums_at_hit);
    counters.timed_ns +=
        has(event, LAGTRAP_EVENT_KEY_ARGUMENT) ? sum_of(run.parts) : now_ns - run.begin_ns;
    counters.on_cpu_ns += run.parts.on_cpu_ns;
    counters.runnable_ns += run.parts.runnable_ns;
    counters.handed_over_ns += run.handed_over_ns;
}

void RunModel::finish(std::uint32_t event, ModelRun& run, std::uint32_t tid) {
    lagtrap_event_counters& counters = counters_[event];
    const std::uint64_t elapsed_ns = now_ns - run.begin_ns;
    const bool timed = has(event, LAGTRAP_EVENT_TIMES);
    ++counters.histogram[bucket_of(elapsed_ns)];
    counters.max_ns = std::max<std::uint64_t>(counters.max_ns, elapsed_ns);
    if (timed) finish_times(event, run, tid);
    if (elapsed_ns <= events_[event].threshold_ns) return;
    ++counters.delays;
    ++counters.delays_mostly[timed ? most_of(run) : std::size_t{LAGTRAP_DELAY_NOT_KNOWN}];
}

}  // namespace lagtrap::native
