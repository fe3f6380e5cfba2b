#include "tests/unit/trace/synthetic_capture.hpp"

#include <cstring>

#include <gtest/gtest.h>

namespace lagtrap::trace {
namespace {

LogWriter make_log(const std::filesystem::path& directory, LogKind kind, const Session& session) {
    auto writer = LogWriter::create(directory, kind, session.id, session.clocks);
    if (!writer) throw std::runtime_error(writer.error().message);
    return std::move(writer).value();
}

template <std::size_t size>
void copy_comm(char (&comm)[size], const std::string& name) {
    std::memcpy(comm, name.data(), std::min(name.size(), size));
}

std::string frame_bytes(const std::vector<std::uint64_t>& frames) {
    return {reinterpret_cast<const char*>(frames.data()), frames.size() * sizeof(frames[0])};
}

}  // namespace

Session synthetic_session() {
    Session session;
    session.id = "0f8fad5b-d9cb-469f-a165-70867728950e";
    session.lagtrap_version = "0.1.0";
    session.clocks = {start_ns, start_ns + slept_ns, 1'795'000'000'000'000'000};
    session.started_ns = start_ns;
    session.ended_ns = at_ms(200);
    session.planned_length_ns = 200 * millisecond_ns;
    session.cpu_count = 2;
    session.stack_method = "frame-pointer";
    session.events = {{"request",
                       50 * millisecond_ns,
                       200 * millisecond_ns,
                       {"parse", "execute"},
                       "/usr/bin/server"},
                      {"disk", 10 * millisecond_ns, 200 * millisecond_ns, {}, ""}};
    session.trigger = {
        TriggerReason::Deadline, 0, 100, 101, "worker", at_ms(-60), at_ms(-10), at_ms(-9)};
    session.quality.samples_taken = 9;
    session.finished = true;
    return session;
}

SyntheticCapture::SyntheticCapture(const std::filesystem::path& directory, const Session& session)
    : user_(make_log(directory, LogKind::User, session)),
      kernel_(make_log(directory, LogKind::Kernel, session)),
      rundown_(make_log(directory, LogKind::Rundown, session)) {
    if (auto written = write_session(directory, session); !written)
        throw std::runtime_error(written.error().message);
}

template <typename Record>
void SyntheticCapture::append(LogWriter& log, Record& record, lagtrap_record_type type,
                              std::uint64_t at_ns, std::uint16_t cpu, const std::string& trailing) {
    record.header = {static_cast<__u32>(sizeof(record) + trailing.size()), static_cast<__u16>(type),
                     cpu, at_ns};
    std::vector<std::uint64_t> bytes(sizeof(record) / 8 + trailing.size() / 8 + 1);
    std::memcpy(bytes.data(), &record, sizeof(record));
    std::memcpy(reinterpret_cast<char*>(bytes.data()) + sizeof(record), trailing.data(),
                trailing.size());
    if (auto done = log.append(reinterpret_cast<const lagtrap_record*>(bytes.data())); !done)
        throw std::runtime_error(done.error().message);
}

void SyntheticCapture::thread(std::uint32_t pid, std::uint32_t tid, const std::string& name,
                              std::uint32_t state, std::uint64_t kernel_stack,
                              std::uint64_t user_stack, double made_ms, std::uint64_t wait_object) {
    lagtrap_thread record{};
    record.pid = pid;
    record.tid = tid;
    record.started_ns = at_ms(made_ms) + slept_ns;
    record.state = state;
    record.kernel_stack_id = kernel_stack;
    record.user_stack_id = user_stack;
    record.wait_object = wait_object;
    copy_comm(record.comm, name);
    append(rundown(), record, LAGTRAP_RECORD_THREAD, at_ms(1));
}

void SyntheticCapture::process(std::uint32_t pid, std::uint32_t parent, const std::string& program,
                               const std::string& command_line, double ms) {
    lagtrap_process record{};
    record.pid = pid;
    record.parent_pid = parent;
    record.uid = 1000;
    const std::string text = program + '\0' + command_line;
    record.text_bytes = static_cast<__u32>(text.size());
    append(rundown(), record, LAGTRAP_RECORD_PROCESS, at_ms(ms), 0, text);
}

void SyntheticCapture::mapping(std::uint32_t pid, double ms, std::uint64_t start,
                               std::uint64_t length, std::uint64_t offset, const std::string& path,
                               const std::string& build_id) {
    lagtrap_mapping record{};
    record.pid = pid;
    record.start = start;
    record.length = length;
    record.file_offset = offset;
    record.path_bytes = static_cast<__u16>(path.size());
    record.build_id_bytes = static_cast<__u8>(build_id.size());
    std::memcpy(record.build_id, build_id.data(), build_id.size());
    append(rundown(), record, LAGTRAP_RECORD_MAPPING, at_ms(ms), 0, path);
}

void SyntheticCapture::fork(double ms, std::uint32_t pid, std::uint32_t tid,
                            std::uint32_t parent_pid, std::uint32_t parent_tid) {
    lagtrap_task_change record{{}, pid, tid, parent_pid, parent_tid};
    append(rundown(), record, LAGTRAP_RECORD_FORK, at_ms(ms));
}

void SyntheticCapture::exit(double ms, std::uint32_t pid, std::uint32_t tid) {
    lagtrap_task_change record{{}, pid, tid, 1, 1};
    append(rundown(), record, LAGTRAP_RECORD_EXIT, at_ms(ms));
}

void SyntheticCapture::name(double ms, std::uint32_t pid, std::uint32_t tid,
                            const std::string& name, bool by_exec) {
    lagtrap_name record{};
    record.pid = pid;
    record.tid = tid;
    record.by_exec = by_exec ? 1 : 0;
    copy_comm(record.comm, name);
    append(rundown(), record, LAGTRAP_RECORD_NAME, at_ms(ms));
}

void SyntheticCapture::user_stack(double ms, std::uint64_t id, std::uint32_t pid,
                                  const std::vector<std::uint64_t>& frames, std::uint8_t end) {
    lagtrap_stack record{};
    record.stack_id = id;
    record.pid = pid;
    record.frame_count = static_cast<__u16>(frames.size());
    record.kind = LAGTRAP_STACK_USER;
    record.end = end;
    append(user(), record, LAGTRAP_RECORD_STACK, at_ms(ms), 0, frame_bytes(frames));
}

void SyntheticCapture::stack_copy(double ms, lagtrap_stack_copy copy,
                                  const std::vector<std::uint64_t>& memory) {
    copy.copied_bytes = static_cast<std::uint32_t>(memory.size() * sizeof(memory[0]));
    append(user(), copy, LAGTRAP_RECORD_STACK_COPY, at_ms(ms), 0,
           std::string(reinterpret_cast<const char*>(memory.data()), copy.copied_bytes));
}

void SyntheticCapture::kernel_stack(double ms, std::uint64_t id,
                                    const std::vector<std::uint64_t>& frames) {
    lagtrap_stack record{};
    record.stack_id = id;
    record.frame_count = static_cast<__u16>(frames.size());
    record.kind = LAGTRAP_STACK_KERNEL;
    append(kernel(), record, LAGTRAP_RECORD_STACK, at_ms(ms), 0, frame_bytes(frames));
}

void SyntheticCapture::sample(double ms, std::uint16_t cpu, std::uint32_t pid, std::uint32_t tid,
                              std::uint64_t kernel_stack, std::uint64_t user_stack) {
    lagtrap_sample record{};
    record.pid = pid;
    record.tid = tid;
    record.kernel_stack_id = kernel_stack;
    record.user_stack_id = user_stack;
    record.in_kernel = kernel_stack != 0;
    append(kernel(), record, LAGTRAP_RECORD_SAMPLE, at_ms(ms), cpu);
}

void SyntheticCapture::switched(double ms, std::uint16_t cpu, std::uint32_t prev_pid,
                                std::uint32_t prev_tid, std::uint32_t state, std::uint32_t next_pid,
                                std::uint32_t next_tid, std::uint64_t kernel_stack,
                                std::uint64_t user_stack, std::uint64_t wait_object,
                                std::uint32_t lock_owner) {
    lagtrap_switch record{};
    record.prev_pid = prev_pid;
    record.prev_tid = prev_tid;
    record.prev_state = state;
    record.prev_priority = 120;
    record.next_pid = next_pid;
    record.next_tid = next_tid;
    record.next_priority = 120;
    record.kernel_stack_id = kernel_stack;
    record.user_stack_id = user_stack;
    record.wait_object = wait_object;
    record.lock_owner = lock_owner;
    append(kernel(), record, LAGTRAP_RECORD_SWITCH, at_ms(ms), cpu);
}

void SyntheticCapture::waking(double ms, std::uint16_t cpu, std::uint32_t waker_tid,
                              std::uint32_t wakee_pid, std::uint32_t wakee_tid) {
    lagtrap_waking record{};
    record.waker_pid = waker_tid;
    record.waker_tid = waker_tid;
    record.wakee_pid = wakee_pid;
    record.wakee_tid = wakee_tid;
    record.wakee_priority = 120;
    record.target_cpu = cpu;
    append(kernel(), record, LAGTRAP_RECORD_WAKING, at_ms(ms), cpu);
}

void SyntheticCapture::waking(double ms, std::uint16_t cpu, lagtrap_waking record) {
    const bool is_short =
        record.cause == LAGTRAP_WAKE_UNKNOWN || record.cause == LAGTRAP_WAKE_THREAD;
    const auto bytes = static_cast<__u32>(is_short ? LAGTRAP_WAKING_LEAST_BYTES : sizeof(record));
    record.header = {bytes, LAGTRAP_RECORD_WAKING, cpu, at_ms(ms)};
    if (auto done = kernel().append(&record.header); !done)
        throw std::runtime_error(done.error().message);
}

template <typename Record>
void SyntheticCapture::with_path(double ms, std::uint16_t cpu, Record record, __u16 type,
                                 std::string_view path) {
    record.path_bytes = static_cast<__u16>(path.size());
    record.header = {static_cast<__u32>(sizeof(record) + path.size()), type, cpu, at_ms(ms)};
    std::string bytes(reinterpret_cast<const char*>(&record), sizeof(record));
    bytes += path;
    if (auto done = kernel().append(reinterpret_cast<const lagtrap_record*>(bytes.data())); !done)
        throw std::runtime_error(done.error().message);
}

void SyntheticCapture::wait_file(double ms, std::uint16_t cpu, lagtrap_wait_file record,
                                 std::string_view names) {
    with_path(ms, cpu, record, LAGTRAP_RECORD_WAIT_FILE, names);
}

void SyntheticCapture::written(double ms, lagtrap_written record, std::string_view names) {
    with_path(ms, 0, record, LAGTRAP_RECORD_WRITTEN, names);
}

void SyntheticCapture::group_memory(double ms, lagtrap_group_memory record, std::string_view path) {
    with_path(ms, 0, record, LAGTRAP_RECORD_GROUP_MEMORY, path);
}

void SyntheticCapture::history_sample(double ms, std::uint16_t cpu, lagtrap_history_sample record) {
    append(kernel(), record, LAGTRAP_RECORD_HISTORY_SAMPLE, at_ms(ms), cpu);
}

void SyntheticCapture::history_wait(double ms, std::uint16_t cpu, lagtrap_history_wait record) {
    append(kernel(), record, LAGTRAP_RECORD_HISTORY_WAIT, at_ms(ms), cpu);
}

lagtrap_run SyntheticCapture::make_run(std::uint32_t event, std::uint32_t pid, std::uint32_t tid,
                                       double begin_ms, double end_ms) {
    lagtrap_run run{};
    run.event = event;
    run.begin_pid = run.end_pid = pid;
    run.begin_tid = run.end_tid = tid;
    run.begin_ns = run.begin_hit_ns = at_ms(begin_ms);
    run.end_ns = at_ms(end_ms);
    copy_comm(run.comm, "comm of run");
    return run;
}

void SyntheticCapture::add_stage(lagtrap_run& run, std::uint16_t stage, double ms) {
    run.stages[run.stage_count++] = {at_ms(ms), run.begin_tid, stage, 0};
}

void SyntheticCapture::run(const lagtrap_run& run) {
    lagtrap_run record = run;
    append(user(), record, LAGTRAP_RECORD_RUN, run.end_ns);
}

void SyntheticCapture::flush() {
    for (LogWriter* log : {&user(), &kernel(), &rundown()})
        if (auto done = log->flush(); !done) throw std::runtime_error(done.error().message);
}

namespace {

void add_processes(SyntheticCapture& capture) {
    capture.thread(2, 2, "kthreadd");
    capture.thread(100, 100, "server");
    capture.thread(100, 101, std::string("work\x01\xff\n", 7), 1, 21, 12);  // sleeps from the start
    // listed as asleep, but ran before
    capture.thread(200, 200, "client", 1, 22, 0);
    // created after the start, without a fork
    capture.thread(500, 500, "late", 0, 0, 0, 1);
    capture.process(2, 0, "", "");
    capture.process(100, 1, "/usr/bin/server", "server --port 80", 2);
    capture.mapping(100, 2.5, 0x400000, 0x10000, 0x1000, "/usr/bin/server", "\xaa\xbb\xcc");
    capture.mapping(100, 2.5, 0x7f0000000000, 0x20000, 0, "/lib/libc.so.6", "\x11\x22");
    capture.process(200, 1, "/usr/bin/client", "client", 3);
    capture.mapping(200, 3, 0x400000, 0x10000, 0, "/usr/bin/client", "");
    // 300: forked from the server, execs a shell, ends; then its number belongs to the client's
    // child.
    capture.fork(10, 300, 300, 100, 100);
    capture.name(20, 300, 300, "sh\n\x1b[31m", true);
    capture.mapping(300, 21, 0x400000, 0x8000, 0x2000, "/bin/sh", "\x55");
    capture.exit(60, 300, 300);
    capture.fork(80, 300, 300, 200, 200);
    capture.fork(30, 200, 201, 200, 200);  // a thread
    capture.name(31, 200, 201, "helper", false);
}

void add_stacks(SyntheticCapture& capture) {
    capture.user_stack(1, 11, 100, {0x400010, 0x400101, 0x7f0000000021},
                       LAGTRAP_STACK_END_COMPLETE);
    capture.user_stack(1, 12, 100, {0x7f0000000100, 0x400201});
    capture.user_stack(15, 13, 300, {0x400010});  // still the server's code
    capture.user_stack(30, 14, 300, {0x400010});  // now the shell's
    capture.user_stack(90, 15, 300, {0x400010});  // the client's
    capture.user_stack(90, 16, 200, {0xdead0000});
    capture.kernel_stack(1, 21, {0xffffffff81000010, 0xffffffff81000201});
    capture.kernel_stack(1, 22, {0xffffffff81000110});
}

void add_scheduling(SyntheticCapture& capture) {
    capture.switched(0.5, 1, 200, 200, 1, 0, 0, 22, 0);
    capture.sample(5, 0, 100, 100, 0, 11);
    capture.sample(4, 0, 100, 100, 21, 11);  // slightly out of order, as with several rings
    capture.waking(39, 0, 100, 200, 200);
    capture.switched(39.5, 1, 0, 0, 0, 200, 200);
    capture.switched(41, 0, 100, 100, 0, 300, 300);  // preempted: no off-CPU stack
    capture.sample(42, 0, 300, 300, 0, 14);
    capture.switched(43, 0, 300, 300, 0x402, 100, 100, 22, 14);
    capture.sample(44, 1, 200, 200, 0, 16);
    capture.sample(90, 0, 300, 300, 0, 15);
    capture.sample(15, 0, 300, 300, 0, 13);
    capture.sample(45, 0, 700, 701, 0, 999);  // a thread and a stack that are not described
    capture.switched(100, 1, 200, 200, 2, 0, 0, 21, 16);
}

void add_runs(SyntheticCapture& capture) {
    auto request = SyntheticCapture::make_run(0, 100, 100, 5, 105);
    request.flags = LAGTRAP_RUN_DELAY;
    SyntheticCapture::add_stage(request, 1, 30);
    SyntheticCapture::add_stage(request, 0, 6);
    capture.run(request);
    capture.run(SyntheticCapture::make_run(1, 100, 100, 40, 45));  // nests in "execute"
    // crosses from "parse" into "execute"
    capture.run(SyntheticCapture::make_run(1, 100, 100, 25, 35));
    auto crossing = SyntheticCapture::make_run(1, 100, 101, 12, 22);
    crossing.end_pid = crossing.end_tid = 200;
    crossing.key = 77;
    capture.run(crossing);
    auto open = SyntheticCapture::make_run(0, 100, 101, -60, 199);  // began before the recording
    open.flags = LAGTRAP_RUN_OPEN | LAGTRAP_RUN_DELAY | LAGTRAP_RUN_REPORTED;
    capture.run(open);
    auto abandoned = SyntheticCapture::make_run(1, 200, 200, 50, 51);
    abandoned.flags = LAGTRAP_RUN_ABANDONED;
    capture.run(abandoned);
    auto queued = SyntheticCapture::make_run(1, 200, 200, 60, 64);
    queued.flags = LAGTRAP_RUN_EARLIER_BEGIN;
    queued.begin_hit_ns = at_ms(63);
    capture.run(queued);
    capture.run(SyntheticCapture::make_run(1, 200, 200, 70, 70));  // took no time at all
    // begins with another, ends first
    auto second = SyntheticCapture::make_run(1, 100, 100, 40, 42);
    second.depth = 1;
    capture.run(second);
    // of an event that the session does not have
    capture.run(SyntheticCapture::make_run(9, 200, 200, 71, 72));
}

}  // namespace

void write_busy_capture(const std::filesystem::path& directory) {
    SyntheticCapture capture(directory, synthetic_session());
    add_processes(capture);
    add_stacks(capture);
    add_scheduling(capture);
    add_runs(capture);
    capture.flush();
}

}  // namespace lagtrap::trace
