// Reads programs, libraries and debug files in an unprivileged process (lagtrap-reader), confined
// by a system call filter and limits. It receives open descriptors and returns bounded answers,
// which are checked like any untrusted input. If it dies, hangs or returns garbage, only the
// current file is lost, and the process is replaced.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "binaries/code/function_calls.hpp"
#include "binaries/code/function_places.hpp"
#include "binaries/code/return_sites.hpp"
#include "binaries/dwarf/place_names.hpp"
#include "binaries/elf/program_file.hpp"
#include "binaries/elf/python_layout.hpp"
#include "binaries/elf/thread_variable.hpp"
#include "binaries/reader/asking_threads.hpp"
#include "binaries/reader/container_state.hpp"
#include "binaries/reader/left_processes.hpp"
#include "binaries/reader/process_starter.hpp"
#include "binaries/reader/start_pauses.hpp"
#include "binaries/unwind/unwind_table.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

class ReaderProcess;
struct ReaderHead;
enum class ReaderTask : std::uint32_t;

struct FileReaderOptions {
    std::string program;            // path of lagtrap-reader
    std::size_t max_processes = 3;  // at the same time
    // killed but still blocked in the kernel; at this number, nothing more is read
    std::size_t max_stuck = 4;
    // Limits per file. The CPU time limits hostile files, the wall-clock time file systems that do
    // not answer.
    std::chrono::milliseconds cpu_time{10'000};
    std::chrono::milliseconds wall_time{60'000};
    // Delay before retrying a failed start; doubles each time up to the longest.
    std::chrono::milliseconds start_pause{1'000};
    std::chrono::milliseconds longest_start_pause{60'000};
    int nice = 0;
};

// The limits of one caller; FileReaderOptions::cpu_time and wall_time still apply per file.
struct ReadBudget {
    std::optional<std::chrono::steady_clock::time_point> until;
    // set when the answer is no longer wanted; not owned
    const std::atomic<bool>* given_up = nullptr;
};

struct FileReaderCounts {
    std::uint64_t started = 0;      // processes started
    std::uint64_t not_started = 0;  // failed attempts
    // why there is none now; empty if the last attempt succeeded
    std::string start_problem;
    std::optional<std::uint32_t> user;  // uid of the last process
    // of those started: exited or killed by a signal while reading a file
    std::uint64_t ended = 0;
    // of those started: killed by us for a timeout or a malformed answer
    std::uint64_t stopped = 0;
    std::size_t stuck = 0;  // of those stopped: still blocked in the kernel
    std::string last_problem;
};

// What ProgramFile reads in a single request.
struct ProgramFacts {
    std::string build_id;
    bool exceptions_may_pass = true;
    struct Segment {
        std::uint64_t offset = 0, address = 0, file_bytes = 0;
        std::uint64_t flags = 0;  // PF_*
    };
    std::vector<Segment> segments;  // loadable
    NeededLibraries needed;
    std::string go_refusal;  // as ProgramFile::go_refusal()
};

// Thread-safe. A call may wait for calls of other threads, but no longer than it may wait for its
// answer. Starts processes on demand.
class FileReader {
  public:
    explicit FileReader(FileReaderOptions options);
    ~FileReader();

    // Starts a process if none is running. Errors as FileReaderCounts::start_problem, with the
    // errno if the program could not be executed. Does not wait for other calls.
    [[nodiscard]] Status try_start();
    // Whether a process could be started now.
    [[nodiscard]] bool may_start() const;

    // Errors of the corresponding functions of this process. Also System or Timeout if the reader
    // failed, and Busy if there is none or all are in use; retry later.
    [[nodiscard]] Result<std::string> build_id(int file);  // empty if there is none
    // ErrorKind::Vanished if `wanted_build_id` is not empty and the file has another one.
    [[nodiscard]] Result<UnwindTable> unwind_table(int file, const std::string& name,
                                                   const std::string& wanted_build_id);
    [[nodiscard]] Result<ProgramFacts> program(int file, const std::string& name,
                                               const ReadBudget& budget = {});
    [[nodiscard]] Result<std::vector<UsdtProbe>> probes(int file, const std::string& name,
                                                        const ReadBudget& budget = {});
    // Returns all functions if `wanted` is empty.
    [[nodiscard]] Result<std::vector<Function>> functions(int file, const std::string& name,
                                                          const std::string& wanted,
                                                          const ReadBudget& budget = {});
    [[nodiscard]] Result<std::string> code(int file, const std::string& name,
                                           std::uint64_t file_offset,
                                           const ReadBudget& budget = {});
    [[nodiscard]] Result<FunctionExits> exits(int file, const std::string& name,
                                              const Function& function,
                                              const ReadBudget& budget = {});
    [[nodiscard]] Result<std::vector<Result<FunctionPlaces>>> places(
        int file, const std::string& name, const std::vector<FunctionQuery>& queries,
        const ReadBudget& budget = {});
    // `functions` are file offsets of their first instructions, at most max_call_queries.
    [[nodiscard]] Result<std::vector<FunctionCalls>> calls(
        int file, const std::string& name, const std::vector<std::uint64_t>& functions,
        const ReadBudget& budget = {});
    [[nodiscard]] Result<PlaceNames> names(int file, const PlaceNamesRequest& request);
    [[nodiscard]] Result<ThreadVariable> thread_variable(int file, const std::string& variable);
    [[nodiscard]] Result<lagtrap_python> python_layout(int file);
    [[nodiscard]] Result<ContainerFacts> container(int file, ContainerFile kind,
                                                   const std::string& id);

    [[nodiscard]] FileReaderCounts counts() const;
    // CPU time of processes while reading for this thread (by its id), since the first call.
    // Excludes processes that were killed.
    [[nodiscard]] std::chrono::nanoseconds cpu_time_for(int thread);
    // Sets the nice value of processes that read for this thread (by its id), now and later.
    void set_nice(int thread, int nice);
    // Stops reading for good: calls in progress return soon with ErrorKind::Timeout.
    void stop() { stopped_.store(true); }

  private:
    [[nodiscard]] Result<std::string> ask(ReaderTask task, int file, const std::string& body,
                                          const std::filesystem::path& program,
                                          const ReadBudget& budget,
                                          const OpenDebugFile& open_debug_file = {});
    [[nodiscard]] Result<std::unique_ptr<ReaderProcess>> acquire(const ReadBudget& budget);
    [[nodiscard]] Result<std::unique_ptr<ReaderProcess>> start(std::unique_lock<std::mutex>& lock);
    // For a process that is no longer usable.
    void drop(std::unique_ptr<ReaderProcess> process);
    void release(std::unique_ptr<ReaderProcess> process);
    // Counts malformed answers.
    template <typename Value>
    [[nodiscard]] Result<Value> checked(Result<Value> decoded);
    void count_failure(const Error& error, bool stopped);

    [[nodiscard]] bool is_given_up(const ReadBudget& budget) const;

    FileReaderOptions options_;
    ProcessStarter starter_;
    std::atomic<bool> stopped_{false};
    mutable std::mutex mutex_;
    std::condition_variable freed_;
    std::vector<std::unique_ptr<ReaderProcess>> idle_;
    std::vector<ReaderProcess*> busy_;
    AskingThreads threads_;
    std::size_t starting_ = 0;
    mutable LeftProcesses left_;
    StartPauses start_pauses_;
    FileReaderCounts counts_;
};

// From now on, ProgramFile, read_build_id() and name_places() use `reader`, which must outlive
// their use. nullptr: they read in this process. Call before starting threads.
void read_files_by(FileReader* reader);
[[nodiscard]] FileReader* file_reader();

// The lagtrap-reader of the same build or installation as the running program; `fallback` if there
// is none.
[[nodiscard]] std::string find_reader_program(const std::string& fallback);

}  // namespace lagtrap::binaries
