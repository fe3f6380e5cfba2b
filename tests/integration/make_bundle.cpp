// Writes a small real bundle for the integration tests, and prints its path:
//   make_bundle SESSION HOST OUTPUT_DIRECTORY SEED SINCE [EVENT [KIND]]
// The bundle has two delays of EVENT ("query"), 60 and 81 ms long, which compute and wait for the
// disk in ReadWholeTable, and some normal runs, which wait in FileRead. SEED varies the times
// slightly; the recording began SEED minutes after SINCE (seconds since 1970). KIND "shop": the
// delays wait for another thread instead of the disk, objects were followed and functions traced.
// "big": one delay of 1250 ms with more distinct stacks than a profile has room for.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include "core/files.hpp"
#include "tests/integration/shop_objects.hpp"
#include "tests/unit/analysis/trace_builder.hpp"
#include "trace/bundle/bundle.hpp"
#include "trace/system_file/system_file.hpp"

namespace {

namespace trace = lagtrap::trace;
using lagtrap::test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr std::uint32_t process = 100, prefetcher = 101;

// Computes and waits alternately, `turns` times; waits for `wait_ms` of the run in total. It waits
// for the disk or, if `locked`, for another thread.
void add_run(TraceBuilder& builder, std::uint64_t id, std::uint64_t at_ms, std::uint64_t length_ms,
             std::uint64_t wait_ms, std::uint64_t turns, const std::string& event,
             bool locked = false) {
    const std::uint64_t begin = at_ms * ms, end = (at_ms + length_ms) * ms;
    const std::uint64_t wait = wait_ms * ms / turns, work = (end - begin) / turns - wait;
    const bool delayed = length_ms > 50;
    const std::string reader = delayed ? "ReadWholeTable" : "FileRead";
    builder.switched(begin - ms, 0, 0, 0, process);
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
        const std::uint64_t from = begin + turn * (work + wait);
        builder.samples(
            from, from + work, 0, process, process,
            {"main", "PostgresMain", "exec_query", "ExecSort", "<script>alert(1)</script>"});
        builder.switched(from + work, 0, process, locked ? 1 : 2, 0);
        builder.off_cpu(from + work, process, process,
                        {"main", "PostgresMain", "exec_query", reader,
                         locked ? "k:futex_wait" : "k:io_schedule"});
        if (locked)
            builder.waking(from + work + wait, 1, prefetcher, process);
        else
            builder.waking(from + work + wait, 0, 0, process, true);
        builder.switched(from + work + wait, 0, 0, 0, process);
    }
    builder.sample(end + ms / 2, 0, process, process, {"main"});
    builder.switched(end + ms, 0, process, 1, 0);
    trace::Delay run = TraceBuilder::delay(id, event, static_cast<std::int64_t>(begin),
                                           length_ms * ms, 50 * ms, process, process);
    run.process = "postgres";
    run.thread = "postgres";
    run.program = "/usr/lib/postgresql/15/bin/postgres";
    run.program_build_id = "0123456789abcdef0123456789abcdef01234567";
    if (event == "packaged") run.program_version = "15.8-0+deb12u1";
    if (locked) run.trace.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    if (delayed) run.stages = {{"parse", ms, process}, {"execute", 2 * ms, process}};
    builder.run(run, delayed);
}

// The result of tracing the process's functions.
trace::FunctionCounts traced_functions() {
    trace::FunctionCounts counts;
    counts.pid = process;
    counts.process = "postgres";
    counts.from_ns = TraceBuilder::begin_ns;
    counts.length_ns = 4000 * ms;
    counts.watched = 2100;
    counts.detached = 12;
    counts.min_ns = 20'000;
    counts.reported = 1800;
    counts.not_reported = 3;
    const std::string sorted =
        "shop::sort_by<std::vector<shop::Item, std::allocator<shop::Item> > >";
    counts.functions = {{"exec_query",
                         "/usr/lib/postgresql/15/bin/postgres",
                         "/src/execute.c",
                         88,
                         412,
                         0,
                         2500 * ms,
                         310 * ms,
                         {"main", "PostgresMain"}},
                        {sorted,
                         "/usr/lib/postgresql/15/lib/shop.so",
                         "",
                         0,
                         420,
                         0,
                         400 * ms,
                         32 * ms,
                         {"main", "exec_query"}}};
    return counts;
}

