// A system file with all its parts; no two of its numbers that could be mistaken are equal.
#pragma once

#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace {

inline SystemFile full_file() {
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
    file.history_length_ns = 5'000;
    file.history_interval_ns = 20;
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
    delay.control_group = "/system.slice/postgresql.service";
    delay.unit = "postgresql.service";
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

}  // namespace lagtrap::trace
