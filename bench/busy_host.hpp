// Batches of runs as a busy host sends them, for benchmarks of the server.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::bench {

struct BusyHost {
    std::size_t runs_a_batch = 20'000;
    unsigned events = 10;  // of one batch; there are ten
};

// Runs of four stages each, spread over `span_ns` from `begin_ns`.
inline trace::RunBatch make_batch(const BusyHost& host, std::uint64_t number,
                                  std::uint64_t begin_ns, std::uint64_t span_ns) {
    constexpr unsigned hosts = 1000, all_events = 10, builds = 5, users = 50;
    constexpr std::uint64_t threshold_ns = 50'000'000;
    std::mt19937_64 random(number);
    std::lognormal_distribution<double> durations(16.5, 0.8);
    trace::RunBatch batch;
    const std::string digits = std::to_string(1'000'000'000'000 + number);
    batch.batch_id = "00000000-0000-4000-8000-" + digits.substr(1);
    batch.boot_id = "00000000-0000-4000-8000-000000000000";
    batch.made_realtime_ns = begin_ns + span_ns;
    batch.host = "host" + std::to_string(number % hosts);
    for (std::uint64_t i = 0; i < 8; ++i)
        batch.stacks.push_back({{"libdemo.so", "ab12", 64 * i, "load_data", "load.c", 7},
                                {"demo", "cd34", 8, "main", "", 0}});
    batch.runs.resize(host.runs_a_batch);
    for (std::size_t i = 0; i < host.runs_a_batch; ++i) {
        trace::RecordedRun& run = batch.runs[i];
        run.event = "event " + std::to_string((number + random() % host.events) % all_events);
        run.begin_realtime_ns = begin_ns + span_ns * i / host.runs_a_batch;
        run.duration_ns = static_cast<std::uint64_t>(durations(random)) + 1;
        run.threshold_ns = threshold_ns;
        run.delay = run.duration_ns > run.threshold_ns;
        run.pid = 1000 + static_cast<std::uint32_t>(random() % 20);
        run.begin_tid = run.end_tid = run.pid;
        run.thread = run.process = "demo";
        run.executable = "/usr/bin/demo";
        run.build_id = "build" + std::to_string(number / 100 % builds);
        run.user = "user" + std::to_string(number % users);
        run.start = random() % 10 == 0 ? trace::StartKind::Cold : trace::StartKind::Warm;
        run.begin_stack = 1 + static_cast<std::uint32_t>(random() % 8);
        for (std::uint64_t stage = 0; stage < 4; ++stage)
            run.stages.push_back({"stage " + std::to_string(stage),
                                  run.duration_ns * (stage + 1) / 5, run.pid,
                                  1 + static_cast<std::uint32_t>(random() % 8)});
    }
    return batch;
}

}  // namespace lagtrap::bench
