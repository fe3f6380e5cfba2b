#include "trace/system_file/system_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::trace::system_file_test {
namespace {

using testing::HasSubstr;

SystemFile full_file() {
    SystemFile file;
    file.session_id = "0f8fad5b-d9cb-469f-a165-70867728950e";
    file.lagtrap_version = "0.1.0";
    file.host = "db7";
    file.machine_id = std::string(64, 'a');
    file.os_name = "Debian GNU/Linux 12 (bookworm)";
    file.kernel_release = "6.1.0";
    file.architecture = "x86_64";
    file.cpu_count = 4;
    file.cpu_model = "A <CPU> & \"more\"";
    file.memory_bytes = 1ULL << 40;
    file.started_realtime_ns = 1'795'000'000'123'456'789;
    file.started_boottime_ns = 99;
    file.length_ns = 4'000'000'000;
    file.trace_length_ns = 1'000'000'000;
    file.trace_length_limit_ns = 4'000'000'000;
    file.end = RecordingEnd::Limit;
    file.sample_interval_ns = 1'000'000;
    file.stack_method = "frame-pointer";
    file.trigger_reason = "deadline";
    file.trigger_event = "query";
    file.breach_boottime_ns = 98;
    file.partial = true;
    file.quality.samples_taken = 1;
    file.quality.samples_lost = 2;
    file.quality.switches_lost = 3;
    file.quality.wakings_lost = 4;
    file.quality.stacks_lost = 5;
    file.quality.stack_copies = 11;
    file.quality.stack_copies_left_out = 12;
    file.quality.runs_lost = 6;
    file.quality.task_changes_lost = 7;
    file.quality.code_files_lost = 10;
    file.quality.bpf_run_time_ns = 8;
    file.quality.daemon_cpu_ns = 9;
    file.quality.truncated_by_size = true;
    file.stacks = {10,
                   9,
                   8,
                   7,
                   6,
                   {5, 4, 3, 2},
                   {2, 1, 0, 1},
                   {7, 6, 5, 4},
                   {{"/lib/x.so", "gap", 3, 2}, {"", "lost", 1, 0}},
                   {"", "", 12, 13},
                   {20, 21, 22, 23, 24, 25}};
    file.runs = {{"query", {10'000, 1}}, {"fsync", {3, 0}}};
    file.markers = {
        {"fsync", {{"", "tracepoint syscalls:sys_enter_fsync"}, {"written", "x"}, {"", "y"}}}};
    Delay delay;
    delay.run_id = 7;
    delay.event = "query";
    delay.threshold_ns = 50;
    delay.begin_ns = 60;
    delay.duration_ns = 70;
    delay.open = delay.first = delay.earlier_begin = true;
    delay.queued_ns = 5;
    delay.key = ~0ULL;
    delay.in_go = delay.without_stages = true;
    delay.trace = {"4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"};
    delay.no_trace = "x<y";
    delay.goroutine = 34;
    delay.begin_pid = 1, delay.begin_tid = 2, delay.end_pid = 3, delay.end_tid = 4;
    delay.process = "postgres";
    delay.thread = "worker";
    delay.program = "/usr/bin/postgres";
    delay.program_build_id = "00ff";
    delay.program_version = "15.8-0";
    delay.user = "postgres";
    delay.stages = {{"parse", 1, 2}, {"execute", 3, 4}};
    delay.so_far.tid = 2;
    delay.so_far.from_offset_ns = 10;
    delay.so_far.until_offset_ns = 65;
    delay.so_far.on_cpu_ns = 20;
    delay.so_far.runnable_ns = 15;
    delay.so_far.throttled_ns = 14;
    delay.so_far.blocked_ns[LAGTRAP_WAIT_LOCK] = 13;
    delay.so_far.earlier.blocked_ns[LAGTRAP_WAIT_STOPPED] = 9;
    delay.so_far.waits = {{11, 12, LAGTRAP_WAIT_LOCK, LAGTRAP_WAKER_THREAD, 21, 22, "holder <1>"},
                          {30, 1, LAGTRAP_WAIT_LOCK, LAGTRAP_WAKER_SOFTIRQ, 0, 0, {}},
                          {40, 1, LAGTRAP_WAIT_LOCK, LAGTRAP_WAKER_UNKNOWN, 0, 0, {}}};
    file.delays = {delay, Delay{}};
    file.delays_left_out = 3;
    file.modules = {{"/lib/x.so", "ab12"}, {"/tmp/gone", ""}};
    FunctionCounts& counts = file.functions.emplace();
    counts = {41, "server", 80, 1'000, 900, 300, 2, 20'000, 55, 3, 4, {}, 6, 7, 8};
    counts.functions = {
        {"parse<int>", "/bin/app", "/src/parse.c", 12, 9, 1, 700, 500, {"main", "serve"}},
        {"hash", "/bin/app", "", 0, 2, 0, 5, 4, {}}};
    file.objects = {R"({"failures":[[0,1,"a < b & \"c\"","",0,5]]})", "{}"};
    return file;
}

TEST(SystemFile, GivesBackWhatWasWritten) {
    const std::string text = write_system_file(full_file());
    auto read = read_system_file(text);
    ASSERT_TRUE(read.ok()) << read.error().message;
    // All fields are in the text again, so equal texts mean equal files.
    EXPECT_EQ(write_system_file(*read), text);
    EXPECT_EQ(read->cpu_model, "A <CPU> & \"more\"");
    EXPECT_EQ(read->quality.daemon_cpu_ns, 9U);
    EXPECT_EQ(read->quality.stack_copies_left_out, 12U);
    EXPECT_EQ(read->stacks.on_cpu.late, 2U);
    EXPECT_EQ(read->stacks.delayed.complete, 6U);
    EXPECT_EQ(read->stacks.frames_named, 7U);
    EXPECT_EQ(read->quality.code_files_lost, 10U);
    EXPECT_EQ(read->stacks.stops.at(0).reason, "gap");
    EXPECT_EQ(read->stacks.other_stops.off_cpu, 13U);
    EXPECT_EQ(read->stacks.naming.lines_left_out, 25U);
    EXPECT_EQ(read->runs.at("query").runs, 10'000U);
    ASSERT_EQ(read->delays.size(), 2U);
    EXPECT_EQ(read->delays[0].key, ~0ULL);
    EXPECT_TRUE(read->delays[0].in_go);
    EXPECT_TRUE(read->delays[0].without_stages);
    EXPECT_EQ(read->delays[0].trace,
              (TraceContext{"4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"}));
    EXPECT_EQ(read->delays[0].no_trace, "x<y");
    EXPECT_EQ(read->delays[1].trace, TraceContext{});
    EXPECT_FALSE(read->delays[1].without_stages);
    EXPECT_EQ(read->delays[0].goroutine, 34);
    EXPECT_TRUE(read->delays[0].open);
    EXPECT_EQ(read->delays[0].stages[1].name, "execute");
    EXPECT_EQ(read->delays[0].program_version, "15.8-0");
    EXPECT_EQ(read->delays[0].user, "postgres");
    const RunSoFar& so_far = read->delays[0].so_far;
    EXPECT_EQ(so_far.total_ns(), 48U);
    EXPECT_EQ(so_far.earlier.total_ns(), 9U);
    ASSERT_EQ(so_far.waits.size(), 3U);
    EXPECT_EQ(so_far.waits[0].waker_thread, "holder <1>");
    EXPECT_EQ(so_far.waits[0].waker_tid, 22U);
    EXPECT_EQ(so_far.waits[1].waker, static_cast<std::uint32_t>(LAGTRAP_WAKER_SOFTIRQ));
    EXPECT_EQ(so_far.waits[2].waker, static_cast<std::uint32_t>(LAGTRAP_WAKER_UNKNOWN));
    EXPECT_FALSE(read->delays[1].so_far.known());
    EXPECT_EQ(read->modules[0].build_id, "ab12");
    EXPECT_EQ(read->objects, full_file().objects);
    ASSERT_TRUE(read->functions);
    EXPECT_EQ(read->functions->others_own_ns, 8U);
    ASSERT_EQ(read->functions->functions.size(), 2U);
    EXPECT_EQ(read->functions->functions[0].name, "parse<int>");
    EXPECT_EQ(read->functions->functions[0].path, (std::vector<std::string>{"main", "serve"}));
    EXPECT_THAT(text, HasSubstr("started=\"2026-11-"));
}

TEST(SystemFile, FunctionsAreCheckedToo) {
    std::string text = write_system_file(full_file());
    const std::string calls = "calls=\"9\"";
    text.replace(text.find(calls), calls.size(), "calls=\"0\"");
    const auto read = read_system_file(text);
    ASSERT_FALSE(read.ok());
    EXPECT_THAT(read.error().message,
                HasSubstr("function has calls=\"0\"; allowed is a number from 1"));
    SystemFile without = full_file();
    without.functions.reset();
    EXPECT_FALSE(read_system_file(write_system_file(without)).value().functions);
}

// As written before stack walks recorded why they ended.
TEST(SystemFile, QualityOfStacksMayBeMissing) {
    std::string text = write_system_file(full_file());
    text.erase(text.find("<stacks"), text.find("</stacks>") + 9 - text.find("<stacks"));
    text.erase(text.find("<names"), text.find("/>", text.find("<names")) + 2 - text.find("<names"));
    text.erase(text.find(" code-files-lost=\"10\""), 21);
    auto read = read_system_file(text);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->quality.code_files_lost, 0U);
    EXPECT_EQ(read->stacks.user_stacks_complete, 9U);
    EXPECT_EQ(read->stacks.on_cpu.stacks, 0U);
    EXPECT_TRUE(read->stacks.stops.empty());
}

TEST(SystemFile, TextsThatAreTooLongAreCut) {
    SystemFile file = full_file();
    file.modules[0].path = "/" + std::string(2000, '\xff');
    file.stacks.stops[0].module = "/" + std::string(5000, 'x');
    auto read = read_system_file(write_system_file(file));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->modules[0].path.size(), 4096U);
    EXPECT_EQ(read->stacks.stops[0].module.size(), 4096U);
}

