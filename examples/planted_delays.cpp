// Makes delays of known cause and length, for tests and for trying out lagtrap:
//
//     planted_delays --kind cpu|lock|sleep|fsync|fault --fast 1000 --slow-ms 200
//         runs event "work" (stages "prepare", "execute" and "finish", each from its marker to the
//         next) 1000 times fast, once with a slow "execute", and 1000 times fast again. With
//         --threads T, T threads do this, but only the first has the slow run.
//     planted_delays --kind never
//         the slow run never leaves "execute"; the program ends at the end of its input or at
//         SIGTERM.
//     planted_delays --kind threads --count 2000 --held 20 --slow-ms 200
//         one thread begins 2000 runs of event "request", another ends them in random order,
//         matched by key. 20 of them stay open for 200 ms.
//
// --gap-us pauses between runs, --seed seeds the random numbers, --wait prints "ready" and waits
// for a line of input. The program ends with one line of JSON. The slow run took at most
// slow_outer_ns, measured from just before the begin marker to just after the end marker, and at
// least slow_inner_ns, measured between the markers; slow_duration_ns is slow_outer_ns. For a run
// that never ends there is only slow_duration_ns: how long it had been open when the program ended.
#include <lagtrap.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "examples/planted.hpp"
#include "examples/program_input.hpp"

