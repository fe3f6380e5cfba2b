// Builds merged traces for tests packet by packet, from the format's documentation and independent
// of the writer in trace/.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/recording.hpp"

namespace lagtrap::test {

// All times are nanoseconds after the recording's begin, which is `begin_ns` of CLOCK_BOOTTIME.
class TraceBuilder {
  public:
    static constexpr std::uint64_t begin_ns = 5'000'000'000;
    static constexpr std::uint64_t ms = 1'000'000;

    // Names of frames, outermost first. "k:name" is a kernel function, "?:path" an address in a
    // file without a name, "name@file:line" a function with its source line, and "!path!name" a
    // function in a file other than /usr/bin/app.
    using Stack = std::vector<std::string>;

    explicit TraceBuilder(std::uint64_t length_ns, std::uint32_t cpus = 2);

    TraceBuilder& process(std::uint32_t pid, const std::string& command_line,
                          std::uint32_t parent_pid = 1, std::uint64_t started_ns = 0,
                          std::uint32_t uid = 1000);
    // The unit or container of the process: "backup.service", "container web".
    TraceBuilder& unit(std::uint32_t pid, const std::string& label);
    TraceBuilder& thread(std::uint32_t pid, std::uint32_t tid, const std::string& name);
    // prev_state is the kernel's: 0 preempted, 1 S, 2 D, 0x10 dead.
    TraceBuilder& switched(std::uint64_t at, std::uint32_t cpu, std::uint32_t prev,
                           std::uint64_t prev_state, std::uint32_t next,
                           std::uint32_t next_priority = 120, std::uint32_t prev_priority = 120);
    TraceBuilder& waking(std::uint64_t at, std::uint32_t cpu, std::uint32_t waker,
                         std::uint32_t wakee, bool by_interrupt = false);
    // `creator` starts the thread `tid`.
    TraceBuilder& created(std::uint64_t at, std::uint32_t cpu, std::uint32_t creator,
                          std::uint32_t tid);
    // Switches with facts about CPU quotas: whether the previous thread's group has used up its
    // quota, and from when to when (after the recording's begin) the next thread's group had.
    TraceBuilder& concluded_switch(std::uint64_t at, std::uint32_t cpu, std::uint32_t prev,
                                   std::uint32_t next);
    TraceBuilder& throttled_switch(std::uint64_t at, std::uint32_t cpu, std::uint32_t prev,
                                   std::uint32_t next, bool prev_throttled, std::uint64_t from = 0,
                                   std::uint64_t to = 0);
    // A wakeup with its cause, a number of the format, and the device that caused it.
    TraceBuilder& caused_waking(std::uint64_t at, std::uint32_t cpu, std::uint32_t waker,
                                std::uint32_t wakee, std::uint32_t cause,
                                const std::string& device = "");
    // The file that the thread waits for from then on; `kind` is a number of the format.
    TraceBuilder& wait_file(std::uint64_t at, std::uint32_t cpu, std::uint32_t tid,
                            std::uint32_t kind, const std::string& path,
                            const std::string& disk = "", std::uint32_t queue_depth = 0,
                            std::uint32_t holder_pid = 0, std::uint64_t socket = 0);
    // How much of a file was sent to disks until then; a process that has it open; a process that
    // ended `before` then, and how much it had written.
    TraceBuilder& written(std::uint64_t at, std::uint64_t file, std::uint64_t bytes,
                          const std::string& path, const std::string& disk);
    TraceBuilder& writer(std::uint64_t file, std::uint32_t pid);
    TraceBuilder& ended_writer(std::uint64_t at, std::uint32_t pid, const std::string& name,
                               std::uint64_t bytes);
    // What fills the control group of the process: page cache, memory of its processes, and who has
    // most of it.
    TraceBuilder& group_memory(std::uint32_t pid, const std::string& path, std::uint64_t limit,
                               std::uint64_t files, std::uint64_t anonymous,
                               std::uint32_t filler_pid, std::uint64_t filler);
    // The thread works for this span from then on.
    TraceBuilder& context(std::uint64_t at, std::uint32_t tid, const std::string& trace_id,
                          const std::string& span_id,
                          const std::map<std::string, std::string>& attributes);
    TraceBuilder& sample(std::uint64_t at, std::uint32_t cpu, std::uint32_t pid, std::uint32_t tid,
                         const Stack& stack);
    // A sample every millisecond in [from, to).
    TraceBuilder& samples(std::uint64_t from, std::uint64_t to, std::uint32_t cpu,
                          std::uint32_t pid, std::uint32_t tid, const Stack& stack);
    // A sample, and a wait that ended, `before` nanoseconds before the recording's begin.
    TraceBuilder& earlier_sample(std::uint64_t before, std::uint32_t pid, std::uint32_t tid,
                                 const Stack& stack);
    TraceBuilder& earlier_wait(std::uint64_t before, std::uint64_t length, std::uint32_t pid,
                               std::uint32_t tid, std::uint32_t waker, const Stack& stack,
                               bool in_run = true);
    // `object` identifies the lock (or similar) that the thread waits for; `owner` has it, as the
    // program's memory says.
    TraceBuilder& off_cpu(std::uint64_t at, std::uint32_t pid, std::uint32_t tid,
                          const Stack& stack, std::uint64_t object = 0, std::uint32_t owner = 0);
    // Names found later for the address of a sampled frame: "function@file:line", innermost first.
    TraceBuilder& later_symbols(const std::string& frame,
                                const std::vector<std::string>& functions);
    // A run with its stages in the trace and, for a delay, in the system file.
    TraceBuilder& run(const trace::Delay& delay, bool is_delay = true);

    // A delay with one thread that begins `at` after the recording's begin.
    static trace::Delay delay(std::uint64_t id, const std::string& event, std::int64_t at,
                              std::uint64_t duration, std::uint64_t threshold, std::uint32_t pid,
                              std::uint32_t tid);

    [[nodiscard]] std::string trace() const { return trace_; }
    trace::SystemFile system;

    [[nodiscard]] Result<analysis::Recording> decode() const {
        return analysis::decode_recording(trace_, system);
    }

  private:
    struct Sequence {
        bool begun = false;
        std::map<std::string, std::uint64_t> functions, paths, sources, mappings, frames;
        std::map<Stack, std::uint64_t> stacks;
    };
    void packet(std::uint32_t sequence, std::uint64_t at, std::uint32_t field,
                const std::string& message, const std::string& interned = {},
                const std::string& defaults = {}, std::uint32_t more_field = 0,
                const std::string& more = {});
    void perf_sample(std::uint32_t sequence, std::uint64_t at, std::uint32_t cpu, std::uint32_t pid,
                     std::uint32_t tid, const Stack& stack, std::uint32_t more_field = 0,
                     const std::string& more = {});
    std::uint64_t intern(Sequence& sequence, const Stack& stack, std::string& interned);
    std::uint64_t intern_frame(Sequence& sequence, const std::string& frame, std::string& interned);
    void ftrace(std::uint64_t at, std::uint32_t cpu, const std::string& event,
                std::uint32_t more_field = 0, const std::string& more = {});
    void slice(std::uint64_t track, std::uint64_t at, bool begin, const std::string& category,
               const std::string& name, const std::map<std::string, std::uint64_t>& numbers);

    std::string trace_;
    std::map<std::uint32_t, Sequence> sequences_;
};

}  // namespace lagtrap::test
