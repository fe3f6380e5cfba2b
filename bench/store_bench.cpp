// How fast the server's store accepts runs and answers queries: store_bench write STORE RUNS
// THREADS, store_bench page STORE RUNS. STORE is the path of an SQLite file or a PostgreSQL URI.
// Prints a JSON object.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "bench/busy_host.hpp"
#include "core/digest.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t day_ns = 86'400'000 * ms;
constexpr std::uint64_t first_ns = 20'000 * day_ns;
constexpr std::uint64_t days = 30;
const bench::BusyHost busy_host;
const std::size_t runs_a_batch = busy_host.runs_a_batch;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <typename T>
T must(Result<T> result) {
    if (result) return std::move(result).value();
    std::fprintf(stderr, "store_bench: %s\n", result.error().message.c_str());
    std::exit(1);
}

void add(Store& store, std::uint64_t number, const trace::RunBatch& batch) {
    const Receipt receipt{sha256_of("batch " + std::to_string(number)), 500'000,
                          first_ns + days * day_ns, "bench"};
    must(store.batches().add_batch(receipt, batch));
}

int write(const std::string& where, std::uint64_t runs, unsigned threads) {
    const auto store = must(open_store(where));
    const std::uint64_t batches = std::max<std::uint64_t>(runs / runs_a_batch, threads);
    std::vector<trace::RunBatch> made;
    for (std::uint64_t i = 0; i < batches; ++i)
        made.push_back(bench::make_batch(busy_host, i, first_ns + i * 60'000 * ms, 60'000 * ms));
    if (const auto ready = store->upkeep().maintain(first_ns); !ready) return 1;
    std::atomic<std::uint64_t> next{0};
    const auto begin = Clock::now();
    std::vector<std::thread> writers;
    for (unsigned i = 0; i < threads; ++i)
        writers.emplace_back([&] {
            for (std::uint64_t number = next++; number < batches; number = next++)
                add(*store, number, made[number]);
        });
    for (std::thread& writer : writers) writer.join();
    const double seconds = seconds_since(begin);
    const double stored = static_cast<double>(batches * runs_a_batch);
    std::printf("{\"runs\": %.0f, \"seconds\": %.3f, \"runs_per_second\": %.0f}\n", stored, seconds,
                stored / seconds);
    return 0;
}

// The median of five, in milliseconds.
template <typename Ask>
double milliseconds(Ask ask) {
    std::vector<double> taken;
    for (int i = 0; i < 5; ++i) {
        const auto begin = Clock::now();
        ask();
        taken.push_back(seconds_since(begin) * 1000);
    }
    std::fprintf(stderr, "  first %.1f ms, then %.1f ms\n", taken.front(), taken.back());
    std::sort(taken.begin(), taken.end());
    return taken[taken.size() / 2];
}

int page(const std::string& where, std::uint64_t runs) {
    auto store = must(open_store(where));
    const std::uint64_t batches = runs / runs_a_batch, span_ns = days * day_ns / batches;
    const auto begin = Clock::now();
    for (std::uint64_t i = must(store->upkeep().size()).runs / runs_a_batch; i < batches; ++i)
        add(*store, i, bench::make_batch(busy_host, i, first_ns + i * span_ns, span_ns));
    std::fprintf(stderr, "filled in %.0f s\n", seconds_since(begin));
    store.reset();
    store = must(open_store(where));
    Filter filter;
    filter.event = "event 3";
    Filter host = filter;
    host.host = {"host7"};
    Filter range = filter;
    range.from_ns = first_ns + 3 * day_ns + 12'345 * ms;
    range.to_ns = first_ns + 17 * day_ns + 777 * ms;
    const auto first = Clock::now();
    const auto summary = must(store->everything().summaries().summary(filter));
    const auto newest = must(store->everything().runs().list(filter, RunOrder::Newest, 1000, {}));
    const double first_answer_ms = seconds_since(first) * 1000;
    if (summary.counts.records == 0 || newest.runs.size() != 1000) return 1;
    std::printf("{\"runs\": %llu, \"first_answer_ms\": %.1f,",
                static_cast<unsigned long long>(runs), first_answer_ms);
    const auto measure = [&](const char* name, auto ask, bool last = false) {
        std::fprintf(stderr, "%s:\n", name);
        std::printf(" \"%s_ms\": %.1f%s", name, milliseconds(ask), last ? "}\n" : ",");
    };
    measure("summary", [&] { must(store->everything().summaries().summary(filter)); });
    measure("newest",
            [&] { must(store->everything().runs().list(filter, RunOrder::Newest, 1000, {})); });
    measure("slowest",
            [&] { must(store->everything().runs().list(filter, RunOrder::Slowest, 1000, {})); });
    measure("range_summary", [&] { must(store->everything().summaries().summary(range)); });
    measure("range_slowest",
            [&] { must(store->everything().runs().list(range, RunOrder::Slowest, 1000, {})); });
    measure("host_summary", [&] { must(store->everything().summaries().summary(host)); });
    measure("host_newest",
            [&] { must(store->everything().runs().list(host, RunOrder::Newest, 1000, {})); });
    measure("events", [&] { must(store->everything().events().list({}, "", 1000, {})); });
    measure("choices", [&] { must(store->everything().choices().of_event("event 3")); });
    measure(
        "stage_stacks",
        [&] { must(store->everything().runs().stage_stacks(filter, "stage 2", 20'000)); }, true);
    return 0;
}

}  // namespace
}  // namespace lagtrap::server

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "write" && argc == 5)
        return lagtrap::server::write(argv[2], std::strtoull(argv[3], nullptr, 10),
                                      static_cast<unsigned>(std::strtoul(argv[4], nullptr, 10)));
    if (what == "page" && argc == 4)
        return lagtrap::server::page(argv[2], std::strtoull(argv[3], nullptr, 10));
    std::fprintf(stderr,
                 "usage: store_bench write STORE RUNS THREADS | store_bench page STORE RUNS\n");
    return 2;
}
