// Reads programs, libraries and debug files without touching a byte of them: a process without privileges does
// (lagtrap-reader), under a system call filter and limits. It is given open descriptors and gives back bounded answers,
// which are checked here as any foreign input. One that dies, hangs or says nonsense costs the file it was given, and
// is replaced.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "binaries/function_places.hpp"
#include "binaries/place_names.hpp"
#include "binaries/program_file.hpp"
#include "binaries/return_sites.hpp"
#include "binaries/unwind_table.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

class ReaderProcess;
struct ReaderHead;
enum class ReaderTask : std::uint32_t;

struct FileReaderOptions {
    std::string program;             // lagtrap-reader
    std::size_t most_processes = 3;  // at once
    // For one file. CPU time is what hostile files are held to; the clock's is for file systems that do not answer.
    std::chrono::milliseconds cpu_time{10'000};
    std::chrono::milliseconds wall_time{60'000};
    // A program that can not be started is tried again after this, then after twice that, up to the longest.
    std::chrono::milliseconds start_pause{1'000};
    std::chrono::milliseconds longest_start_pause{60'000};
    int nice = 0;
};

struct FileReaderCounts {
    std::uint64_t started = 0;          // processes
    std::uint64_t not_started = 0;      // attempts in vain
    std::string start_problem;          // why there is none now; empty: the last attempt went well
    std::optional<std::uint32_t> user;  // whose rights the last one has
    std::uint64_t ended = 0;            // of them: by themselves or by a signal, while they read a file
    std::uint64_t stopped = 0;          // of them: by us, because they took too long or said nonsense
    std::string last_problem;
};

// What ProgramFile asks for at once.
struct ProgramFacts {
    std::string build_id;
    bool exceptions_may_pass = true;
    struct Segment {
        std::uint64_t offset = 0, address = 0, file_bytes = 0;
    };
    std::vector<Segment> segments;  // loadable ones
    NeededLibraries needed;
    std::string go_refusal;  // as ProgramFile::go_refusal() has it
};

// Free to be used from any thread; a call may wait for another's to end. Processes are started when they are needed.
class FileReader {
  public:
    explicit FileReader(FileReaderOptions options);
    ~FileReader();

    // Starts a process. Errors: as FileReaderCounts::start_problem, with the errno where the program could not be executed.
    [[nodiscard]] Status try_start();
    // Whether a process would be started now, if one is needed.
    [[nodiscard]] bool may_start() const;

    // Errors of the functions that do the same in this process; and System or Timeout where the reader failed, Busy
    // where there is none: later there may be.
    [[nodiscard]] Result<std::string> build_id(int file);  // empty: none
    // ErrorKind::Vanished: the file has another build id than `wanted_build_id` (if that is not empty).
    [[nodiscard]] Result<UnwindTable> unwind_table(int file, const std::string& name,
                                                   const std::string& wanted_build_id);
    [[nodiscard]] Result<ProgramFacts> program(int file, const std::string& name);
    [[nodiscard]] Result<std::vector<UsdtProbe>> probes(int file, const std::string& name);
    // All of them where `wanted` is empty.
    [[nodiscard]] Result<std::vector<Function>> functions(int file, const std::string& name, const std::string& wanted);
    [[nodiscard]] Result<std::string> code(int file, const std::string& name, std::uint64_t file_offset);
    [[nodiscard]] Result<FunctionExits> exits(int file, const std::string& name, const Function& function);
    [[nodiscard]] Result<std::vector<Result<FunctionPlaces>>> places(int file, const std::string& name,
                                                                     const std::vector<FunctionQuery>& queries);
    [[nodiscard]] Result<PlaceNames> names(int file, const PlaceNamesRequest& request);

    [[nodiscard]] FileReaderCounts counts() const;
    // Of the processes that run now, and of those to come.
    void set_nice(int nice);

  private:
    [[nodiscard]] Result<std::string> ask(ReaderTask task, int file, const std::string& body,
                                          const std::filesystem::path& program);
    [[nodiscard]] Result<std::unique_ptr<ReaderProcess>> acquire();
    [[nodiscard]] Result<std::unique_ptr<ReaderProcess>> start(std::unique_lock<std::mutex>& lock);
    void release(std::unique_ptr<ReaderProcess> process);
    // Counts an answer that makes no sense.
    template <typename Value>
    [[nodiscard]] Result<Value> checked(Result<Value> decoded);
    void count_failure(const Error& error, bool stopped);

    FileReaderOptions options_;
    mutable std::mutex mutex_;
    std::condition_variable freed_;
    std::vector<std::unique_ptr<ReaderProcess>> idle_;
    std::vector<ReaderProcess*> busy_;
    std::size_t starting_ = 0;
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