namespace {

struct Plan {
    std::string kind;
    std::uint64_t fast = 0;
    std::uint64_t slow_ns = 0;
    std::uint64_t gap_ns = 0;
    std::uint64_t seed = 0;
    std::string directory;
};

struct Done {
    std::uint64_t slow_begin_ns = 0;
    std::uint64_t slow_outer_ns = 0;
    std::uint64_t slow_inner_ns = 0;  // 0: the run never ended
    std::uint64_t planted_ns = 0;
    std::uint64_t longest_fast_ns = 0;
    std::uint64_t runs_begun = 0;
    std::uint64_t runs_ended = 0;
    int tid = 0;
};

int thread_id() { return static_cast<int>(::syscall(SYS_gettid)); }

const char* planted_function_of(const std::string& kind) {
    if (kind == "cpu") return "planted_cpu_burn";
    if (kind == "lock") return "planted_lock_holder";
    if (kind == "sleep") return "planted_sleep";
    if (kind == "fsync") return "planted_fsync";
    if (kind == "fault") return "planted_page_faults";
    if (kind == "never") return "planted_wait_for_ever";
    return "";
}

std::uint64_t plant(const Plan& plan) {
    if (plan.kind == "cpu") return planted_cpu_burn(plan.slow_ns);
    if (plan.kind == "lock") return planted_lock_wait(plan.slow_ns);
    if (plan.kind == "sleep") return planted_sleep(plan.slow_ns);
    if (plan.kind == "fsync") return planted_fsync(plan.slow_ns, plan.directory.c_str());
    if (plan.kind == "fault") return planted_page_faults(plan.slow_ns);
    return planted_wait_for_ever();
}

// Takes 20 to 100 microseconds.
void fast_run(std::mt19937_64& random, Done& done) {
    const std::uint64_t part_ns = 6'000 + random() % 26'000;
    const std::uint64_t begin = lagtrap_now_ns();
    LAGTRAP_BEGIN("work");
    LAGTRAP_STAGE("work", "prepare");
    examples::work_for(part_ns);
    LAGTRAP_STAGE("work", "execute");
    examples::work_for(part_ns);
    LAGTRAP_STAGE("work", "finish");
    examples::work_for(part_ns);
    LAGTRAP_END("work");
    done.longest_fast_ns = std::max(done.longest_fast_ns, lagtrap_now_ns() - begin);
    ++done.runs_begun;
    ++done.runs_ended;
}

__attribute__((noinline)) void slow_run(const Plan& plan, Done& done) {
    ++done.runs_begun;
    done.slow_begin_ns = lagtrap_now_ns();
    LAGTRAP_BEGIN("work");
    const std::uint64_t inner_begin_ns = lagtrap_now_ns();
    LAGTRAP_STAGE("work", "prepare");
    examples::work_for(10'000);
    LAGTRAP_STAGE("work", "execute");
    done.planted_ns = plant(plan);
    if (plan.kind != "never") {
        LAGTRAP_STAGE("work", "finish");
        examples::work_for(10'000);
        done.slow_inner_ns = lagtrap_now_ns() - inner_begin_ns;
        LAGTRAP_END("work");
        ++done.runs_ended;
    }
    done.slow_outer_ns = lagtrap_now_ns() - done.slow_begin_ns;
}

void pause_between_runs(const Plan& plan) {
    if (plan.gap_ns == 0) return;
    const timespec gap{static_cast<time_t>(plan.gap_ns / 1'000'000'000),
                       static_cast<long>(plan.gap_ns % 1'000'000'000)};
    ::nanosleep(&gap, nullptr);
}

enum class Slow { Yes, No };

void run_work(const Plan& plan, Slow slow, std::uint64_t seed, Done& done) {
    std::mt19937_64 random(seed);
    done.tid = thread_id();
    for (std::uint64_t run = 0; run < plan.fast; ++run) {
        fast_run(random, done);
        pause_between_runs(plan);
    }
    if (slow == Slow::Yes) slow_run(plan, done);
    if (plan.kind == "never") return;
    for (std::uint64_t run = 0; run < plan.fast; ++run) {
        pause_between_runs(plan);
        fast_run(random, done);
    }
}

int run_slow_kind(const Plan& plan, std::uint64_t threads) {
    std::vector<Done> done(threads);
    std::vector<std::thread> others;
    for (std::uint64_t index = 1; index < threads; ++index)
        others.emplace_back(
            [&, index] { run_work(plan, Slow::No, plan.seed + index, done[index]); });
    run_work(plan, Slow::Yes, plan.seed, done[0]);
    for (auto& other : others) other.join();
    Done all = done[0];
    for (std::uint64_t index = 1; index < threads; ++index) {
        all.runs_begun += done[index].runs_begun;
        all.runs_ended += done[index].runs_ended;
        all.longest_fast_ns = std::max(all.longest_fast_ns, done[index].longest_fast_ns);
    }
    const std::string bounds = all.slow_inner_ns == 0
                                   ? std::string()
                                   : ",\"slow_outer_ns\":" + std::to_string(all.slow_outer_ns) +
                                         ",\"slow_inner_ns\":" + std::to_string(all.slow_inner_ns);
    std::printf(
        "{\"event\":\"work\",\"kind\":\"%s\",\"pid\":%d,\"tid\":%d,\"slow_begin_ns\":%" PRIu64
        ",\"slow_duration_ns\":%" PRIu64 "%s,\"planted_function\":\"%s\",\"planted_ns\":%" PRIu64
        ",\"lock_holder_tid\":%d,\"runs\":%" PRIu64 ",\"runs_ended\":%" PRIu64
        ",\"longest_fast_ns\":%" PRIu64 "}\n",
        plan.kind.c_str(), static_cast<int>(::getpid()), all.tid, all.slow_begin_ns,
        all.slow_outer_ns, bounds.c_str(), planted_function_of(plan.kind), all.planted_ns,
        examples::lock_holder_tid(), all.runs_begun, all.runs_ended, all.longest_fast_ns);
    return 0;
}

// One per key, starting at 1. The beginning thread writes it before the ending thread reads it.
struct Request {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
};

void begin_requests(std::vector<Request>& requests) {
    for (std::size_t index = 0; index < requests.size(); ++index) {
        requests[index].begin_ns = lagtrap_now_ns();
        LAGTRAP_BEGIN_KEY("request", index + 1);
    }
}

void end_requests(std::vector<Request>& requests, const std::vector<std::size_t>& order) {
    for (const std::size_t index : order) {
        LAGTRAP_END_KEY("request", index + 1);
        requests[index].end_ns = lagtrap_now_ns();
    }
}

int run_threads_kind(const Plan& plan, std::uint64_t count, std::uint64_t held) {
    std::vector<Request> requests(count);
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937_64(plan.seed));
    const auto split = order.end() - static_cast<std::ptrdiff_t>(held);
    const std::vector<std::size_t> quick(order.begin(), split);
    const std::vector<std::size_t> late(split, order.end());
    int begin_tid = 0;
    int end_tid = 0;
    std::atomic<bool> begun{false};
    std::thread ending([&] {
        end_tid = thread_id();
        begun.wait(false);
        end_requests(requests, quick);
        if (!late.empty()) planted_sleep(plan.slow_ns);
        end_requests(requests, late);
    });
    std::thread beginning([&] {
        begin_tid = thread_id();
        begin_requests(requests);
        begun = true;
        begun.notify_one();
    });
    beginning.join();
    ending.join();
    std::uint64_t longest_quick_ns = 0;
    std::uint64_t shortest_held_ns = 0;
    for (const std::size_t index : quick)
        longest_quick_ns =
            std::max(longest_quick_ns, requests[index].end_ns - requests[index].begin_ns);
    for (const std::size_t index : late) {
        const std::uint64_t taken = requests[index].end_ns - requests[index].begin_ns;
        shortest_held_ns = shortest_held_ns == 0 ? taken : std::min(shortest_held_ns, taken);
    }
    std::printf(
        "{\"event\":\"request\",\"kind\":\"threads\",\"pid\":%d,\"tid\":%d,\"end_tid\":%d,\"runs\":"
        "%" PRIu64 ",\"held\":%" PRIu64 ",\"longest_quick_ns\":%" PRIu64
        ",\"shortest_held_ns\":%" PRIu64 ",\"first_held_key\":%zu}\n",
        static_cast<int>(::getpid()), begin_tid, end_tid, count, held, longest_quick_ns,
        shortest_held_ns, late.empty() ? 0 : *std::min_element(late.begin(), late.end()) + 1);
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    const examples::Options options(count, arguments,
                                    {{"--kind", "cpu"},
                                     {"--fast", "1000"},
                                     {"--slow-ms", "200"},
                                     {"--threads", "1"},
                                     {"--count", "2000"},
                                     {"--held", "20"},
                                     {"--seed", "1"},
                                     {"--gap-us", "0"},
                                     {"--directory", "."},
                                     {"--wait", "no"}});
    Plan plan;
    plan.kind = options.text("--kind");
    plan.fast = options.number("--fast");
    plan.slow_ns = options.number("--slow-ms") * 1'000'000;
    plan.gap_ns = options.number("--gap-us") * 1'000;
    plan.seed = options.number("--seed");
    plan.directory = options.text("--directory");
    const std::uint64_t threads = options.number("--threads", 1);
    const std::uint64_t requests = options.number("--count", 1);
    const std::uint64_t held = options.number("--held");
    if (held > requests) options.stop("--held is more than --count");
    if (plan.kind != "threads" && *planted_function_of(plan.kind) == '\0')
        options.stop("--kind is \"" + plan.kind +
                     "\"; expected cpu, lock, sleep, fsync, fault, never or threads");
    if (options.flag("--wait") && !examples::wait_for_go()) return 1;
    return plan.kind == "threads" ? run_threads_kind(plan, requests, held)
                                  : run_slow_kind(plan, threads);
}
