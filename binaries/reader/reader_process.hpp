// One process that reads files (file_reader.hpp). Used by the other files of this folder.
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

class ReaderProcess {
  public:
    // Once it has said that it is confined. Errors have the errno where the program could not be executed.
    [[nodiscard]] static Result<std::unique_ptr<ReaderProcess>> start(const std::string& program, int nice);
    // As end(); what has not ended by then is waited for by nobody.
    ~ReaderProcess();
    // Kills it, and waits for it, for a moment. Its number if it has not ended: the caller waits for it later (waitpid()).
    [[nodiscard]] std::optional<pid_t> end();

    struct Limits {
        std::chrono::milliseconds cpu_time{};
        std::chrono::milliseconds wall_time{};
        std::uint64_t answer_bytes = max_answer_bytes;
        std::function<bool()> given_up{};  // whether nobody wants the answer any more
        OpenDebugFile open_debug_file{};   // as PlaceNamesRequest has it
    };
    struct Answer {
        std::uint32_t task_or_error = 0;
        std::string body;
    };
    // Of `program`'s folder and below, and of /usr/lib/debug, it may ask for debug files meanwhile; of none where that
    // is empty. After an error the process is of no use any more.
    [[nodiscard]] Result<Answer> ask(ReaderTask task, int file, const std::string& body,
                                     const std::filesystem::path& program, const Limits& limits);
    // Whether it ended by itself; after an error of ask().
    [[nodiscard]] bool ended_by_itself() const { return ended_; }
    // It was not killed while nothing was asked of it.
    [[nodiscard]] bool alive() const;
    // From any thread, while it lives.
    void set_nice(int nice);
    // For which thread of this process it reads (its number).
    void read_for(int thread) {
        reads_for_ = thread;
        cpu_before_ = cpu_time();
    }
    // That it took since; 0 once it has ended.
    [[nodiscard]] std::chrono::nanoseconds cpu_time_for_it() const {
        return std::max(cpu_time() - cpu_before_, std::chrono::nanoseconds(0));
    }
    [[nodiscard]] int reads_for() const { return reads_for_; }
    // Whose rights it has.
    [[nodiscard]] std::uint32_t user() const { return user_; }

  private:
    ReaderProcess(pid_t pid, UniqueFd socket, UniqueFd files_socket);
    struct Deadline;
    [[nodiscard]] Status send(const ReaderHead& head, int file, const std::string& body, const Deadline& deadline);
    [[nodiscard]] Status receive(char* into, std::size_t size, FileBroker* broker, const Deadline& deadline);
    // Until the socket is ready; serves requests for files.
    [[nodiscard]] Status wait_for(short events, FileBroker* broker, const Deadline& deadline);
    [[nodiscard]] Error why_it_ended();
    // How waitpid() tells it; nullopt: it has not ended yet.
    [[nodiscard]] std::optional<int> reap();
    [[nodiscard]] Status await_greeting();
    [[nodiscard]] std::chrono::nanoseconds cpu_time() const;

    pid_t pid_;
    UniqueFd socket_, files_socket_;
    std::mutex reaping_;  // between set_nice() and the end
    bool reaped_ = false;
    bool ended_ = false;
    std::optional<int> ending_;  // as waitpid() has it
    std::uint32_t user_ = 0;
    int reads_for_ = 0;
    std::chrono::nanoseconds cpu_before_{};
};

}  // namespace lagtrap::binaries