TEST(SystemFile, HoldsNoByteThatXmlForbids) {
    SystemFile file = full_file();
    file.delays[0].process = std::string("a\x01\x1b[31m\xff\xc0\x80z\0y", 13);
    const std::string text = write_system_file(file);
    for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    auto read = read_system_file(text);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->delays[0].process, "a\\x01\\x1b[31m\\xff\\xc0\\x80z\\x00y");
}

TEST(SystemFile, CutAnywhereIsAnError) {
    const std::string text = write_system_file(full_file());
    const std::size_t end = text.rfind('>');
    for (std::size_t length = 0; length < end; ++length)
        ASSERT_FALSE(read_system_file(std::string_view(text).substr(0, length)).ok()) << length;
}

TEST(SystemFile, SaysWhatIsWrong) {
    struct Case {
        std::string found;
        std::string replacement;
        const char* message;
    };
    const std::string good = write_system_file(full_file());
    for (const auto& [found, replacement, message] :
         {Case{"cpus=\"4\"", "cpus=\"four\"",
               "machine has cpus=\"four\"; allowed is a whole number"},
          Case{"cpus=\"4\"", "cpus=\"4294967296\"", "up to 4294967295"},
          Case{"cpus=\"4\"", "cpus=\"-1\"", "machine has cpus=\"-1\""},
          Case{"cpus=\"4\"", "", "machine has no \"cpus\""},
          Case{"reason=\"gap\" on-cpu=\"3\"", "reason=\"gap\" on-cpu=\"x\"",
               "stop has on-cpu=\"x\""},
          Case{"frames-located=\"6\"", "", "names has no \"frames-located\""},
          Case{"partial=\"true\"", "partial=\"yes\"", "true or false"},
          Case{"reason=\"deadline\"", "reason=\"none\"", "deadline, end or manual"},
          Case{"0f8fad5b-d9cb-469f-a165-70867728950e", "../../../etc", "allowed is a UUID"},
          Case{"program-build-id=\"00ff\"", "program-build-id=\"&lt;script>\"",
               "lower-case hexadecimal digits"},
          Case{"host=\"db7\"", "host=\"" + std::string(5000, 'x') + "\"", "at most 4096 bytes"},
          Case{"lagtrap-system version=\"1\"", "lagtrap-system version=\"2\"",
               "this program reads version 1"},
          Case{"<lagtrap-system", "<!DOCTYPE a [<!ENTITY b \"c\">]><lagtrap-system",
               "document type definition"},
          Case{"<machine", "<other", "machine has no"}}) {
        std::string bad = good;
        ASSERT_NE(bad.find(found), std::string::npos) << found;
        bad.replace(bad.find(found), found.size(), replacement);
        if (replacement == "<other")
            bad = good.substr(0, good.find("<machine")) + good.substr(good.find("<recording"));
        auto read = read_system_file(bad);
        ASSERT_FALSE(read.ok()) << message;
        EXPECT_THAT(read.error().message,
                    HasSubstr(std::string(message) == "machine has no" ? "has no" : message));
    }
}

