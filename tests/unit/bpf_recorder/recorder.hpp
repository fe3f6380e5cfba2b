// A machine with the recorder's programs: threads, the CPU that a test has selected, and what the
// programs write.
#pragma once

#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/bpf/kernel_types.hpp"
#include "tests/unit/bpf/native_kernel.hpp"
#include "tests/unit/bpf_recorder/native_recorder.h"

namespace lagtrap::native {

constexpr std::uint64_t ms = 1'000'000;
constexpr unsigned int interruptible = 1, uninterruptible = 2;
constexpr std::uint64_t no_call = ~0ULL;

// A thread and what the kernel's structures hang on it.
struct Task {
    kernel::task_struct task{};
    kernel::cred cred{};
    kernel::user_namespace users{};
    kernel::pid pid{};
    kernel::mm_struct memory{};
    kernel::cfs_rq queue{};
    kernel::signal_struct process{};
    kernel::files_struct files{};
    kernel::fdtable table{};
    std::vector<kernel::file*> open_files;
};

class Recorder : public testing::Test {
  protected:
    Recorder() : kernel_(Kernel::instance()) {
        kernel_.reset();
        recording.on = 1;
        recording.capture = 1;
        registers_.orig_ax = no_call;
        registers_.cs = 0x33;
        native_set_registers(&registers_);
    }
    // The reference stays valid. Each hundred is a process: thread 203 belongs to process 200.
    Task& task(int tid) {
        for (Task& known : tasks_)
            if (known.task.pid == tid) return known;
        Task& made = tasks_.emplace_back();
        made.task.pid = tid;
        made.task.tgid = tid / 100 * 100;
        made.task.prio = 120;
        made.task.flags = 0x00400040;  // as those of any program
        made.task.real_cred = &made.cred;
        made.cred.uid.val = 1000;
        made.cred.user_ns = &made.users;
        made.task.thread_pid = &made.pid;
        made.task.mm = &made.memory;
        made.task.se.cfs_rq = &made.queue;
        made.task.signal = &made.process;
        made.task.files = &made.files;
        made.files.fdt = &made.table;
        made.task.real_parent = made.task.group_leader = &made.task;
        std::snprintf(made.task.comm, sizeof(made.task.comm), "thread-%d", tid);
        return made;
    }
    void select(int tid) {
        Task& one = task(tid);
        current_ = {};
        current_.pid = static_cast<__u32>(one.task.tgid);
        current_.tid = static_cast<__u32>(one.task.pid);
        kernel_.current = &current_;
        native_set_task(&one.task);
    }
    // The CPU has no thread to run.
    void select_idle() {
        task(0).task.tgid = 0;
        select(0);
    }
    // The descriptor of a file that the thread opens.
    static std::uint64_t open(Task& task, kernel::file& file) {
        task.open_files.push_back(&file);
        task.table.fd = task.open_files.data();
        task.table.max_fds = static_cast<unsigned int>(task.open_files.size());
        return task.open_files.size() - 1;
    }
    void in_call(std::uint64_t number, std::uint64_t first = 0, std::uint64_t second = 0) {
        registers_.orig_ax = number;
        registers_.di = first;
        registers_.si = second;
    }
    // The records of this type since the last call, from their first byte; others are lost.
    std::vector<Bytes> take(std::uint16_t type) {
        std::vector<Bytes> found;
        for (Bytes& bytes : kernel_.take_records(recorder_maps.records)) {
            lagtrap_record header{};
            std::memcpy(&header, bytes.data(), sizeof(header));
            EXPECT_EQ(header.size_bytes, bytes.size());
            if (header.type == type) found.push_back(std::move(bytes));
        }
        return found;
    }
    template <typename Record>
    std::vector<Record> take(std::uint16_t type) {
        std::vector<Record> found;
        for (const Bytes& bytes : take(type)) {
            Record& record = found.emplace_back();
            std::memset(static_cast<void*>(&record), 0, sizeof(record));
            std::memcpy(static_cast<void*>(&record), bytes.data(),
                        std::min(bytes.size(), sizeof(record)));
        }
        return found;
    }
    // The names behind a record of this type, each ended by '\0'.
    template <typename Record>
    static std::vector<std::string> names_behind(const Bytes& bytes) {
        std::vector<std::string> names;
        const auto* text = reinterpret_cast<const char*>(bytes.data());
        for (std::size_t at = sizeof(Record); at < bytes.size();) {
            names.emplace_back(text + at, ::strnlen(text + at, bytes.size() - at));
            at += names.back().size() + 1;
        }
        return names;
    }
    lagtrap_capture_counters& counters() {
        return kernel_.at<lagtrap_capture_counters>(recorder_maps.capture_counters, 0);
    }
    // No further record fits.
    void fill_ring() { kernel_.map(recorder_maps.records).room_bytes = 0; }

    Kernel& kernel_;
    kernel::pt_regs___kernel registers_{};

  private:
    std::deque<Task> tasks_;
    native_thread current_{};
};

}  // namespace lagtrap::native
