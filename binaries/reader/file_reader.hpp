// Reads programs, libraries and debug files without touching a byte of them: a process without privileges does
// (lagtrap-reader), under a system call filter and limits. It is given open descriptors and gives back bounded answers,
// which are checked here as any foreign input. One that dies, hangs or says nonsense costs the file it was given, and
// is replaced.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
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
#include "binaries/reader/container_state.hpp"
#include "binaries/reader/left_processes.hpp"
#include "binaries/reader/process_starter.hpp"
#include "binaries/unwind/unwind_table.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

class ReaderProcess;
struct ReaderHead;
enum class ReaderTask : std::uint32_t;

struct FileReaderOptions {
    std::string program;             // lagtrap-reader
    std::size_t most_processes = 3;  // at once
    std::size_t most_stuck = 4;      // killed, but not let go by the kernel; with so many nothing is read
    // For one file. CPU time is what hostile files are held to; the clock's is for file systems that do not answer.
    std::chrono::milliseconds cpu_time{10'000};
    std::chrono::milliseconds wall_time{60'000};
    // A program that cannot be started is tried again after this, then after twice that, up to the longest.
    std::chrono::milliseconds start_pause{1'000};
    std::chrono::milliseconds longest_start_pause{60'000};
    int nice = 0;
};

// What one caller has for its questions; a file gets FileReaderOptions::cpu_time and wall_time at the most.
struct ReadBudget {
    std::optional<std::chrono::steady_clock::time_point> until;
    const std::atomic<bool>* given_up = nullptr;  // nobody wants the answer any more; not owned
};

struct FileReaderCounts {
    std::uint64_t started = 0;          // processes
    std::uint64_t not_started = 0;      // attempts in vain
    std::string start_problem;          // why there is none now; empty: the last attempt went well
    std::optional<std::uint32_t> user;  // whose rights the last one has
    std::uint64_t ended = 0;            // of them: by themselves or by a signal, while they read a file
    std::uint64_t stopped = 0;          // of them: by us, because they took too long or said nonsense
    std::size_t stuck = 0;              // of these: that the kernel has not let go yet
    std::string last_problem;
};

// What ProgramFile asks for at once.
struct ProgramFacts {
    std::string build_id;
    bool exceptions_may_pass = true;
    struct Segment {
        std::uint64_t offset = 0, address = 0, file_bytes = 0;
        std::uint64_t flags = 0;  // PF_*
    };
    std::vector<Segment> segments;  // loadable ones
    NeededLibraries needed;
    std::string go_refusal;  // as ProgramFile::go_refusal() has it
};

// Free to be used from any thread; a call waits for another's to end, for no longer than it may wait for an answer.
// Processes are started when they are needed.
class FileReader {
  public:
    explicit FileReader(FileReaderOptions options);
    ~FileReader();

    // Starts a process where none runs. Errors: as FileReaderCounts::start_problem, with the errno where the program could
    // not be executed. Waits for no other call.
    [[nodiscard]] Status try_start();
    // Whether a process would be started now, if one is needed.
    [[nodiscard]] bool may_start() const;

    // Errors of the functions that do the same in this process; and System or Timeout where the reader failed, Busy
    // where there is none, or all read other files: later there may be.
    [[nodiscard]] Result<std::string> build_id(int file);  // empty: none
    // ErrorKind::Vanished: the file has another build id than `wanted_build_id` (if that is not empty).
    [[nodiscard]] Result<UnwindTable> unwind_table(int file, const std::string& name,
                                                   const std::string& wanted_build_id);
    [[nodiscard]] Result<ProgramFacts> program(int file, const std::string& name, const ReadBudget& budget = {});
    [[nodiscard]] Result<std::vector<UsdtProbe>> probes(int file, const std::string& name,
                                                        const ReadBudget& budget = {});
    // All of them where `wanted` is empty.
    [[nodiscard]] Result<std::vector<Function>> functions(int file, const std::string& name, const std::string& wanted,
                                                          const ReadBudget& budget = {});
    [[nodiscard]] Result<std::string> code(int file, const std::string& name, std::uint64_t file_offset,
                                           const ReadBudget& budget = {});
    [[nodiscard]] Result<FunctionExits> exits(int file, const std::string& name, const Function& function,
                                              const ReadBudget& budget = {});
    [[nodiscard]] Result<std::vector<Result<FunctionPlaces>>> places(int file, const std::string& name,
                                                                     const std::vector<FunctionQuery>& queries,
                                                                     const ReadBudget& budget = {});
    // `functions`: where in the file they begin, max_call_queries at most.
    [[nodiscard]] Result<std::vector<FunctionCalls>> calls(int file, const std::string& name,
                                                           const std::vector<std::uint64_t>& functions,
                                                           const ReadBudget& budget = {});
    [[nodiscard]] Result<PlaceNames> names(int file, const PlaceNamesRequest& request);
    [[nodiscard]] Result<ContainerFacts> container(int file, ContainerFile kind, const std::string& id);

    [[nodiscard]] FileReaderCounts counts() const;
    // CPU time that processes took to read for this thread (its number), up to now, since this was first asked, but for those
    // that were ended.
    [[nodiscard]] std::chrono::nanoseconds cpu_time_for(int thread);
    // Of the process that reads for this thread (its number), now and from now on.
    void set_nice(int thread, int nice);
    // From now on nothing is read: calls on their way return soon, with ErrorKind::Timeout.
    void stop() { stopped_.store(true); }

  private:
    [[nodiscard]] Result<std::string> ask(ReaderTask task, int file, const std::string& body,
                                          const std::filesystem::path& program, const ReadBudget& budget,
                                          const OpenDebugFile& open_debug_file = {});
    [[nodiscard]] Result<std::unique_ptr<ReaderProcess>> acquire(const ReadBudget& budget);
    [[nodiscard]] Result<std::unique_ptr<ReaderProcess>> start(std::unique_lock<std::mutex>& lock);
    // One that is of no use any more.
    void drop(std::unique_ptr<ReaderProcess> process);
    void release(std::unique_ptr<ReaderProcess> process);
    // Counts a malformed answer.
    template <typename Value>
    [[nodiscard]] Result<Value> checked(Result<Value> decoded);
    // Of the calling thread's work; needs mutex_.
    [[nodiscard]] int wanted_nice() const;
    void count_failure(const Error& error, bool stopped);

    [[nodiscard]] bool is_given_up(const ReadBudget& budget) const;

    FileReaderOptions options_;
    ProcessStarter starter_;
    std::atomic<bool> stopped_{false};
    mutable std::mutex mutex_;
    std::condition_variable freed_;
    std::vector<std::unique_ptr<ReaderProcess>> idle_;
    std::vector<ReaderProcess*> busy_;
    std::map<int, int> nice_of_threads_;  // where it is not options_.nice
    std::map<int, std::chrono::nanoseconds> cpu_of_threads_;
    std::size_t starting_ = 0;
    mutable LeftProcesses left_;
    std::chrono::steady_clock::time_point next_start_{};
    std::chrono::milliseconds start_pause_{0};  // 0: the last attempt went well
    FileReaderCounts counts_;
};

// From now on ProgramFile, read_build_id() and name_places() of this process read by `reader`, which outlives their
// use. Before there are threads. nullptr: they read here.
void read_files_by(FileReader* reader);
[[nodiscard]] FileReader* file_reader();

// lagtrap-reader of the same build or installation as the running program; `fallback` where there is none.
[[nodiscard]] std::string find_reader_program(const std::string& fallback);

}  // namespace lagtrap::binaries
