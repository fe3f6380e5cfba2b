// A process whose functions are traced, in machine code or by the probes of a runtime.
#pragma once

#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/bpf/traced_process.hpp"
#include "tests/unit/bpf_functions/native_functions.h"

namespace lagtrap::native {

class TracedCalls : public TracedProcess {
  protected:
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
        for (const Bytes& bytes : kernel_.take_records(function_maps.records)) {
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
        text << one.probes.hits << " hits, " << one.calls << " calls, " << one.left << " left, own "
             << one.own_ns << ", longest " << one.longest_ns << " in";
        for (std::uint32_t i = 0; i < one.path_length; ++i) text << " " << one.path[i];
        return text.str();
    }

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
};

}  // namespace lagtrap::native
