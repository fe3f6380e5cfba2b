// A process whose calls or functions are traced: its threads, and what the selected one does.
#pragma once

#include <deque>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/bpf/kernel_types.hpp"
#include "tests/unit/bpf/native_kernel.hpp"
#include "tests/unit/bpf/traced_programs.h"

namespace lagtrap::native {

constexpr std::uint32_t serve = 5, parse = 6, send = 7;
constexpr std::uint64_t top = 0x7ffe0000;

// A thread and its owner.
struct TracedThread {
    kernel::task_struct task{};
    kernel::cred cred{};
    native_thread seen{};
};

// Process 100 is traced.
class TracedProcess : public testing::Test {
  protected:
    TracedProcess() : kernel_(Kernel::instance()) {
        kernel_.reset();
        native_set_target(100);
        select(thread(101));
        begun_ns_ = kernel_.now_ns;
    }
    // The reference stays valid. Each hundred is a process.
    TracedThread& thread(int tid) {
        for (TracedThread& known : threads_)
            if (known.task.pid == tid) return known;
        TracedThread& made = threads_.emplace_back();
        made.task.pid = tid;
        made.task.tgid = tid / 100 * 100;
        made.task.real_cred = &made.cred;
        made.seen.tid = static_cast<__u32>(tid);
        made.seen.pid = static_cast<__u32>(made.task.tgid);
        const std::string name = "worker-" + std::to_string(tid);
        name.copy(made.seen.comm, sizeof(made.seen.comm) - 1);
        return made;
    }
    void select(TracedThread& thread) {
        kernel_.current = &thread.seen;
        native_set_task(&thread.task);
    }
    void pass(std::uint64_t elapsed_ns) { kernel_.now_ns += elapsed_ns; }

    void begin(std::uint32_t function, std::uint64_t stack, std::uint64_t flags = 0) {
        registers_.rsp = stack;
        kernel_.cookie = function | flags;
        on_call(&registers_);
    }
    void end(std::uint32_t function, std::uint64_t stack, std::uint64_t flags = 0) {
        registers_.rsp = stack;
        kernel_.cookie = function | flags;
        on_call_exit(&registers_);
    }

    Kernel& kernel_;
    pt_regs registers_{};
    TracedThread idle_;
    std::uint64_t begun_ns_ = 0;

  private:
    std::deque<TracedThread> threads_;
};

}  // namespace lagtrap::native
