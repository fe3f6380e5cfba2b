// A process whose calls are traced: its threads, its goroutines, and the trees found so far.
#pragma once

#include <cstring>
#include <deque>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/bpf/kernel_types.hpp"
#include "tests/unit/bpf/native_kernel.hpp"
#include "tests/unit/bpf_calls/native_calls.h"

namespace lagtrap::native {

constexpr std::uint64_t us = 1000;
constexpr std::uint32_t serve = 5, parse = 6, send = 7;
constexpr std::uint64_t top = 0x7ffe0000;
constexpr std::uint8_t r14 = 14;

// A thread and its owner.
struct CallingThread {
    kernel::task_struct task{};
    kernel::cred cred{};
    native_thread seen{};
};

// Process 100 is traced. Calls of `serve` begin trees.
class CallTrees : public testing::Test {
  protected:
    CallTrees() : kernel_(Kernel::instance()) {
        kernel_.reset();
        native_set_target(100);
        select(thread(101));
        begun_ns_ = kernel_.now_ns;
    }
    // The reference stays valid. Each hundred is a process.
    CallingThread& thread(int tid) {
        for (CallingThread& known : threads_)
            if (known.task.pid == tid) return known;
        CallingThread& made = threads_.emplace_back();
        made.task.pid = tid;
        made.task.tgid = tid / 100 * 100;
        made.task.real_cred = &made.cred;
        made.seen.tid = static_cast<__u32>(tid);
        made.seen.pid = static_cast<__u32>(made.task.tgid);
        const std::string name = "worker-" + std::to_string(tid);
        name.copy(made.seen.comm, sizeof(made.seen.comm) - 1);
        return made;
    }
    void select(CallingThread& thread) {
        kernel_.current = &thread.seen;
        native_set_task(&thread.task);
    }
    void pass(std::uint64_t elapsed_ns) {
        kernel_.now_ns += elapsed_ns;
        ran_ns_ += elapsed_ns;
    }

    void begin(std::uint32_t function, std::uint64_t stack) {
        registers_.rsp = stack;
        kernel_.cookie = function | (function == serve ? LAGTRAP_COOKIE_CALL_TARGET : 0);
        on_call(&registers_);
    }
    void end(std::uint32_t function, std::uint64_t stack, std::uint64_t flags = 0) {
        registers_.rsp = stack;
        kernel_.cookie = function | flags;
        on_call_exit(&registers_);
    }
    // The thread leaves its CPU and is back later; parts of the time in between are waits.
    void block(std::uint64_t blocked_ns, std::uint64_t runnable_ns) {
        CallingThread& waits = thread(static_cast<int>(kernel_.current->tid));
        waits.task.se.sum_exec_runtime = ran_ns_;
        native_switch(false, &waits.task, &idle_.task, 1);
        kernel_.now_ns += blocked_ns;
        native_waking(&waits.task);
        kernel_.now_ns += runnable_ns;
        native_switch(false, &idle_.task, &waits.task, 0);
    }

    lagtrap_call_tree& tree(std::uint32_t number = 0) {
        return kernel_.at<lagtrap_call_tree>(call_maps.trees, number);
    }
    lagtrap_call_node& node(std::uint32_t number, std::uint32_t of_tree = 0) {
        return kernel_.at<lagtrap_call_node>(call_maps.nodes,
                                             of_tree * LAGTRAP_CALL_NODES + number);
    }
    lagtrap_call_count& count(std::uint32_t function) {
        return kernel_.at<lagtrap_call_count>(call_maps.counts, function);
    }
    lagtrap_call_totals& totals() { return kernel_.at<lagtrap_call_totals>(call_maps.totals, 0); }
    // Numbers of the trees sent since the last time.
    std::vector<std::uint32_t> sent() {
        std::vector<std::uint32_t> numbers;
        for (const Bytes& bytes : kernel_.take_records(call_maps.done_trees)) {
            EXPECT_EQ(bytes.size(), sizeof(std::uint32_t));
            std::memcpy(&numbers.emplace_back(), bytes.data(), sizeof(std::uint32_t));
        }
        return numbers;
    }
    // Everything that user space reads, with times in microseconds since the test began.
    std::string shown(std::uint32_t number = 0) {
        static const char* const states[] = {"free", "open", "done"};
        static const char* const ends[] = {"left", "returned", "tail", "thread end"};
        std::ostringstream text;
        const lagtrap_call_tree& all = tree(number);
        text << states[all.state] << ", thread " << all.tid << " " << all.comm << ", ended "
             << at(all.end_ns) << "\n";
        for (std::uint32_t index = 0; index < all.nodes; ++index) {
            const lagtrap_call_node& one = node(index, number);
            text << one.function << " in ";
            if (one.parent == LAGTRAP_CALL_NO_PARENT)
                text << "none";
            else
                text << one.parent;
            text << ": " << at(one.begin_ns) << "-" << at(one.end_ns) << " " << ends[one.end];
            if (one.end_ns != 0)
                text << ", on CPU " << one.begin_on_cpu_ns / us << "-" << one.end_on_cpu_ns / us
                     << ", runnable " << one.begin_runnable_ns / us << "-"
                     << one.end_runnable_ns / us;
            if (one.left_out != 0) text << ", left out " << one.left_out;
            if (one.left_out_cost_ns != 0) text << ", costing " << one.left_out_cost_ns << " ns";
            text << "\n";
        }
        return text.str();
    }
    std::uint64_t at(std::uint64_t ns) const { return ns == 0 ? 0 : (ns - begun_ns_) / us; }

    Kernel& kernel_;
    pt_regs registers_{};
    CallingThread idle_;

  private:
    std::deque<CallingThread> threads_;
    std::uint64_t begun_ns_ = 0, ran_ns_ = 0;
};

}  // namespace lagtrap::native