void add_runs(TraceBuilder& builder, std::uint64_t seed, const std::string& event, bool locked) {
    if (locked)
        builder.thread(process, prefetcher, "prefetch").switched(900 * ms, 1, 0, 0, prefetcher);
    if (locked)
        builder.samples(1000 * ms, 2100 * ms, 1, process, prefetcher,
                        {"start_thread", "parse_price_list"});
    std::uint64_t id = 1;
    for (; id <= 6; ++id) add_run(builder, id, 100 * id, 10 + (id + seed) % 3, 2, 1, event);
    add_run(builder, id++, 1000, 60, 6 * (2 + seed % 4), 6, event, locked);
    add_run(builder, id++, 2000, 81, 9 * (5 + seed % 3), 9, event, locked);
}

// A different stack each millisecond.
void add_big_delay(TraceBuilder& builder, const std::string& event) {
    constexpr std::uint64_t begin = 1000 * ms, length = 1250 * ms;
    builder.switched(begin - ms, 0, 0, 0, process);
    std::mt19937 random(77);
    TraceBuilder::Stack stack{"main"};
    for (std::uint64_t at = begin; at < begin + length; at += ms) {
        stack.resize(std::min<std::size_t>(stack.size(), 2 + random() % 60));
        while (stack.size() < 80)
            stack.push_back("office::layout::step_" + std::to_string(random() % 2400));
        builder.sample(at, 0, process, process, stack);
    }
    builder.switched(begin + length + ms, 0, process, 1, 0);
    trace::Delay run = TraceBuilder::delay(1, event, begin, length, 400 * ms, process, process);
    run.process = run.thread = "office";
    run.program = "/usr/bin/office";
    builder.run(run);
}

TraceBuilder make_recording(const std::string& session, const std::string& host, std::uint64_t seed,
                            std::uint64_t since_ns, const std::string& event,
                            const std::string& kind) {
    TraceBuilder builder(4000 * ms);
    builder.process(process, "/usr/lib/postgresql/15/bin/postgres")
        .thread(process, process, "postgres");
    if (kind == "big")
        add_big_delay(builder, event);
    else
        add_runs(builder, seed, event, kind == "shop");
    trace::SystemFile& file = builder.system;
    if (kind == "shop") {
        file.functions = traced_functions();
        file.objects = lagtrap::test::recorded_shop_objects(process);
    }
    file.session_id = session;
    file.lagtrap_version = LAGTRAP_VERSION;
    file.host = host;
    file.os_name = "Debian GNU/Linux 12 (bookworm)";
    file.kernel_release = "6.1.0";
    file.architecture = "x86_64";
    file.started_realtime_ns = since_ns + seed * 60'000 * ms;
    file.stack_method = "frame-pointer";
    file.trigger_reason = "deadline";
    file.trigger_event = event;
    file.runs[event] = {10'000, file.delays.size()};
    return builder;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6 || argc > 8) return EXIT_FAILURE;
    std::string pattern = std::filesystem::temp_directory_path() / "lagtrap-make-bundle-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) return EXIT_FAILURE;
    const std::filesystem::path directory = pattern;
    const TraceBuilder builder =
        make_recording(argv[1], argv[2], std::strtoull(argv[4], nullptr, 10),
                       std::strtoull(argv[5], nullptr, 10) * 1000 * ms,
                       argc > 6 ? argv[6] : "query", argc > 7 ? argv[7] : "");
    const std::string xml = trace::write_system_file(builder.system);
    const bool written =
        lagtrap::write_file_durably(directory / "trace.pftrace", builder.trace()).ok() &&
        lagtrap::write_file_durably(directory / "system.xml", xml).ok() &&
        lagtrap::write_file_durably(directory / "settings.xml", "<lagtrap/>").ok();
    const auto bundle = trace::write_bundle(directory, argv[1], argv[3]);
    std::filesystem::remove_all(directory);
    if (!written || !bundle) {
        std::fprintf(stderr, "%s\n", bundle ? "cannot write" : bundle.error().message.c_str());
        return EXIT_FAILURE;
    }
    std::puts(bundle->path.c_str());
    return EXIT_SUCCESS;
}
