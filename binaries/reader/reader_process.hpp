// One reader process (file_reader.hpp). Internal to binaries/.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "binaries/dwarf/place_names.hpp"
#include "binaries/reader/reader_wire.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "sandbox/file_broker.hpp"

namespace lagtrap::binaries {

// Whether a reader may ask for `path`, which is in normal form, while it reads `program`: only for
// what is in the program's folder, below it, or in /usr/lib/debug.
[[nodiscard]] bool may_be_debug_file_of(const std::filesystem::path& path,
                                        const std::filesystem::path& program);

class ReaderProcess {
  public:
    // Returns once the process reports that it is confined. Errors have the errno if the program
    // could not be executed.
    [[nodiscard]] static Result<std::unique_ptr<ReaderProcess>> start(const std::string& program,
                                                                      int nice);
    // Like end(), but nobody reaps a process that has not exited by then.
    ~ReaderProcess();
    // Kills the process and waits briefly. If it has not exited, returns its pid: the caller must
    // reap it later (waitpid()).
    [[nodiscard]] std::optional<pid_t> end();

    struct Limits {
        std::chrono::milliseconds cpu_time{};
        std::chrono::milliseconds wall_time{};
        std::uint64_t answer_bytes = max_answer_bytes;
        std::function<bool()> given_up{};  // whether the answer is no longer wanted
        OpenDebugFile open_debug_file{};   // as in PlaceNamesRequest
    };
    struct Answer {
        std::uint32_t task_or_error = 0;
        std::string body;
    };
    // Meanwhile, the process may request debug files in the folder of `program`, below it, and in
    // /usr/lib/debug; none if `program` is empty. After an error, the process is unusable.
    [[nodiscard]] Result<Answer> ask(ReaderTask task, int file, const std::string& body,
                                     const std::filesystem::path& program, const Limits& limits);
    // Whether it exited by itself. For use after an error of ask().
    [[nodiscard]] bool ended_by_itself() const { return ended_; }
    // False if it was killed while idle.
    [[nodiscard]] bool alive() const;
    // From any thread, while the process lives.
    void set_nice(int nice);
    // Sets the thread of this process (by id) that it reads for.
    void read_for(int thread) {
        reads_for_ = thread;
        cpu_before_ = cpu_time();
    }
    // CPU time since read_for(); 0 once it has exited.
    [[nodiscard]] std::chrono::nanoseconds cpu_time_for_it() const {
        return std::max(cpu_time() - cpu_before_, std::chrono::nanoseconds(0));
    }
    [[nodiscard]] int reads_for() const { return reads_for_; }
    // The uid it runs as.
    [[nodiscard]] std::uint32_t user() const { return user_; }

  private:
    ReaderProcess(pid_t pid, UniqueFd socket, UniqueFd files_socket);
    struct Deadline;
    [[nodiscard]] Status send(const ReaderHead& head, int file, const std::string& body,
                              const Deadline& deadline);
    [[nodiscard]] Status receive(char* into, std::size_t size, FileBroker* broker,
                                 const Deadline& deadline);
    // Waits until the socket is ready, and serves requests for files meanwhile.
    [[nodiscard]] Status wait_for(short events, FileBroker* broker, const Deadline& deadline);
    [[nodiscard]] Error why_it_ended();
    // The status from waitpid(); nullopt if it has not exited.
    [[nodiscard]] std::optional<int> reap();
    [[nodiscard]] Status await_greeting();
    [[nodiscard]] std::chrono::nanoseconds cpu_time() const;

    pid_t pid_;
    UniqueFd socket_, files_socket_;
    std::mutex reaping_;  // between set_nice() and the end
    bool reaped_ = false;
    bool ended_ = false;
    std::optional<int> ending_;  // from waitpid()
    std::uint32_t user_ = 0;
    int reads_for_ = 0;
    std::chrono::nanoseconds cpu_before_{};
};

}  // namespace lagtrap::binaries
