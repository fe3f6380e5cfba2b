// A capture to merge, and the result of an independent decoder of its trace.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/test_paths.hpp"
#include "tests/unit/trace/synthetic_capture.hpp"
#include "tests/unit/trace/temporary_directory.hpp"
#include "trace/merge/merge.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace {

namespace json = boost::json;
struct Output {
    std::string text;
    int exit_code = -1;
};

inline Output output_of(const std::string& command) {
    Output output;
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return output;
    char buffer[65536];
    while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), pipe))
        output.text.append(buffer, got);
    const int status = ::pclose(pipe);
    output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return output;
}

// The independent decoder's view of the trace; fails if it finds an error.
inline json::object decoded(const std::filesystem::path& trace,
                            const std::string& more = "100000") {
    const Output output =
        output_of(test_python() + " " + test_data_folder() + "/trace/decode_trace.py '" +
                  trace.string() + "' " + more + " 2>&1");
    EXPECT_EQ(output.exit_code, 0) << output.text.substr(0, 4000);
    if (output.exit_code != 0) return {};
    return json::parse(output.text).as_object();
}

inline std::int64_t count(const json::object& trace, const char* what) {
    const auto* value = trace.at("counts").as_object().if_contains(what);
    return value == nullptr ? 0 : value->to_number<std::int64_t>();
}

inline std::string text(const json::value& value) { return std::string(value.as_string()); }

class Merge : public testing::Test {
  protected:
    void SetUp() override {
        // A separate /proc, so that no process of this machine is mistaken for one of the capture.
        std::filesystem::create_directory(proc_.path() / "1");
        ASSERT_TRUE(write_file_durably(proc_.path() / "kallsyms",
                                       "ffffffff81000000 T do_sleep\n"
                                       "ffffffff81000100 T do_read\n"
                                       "ffffffff81000200 T do_syscall_64\n"
                                       "ffffffff81000300 T bpf_trace_run4\n"
                                       "ffffffff81000400 T __traceiter_sched_switch\n"
                                       "ffffffff81000500 T last\n"));
        // An ELF note as in /sys/kernel/notes, after one of another owner.
        const std::string notes(
            "\4\0\0\0\4\0\0\0\1\0\0\0Xen\0abcd"
            "\4\0\0\0\3\0\0\0\3\0\0\0GNU\0\xde\xad\x01\0",
            40);
        ASSERT_TRUE(write_file_durably(proc_.path() / "notes", notes));
        options_.symbols.kernel_notes = proc_.path() / "notes";
        options_.symbols.proc_root = proc_.path();
    }
    Result<MergeSummary> merge() { return merge_capture(capture_.path(), options_); }
    [[nodiscard]] std::filesystem::path trace() const { return capture_.path() / "trace.pftrace"; }
    SystemFile system() {
        auto file = read_system_file(read_file(capture_.path() / "system.xml", 16 << 20).value());
        EXPECT_TRUE(file.ok()) << file.error().message;
        return file.value();
    }
    // The run of `event` that begins at `ms`.
    static json::object run_at(const json::object& decoded, double ms, std::int64_t duration_ms) {
        for (const auto& [id, run] : decoded.at("runs").as_object())
            if (run.as_object().at("begin_ns").to_number<std::uint64_t>() == at_ms(ms) + slept_ns &&
                run.as_object().at("duration_ns").to_number<std::int64_t>() ==
                    duration_ms * static_cast<std::int64_t>(millisecond_ns))
                return run.as_object();
        ADD_FAILURE() << "no run at " << ms;
        return {};
    }

    TemporaryDirectory capture_;
    TemporaryDirectory proc_;
    MergeOptions options_;
};

}  // namespace lagtrap::trace
