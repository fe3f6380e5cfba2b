// A process whose functions are traced, in machine code or by the probes of a runtime.
#pragma once

#include <cstring>
#include <deque>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/bpf/kernel_types.hpp"
#include "tests/unit/bpf/native_kernel.hpp"
#include "tests/unit/bpf_functions/native_functions.h"

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
class TracedCalls : public testing::Test {
  protected:
    TracedCalls() : kernel_(Kernel::instance()) {
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

    void begin(std::uint32_t function, std::uint64_t stack) {
        registers_.rsp = stack;
        kernel_.cookie = function;
        on_traced_call(&registers_);
    }
    void end(std::uint32_t function, std::uint64_t stack, std::uint64_t flags = 0) {
        registers_.rsp = stack;
        kernel_.cookie = function | flags;
        on_traced_exit(&registers_);
    }
    // The thread is off its CPU for this long.
    void wait(std::uint64_t elapsed_ns) {
        TracedThread& waits = thread(static_cast<int>(kernel_.current->tid));
        native_switch(&waits.task, &idle_.task);
        pass(elapsed_ns);
        native_switch(&idle_.task, &waits.task);
    }

    lagtrap_traced_function& function(std::uint32_t number) {
        return kernel_.at<lagtrap_traced_function>(function_maps.functions, number);
    }
    lagtrap_traced_totals& totals() {
        return kernel_.at<lagtrap_traced_totals>(function_maps.totals, 0);
    }
    // What was sent since the last time, in lines; times in nanoseconds since the test began.
    std::string sent() {
        std::ostringstream text;
        for (const Bytes& bytes : kernel_.take_records(function_maps.traced_calls)) {
            if (bytes.size() == sizeof(lagtrap_traced_call))
                show_call(text, bytes);
            else
                show_name(text, bytes);
        }
        return text.str();
    }
    // What is counted of a function.
    std::string counted(std::uint32_t number) {
        const lagtrap_traced_function& one = function(number);
        std::ostringstream text;
        text << one.hits << " hits, " << one.calls << " calls, " << one.left << " left, own "
             << one.own_ns << ", longest " << one.longest_ns << " in";
        for (std::uint32_t i = 0; i < one.path_length; ++i) text << " " << one.path[i];
        return text.str();
    }

    Kernel& kernel_;
    pt_regs registers_{};
    TracedThread idle_;

  private:
    void show_call(std::ostringstream& text, const Bytes& bytes) const {
        lagtrap_traced_call call{};
        std::memcpy(&call, bytes.data(), sizeof(call));
        text << call.function << ": " << call.begin_ns - begun_ns_ << "-" << call.end_ns - begun_ns_
             << ", probes " << call.probes_ns << ", off CPU " << call.off_cpu_ns << ", " << call.tid
             << " " << call.comm << (call.end == LAGTRAP_TRACED_LEFT ? ", left" : "") << "\n";
        EXPECT_EQ(call.padding, 0U);
    }
    static void show_name(std::ostringstream& text, const Bytes& bytes) {
        lagtrap_runtime_function name{};
        ASSERT_EQ(bytes.size(), sizeof(name));
        std::memcpy(&name, bytes.data(), sizeof(name));
        text << name.number << " is '" << name.key.scope << "' '" << name.key.name << "' at '"
             << name.file << "':" << name.line << ", site " << name.site << "\n";
    }

    std::deque<TracedThread> threads_;
    std::uint64_t begun_ns_ = 0;
};

}  // namespace lagtrap::native
