// A process whose calls are traced, and the trees found so far.
#pragma once

#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/bpf/traced_process.hpp"
#include "tests/unit/bpf_calls/native_calls.h"

namespace lagtrap::native {

constexpr std::uint64_t us = 1000;
constexpr std::uint8_t r14 = 14;

// Calls of `serve` begin trees.
class CallTrees : public TracedProcess {
  protected:
    void pass(std::uint64_t elapsed_ns) {
        TracedProcess::pass(elapsed_ns);
        ran_ns_ += elapsed_ns;
    }

    void begin(std::uint32_t function, std::uint64_t stack) {
        TracedProcess::begin(function, stack, function == serve ? LAGTRAP_COOKIE_CALL_TARGET : 0);
    }
    // The thread leaves its CPU and is back later; parts of the time in between are waits.
    void block(std::uint64_t blocked_ns, std::uint64_t runnable_ns) {
        TracedThread& waits = thread(static_cast<int>(kernel_.current->tid));
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
    lagtrap_probed_function& count(std::uint32_t function) {
        return kernel_.at<lagtrap_probed_function>(call_maps.functions, function);
    }
    lagtrap_call_totals& totals() { return kernel_.at<lagtrap_call_totals>(call_maps.totals, 0); }
    // Numbers of the trees sent since the last time.
    std::vector<std::uint32_t> sent() {
        std::vector<std::uint32_t> numbers;
        for (const Bytes& bytes : kernel_.take_records(call_maps.records)) {
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

  private:
    std::uint64_t ran_ns_ = 0;
};

}  // namespace lagtrap::native
