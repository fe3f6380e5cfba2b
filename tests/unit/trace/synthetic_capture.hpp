// Captures with known records, written by the daemon's writers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "trace/logs/log.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::trace {

inline constexpr std::uint64_t millisecond_ns = 1'000'000;
inline constexpr std::uint64_t start_ns = 1'000'000'000'000;  // monotonic
// how long the machine slept
inline constexpr std::uint64_t slept_ns = 5'000'000'000'000;

inline std::uint64_t at_ms(double milliseconds) {
    return start_ns + static_cast<std::uint64_t>(static_cast<std::int64_t>(milliseconds * 1e6));
}

// A session of 200 ms with two events: "request" (50 ms; stages parse, execute) and "disk" (10 ms).
[[nodiscard]] Session synthetic_session();

class SyntheticCapture {
  public:
    SyntheticCapture(const std::filesystem::path& directory, const Session& session);

    void thread(std::uint32_t pid, std::uint32_t tid, const std::string& name,
                std::uint32_t state = 0, std::uint64_t kernel_stack = 0,
                std::uint64_t user_stack = 0, double made_ms = -1000,
                std::uint64_t wait_object = 0);
    void process(std::uint32_t pid, std::uint32_t parent, const std::string& program,
                 const std::string& command_line, double ms = 0);
    void mapping(std::uint32_t pid, double ms, std::uint64_t start, std::uint64_t length,
                 std::uint64_t offset, const std::string& path, const std::string& build_id);
    void fork(double ms, std::uint32_t pid, std::uint32_t tid, std::uint32_t parent_pid,
              std::uint32_t parent_tid);
    void exit(double ms, std::uint32_t pid, std::uint32_t tid);
    void name(double ms, std::uint32_t pid, std::uint32_t tid, const std::string& name,
              bool by_exec);

    void user_stack(double ms, std::uint64_t id, std::uint32_t pid,
                    const std::vector<std::uint64_t>& frames,
                    std::uint8_t end = LAGTRAP_STACK_END_UNKNOWN);
    // `memory` is the copied bytes, from `copy.sp` on.
    void stack_copy(double ms, lagtrap_stack_copy copy, const std::vector<std::uint64_t>& memory);
    void kernel_stack(double ms, std::uint64_t id, const std::vector<std::uint64_t>& frames);
    void sample(double ms, std::uint16_t cpu, std::uint32_t pid, std::uint32_t tid,
                std::uint64_t kernel_stack, std::uint64_t user_stack);
    void switched(double ms, std::uint16_t cpu, std::uint32_t prev_pid, std::uint32_t prev_tid,
                  std::uint32_t state, std::uint32_t next_pid, std::uint32_t next_tid,
                  std::uint64_t kernel_stack = 0, std::uint64_t user_stack = 0,
                  std::uint64_t wait_object = 0, std::uint32_t lock_owner = 0);
    void waking(double ms, std::uint16_t cpu, std::uint32_t waker_tid, std::uint32_t wakee_pid,
                std::uint32_t wakee_tid);

    // The wakeup unchanged, with the size of a record that has a cause.
    void waking(double ms, std::uint16_t cpu, lagtrap_waking record);
    // `names` of the path, as in a record; empty: the file was described before.
    void wait_file(double ms, std::uint16_t cpu, lagtrap_wait_file record, std::string_view names);
    void written(double ms, lagtrap_written record, std::string_view names);
    void group_memory(double ms, lagtrap_group_memory record, std::string_view path);
    void history_sample(double ms, std::uint16_t cpu, lagtrap_history_sample record);
    void history_wait(double ms, std::uint16_t cpu, lagtrap_history_wait record);

    // A run within one thread; change the rest of the record before passing it to `run`.
    static lagtrap_run make_run(std::uint32_t event, std::uint32_t pid, std::uint32_t tid,
                                double begin_ms, double end_ms);
    static void add_stage(lagtrap_run& run, std::uint16_t stage, double ms);
    void run(const lagtrap_run& run);

    // Writes buffered records to all three logs.
    void flush();

  private:
    template <typename Record>
    void with_path(double ms, std::uint16_t cpu, Record record, __u16 type, std::string_view path);
    template <typename Record>
    void append(LogWriter& log, Record& record, lagtrap_record_type type, std::uint64_t at_ns,
                std::uint16_t cpu = 0, const std::string& trailing = "");
    LogWriter& user() { return *user_; }
    LogWriter& kernel() { return *kernel_; }
    LogWriter& rundown() { return *rundown_; }

    std::optional<LogWriter> user_, kernel_, rundown_;
};

// Several processes and threads, with fork, exec and exit in between, names of arbitrary bytes,
// nested and crossing runs. merge_test.cpp lists the content.
void write_busy_capture(const std::filesystem::path& directory);

}  // namespace lagtrap::trace
