// Writes a batch of runs for the integration tests:
//   make_runs HOST EVENT COUNT SEED SINCE LOST FILE [FACTOR BUILD]
// Every tenth run is a delay, every fifth a cold start. Delays wait for a lock. The stages are
// "parse" and "execute", with stacks. Run 7 was suspended, and the stages of run 8 were not
// watched. The first run begins SEED hours after SINCE (seconds since 1970); the caller gives
// SINCE, so that the same arguments make the same batch. LOST more runs are reported as lost. With
// FACTOR, runs take that many times as long, and all are of BUILD.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/files.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace {

namespace trace = lagtrap::trace;
constexpr std::uint64_t ms = 1'000'000;

trace::RunStack stack_of(const std::string& function) {
    return {{"/usr/bin/app", "abcd", 0x1234, function, "app.cpp", 12},
            {"/usr/bin/app", "abcd", 0x1000, "main", "", 0}};
}

trace::RecordedRun make_run(const std::string& event, std::uint64_t number, std::uint64_t seed,
                            std::uint64_t since_ns, std::uint64_t factor) {
    trace::RecordedRun run;
    run.event = event;
    run.begin_realtime_ns = since_ns + seed * 3'600'000 * ms + number * 1000 * ms;
    run.delay = number % 10 == 9;
    // Spread, so that slow runs differ from fast ones.
    run.duration_ns =
        (run.delay ? 80 : 8) * ms + (number * 7'919'000 + seed * 1'104'729) % (30 * ms);
    run.duration_ns *= factor;
    run.threshold_ns = 50 * ms;
    run.pid = 500;
    run.begin_tid = run.end_tid = 501;
    run.thread = "worker";
    run.process = "app";
    run.unit = number % 4 == 0 ? "container <shop>" : "app.service";
    run.executable = "/usr/bin/app";
    run.build_id = seed % 2 == 0 ? "build-a" : "build-b";
    run.user = "<b>ann</b>";
    run.start = number % 5 == 0 ? trace::StartKind::Cold : trace::StartKind::Warm;
    run.begin_stack = 1;
    run.end_stack = 1;
    run.without_stages = number == 8;
    if (!run.without_stages) run.stages = {{"parse", 1 * ms, 501, 1}, {"execute", 3 * ms, 501, 2}};
    // Three of four slow runs wait for a lock; one in fifty has no time split.
    if (number % 50 == 49) return run;
    trace::RunTimes& times = run.times.emplace();
    times.parts.runnable_ns = run.duration_ns / 20;
    times.parts.blocked_ns[LAGTRAP_WAIT_LOCK] =
        run.delay ? run.duration_ns / 4 * 3 : run.duration_ns / 50;
    times.parts.blocked_ns[LAGTRAP_WAIT_DISK] = run.duration_ns / 100;
    times.parts.on_cpu_ns =
        run.duration_ns - times.parts.runnable_ns - times.parts.blocked_total_ns() - 1000;
    if (number == 7) run.dirty_reasons = trace::DirtySuspended;
    return run;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 8 && argc != 10) return EXIT_FAILURE;
    const std::uint64_t count = std::strtoull(argv[3], nullptr, 10),
                        seed = std::strtoull(argv[4], nullptr, 10);
    const std::uint64_t since_ns = std::strtoull(argv[5], nullptr, 10) * 1000 * ms;
    const std::uint64_t factor = argc == 10 ? std::strtoull(argv[8], nullptr, 10) : 1;
    trace::RunBatch batch;
    char id[64];
    std::snprintf(id, sizeof id, "00000000-0000-4000-8000-%012llx",
                  static_cast<unsigned long long>(seed));
    batch.batch_id = id;
    batch.host = argv[1];
    batch.boot_id = id;
    batch.version = LAGTRAP_VERSION;
    batch.made_realtime_ns = since_ns;
    batch.runs_lost = std::strtoull(argv[6], nullptr, 10);
    batch.stacks = {stack_of("parse"), stack_of("<script>alert(1)</script>")};
    for (std::uint64_t number = 0; number < count; ++number)
        batch.runs.push_back(make_run(argv[2], number, seed, since_ns, factor));
    if (argc == 10)
        for (trace::RecordedRun& run : batch.runs) run.build_id = argv[9];
    const auto bytes = trace::write_run_batch(batch);
    if (!bytes || !lagtrap::write_file_durably(argv[7], *bytes)) {
        std::fprintf(stderr, "%s\n", bytes ? "cannot write" : bytes.error().message.c_str());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