TEST(SystemFile, HostileSizesAreRefused) {
    EXPECT_EQ(read_system_file(std::string((16 << 20) + 1, ' ')).error().kind, ErrorKind::TooLarge);
    std::string elements = "<lagtrap-system>";
    for (int i = 0; i < 1'100'000; ++i) elements += "<a/>";
    EXPECT_EQ(read_system_file(elements).error().kind, ErrorKind::TooLarge);
    std::string deep;
    for (int i = 0; i < 900'000; ++i) deep += "<a>";
    EXPECT_FALSE(read_system_file(deep).ok());
    EXPECT_FALSE(read_system_file(std::string_view("<lagtrap-system\0/>", 18)).ok());
    const std::string good = write_system_file(full_file());
    std::string stages = good;
    for (int i = 0; i < 20; ++i)
        stages.insert(stages.find("<stage"), "<stage name=\"s\" offset-ns=\"1\" tid=\"1\"/>");
    EXPECT_EQ(read_system_file(stages).error().kind, ErrorKind::TooLarge);
    std::string stops = good;
    std::string many_stops;
    for (int i = 0; i < 1001; ++i)
        many_stops += "<stop module=\"\" reason=\"gap\" on-cpu=\"1\" off-cpu=\"0\"/>";
    stops.insert(stops.find("<stop "), many_stops);
    EXPECT_EQ(read_system_file(stops).error().kind, ErrorKind::TooLarge);
    std::string modules = good;
    std::string many;
    for (int i = 0; i < 100'001; ++i) many += "<module path=\"/x\" build-id=\"\"/>";
    modules.insert(modules.find("<module "), many);
    EXPECT_EQ(read_system_file(modules).error().kind, ErrorKind::TooLarge);
}

}  // namespace
}  // namespace lagtrap::trace::system_file_test
