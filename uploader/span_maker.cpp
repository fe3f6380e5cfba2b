#include "uploader/span_maker.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/child_process.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::uploader {
namespace {

constexpr std::uint64_t spans_limit_bytes = 16 << 20;
constexpr std::uint64_t said_limit_bytes = 64 << 10;
constexpr std::chrono::minutes timeout{2};
constexpr int turn_ms = 100;

Result<UniqueFd> make_memory_file() {
    UniqueFd file(::memfd_create("lagtrap-spans", MFD_CLOEXEC));
    if (!file.valid()) return system_error("a file in memory for spans");
    return file;
}

Result<pid_t> spawn(const std::string& program, const std::filesystem::path& bundle, int output,
                    int said) {
    ChildOptions options;
    options.arguments = {program, "export", "--format", "otlp", bundle.string()};
    options.descriptors = {{STDIN_FILENO, -1}, {STDOUT_FILENO, output}, {STDERR_FILENO, said}};
    options.with_environment = true;
    options.own_group = true;
    return start_child(program, options);
}

std::uint64_t size_of(int fd) {
    struct stat facts {};
    return ::fstat(fd, &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

// Waits for the process to end, or ends it; returns its exit status.
Result<int> await(pid_t pid, int output, const std::function<bool()>& keep_going) {
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    Status status = success();
    while (status) {
        pollfd ended{process.get(), POLLIN, 0};
        if (::poll(&ended, 1, turn_ms) > 0) break;
        if (!keep_going()) status = make_error(ErrorKind::Timeout, "stopped");
        if (size_of(output) > spans_limit_bytes)
            status = make_error(ErrorKind::Invalid, "more than 16 MiB of spans");
        if (std::chrono::steady_clock::now() > deadline)
            status = make_error(ErrorKind::Timeout, "it took longer than two minutes");
    }
    if (!status) ::kill(-pid, SIGKILL);
    int code = 0;
    while (::waitpid(pid, &code, 0) < 0 && errno == EINTR) {
    }
    if (!status) return status.error();
    return code;
}

Result<std::string> content_of(int fd, std::uint64_t limit_bytes) {
    if (::lseek(fd, 0, SEEK_SET) < 0) return system_error("reading spans");
    return read_all(fd, limit_bytes);
}

}  // namespace

Result<std::string> make_spans(const std::string& program, const std::filesystem::path& bundle,
                               const std::function<bool()>& keep_going) {
    TRY_ASSIGN(const UniqueFd output, make_memory_file());
    TRY_ASSIGN(const UniqueFd said, make_memory_file());
    TRY_ASSIGN(const pid_t pid, spawn(program, bundle, output.get(), said.get()));
    TRY_ASSIGN(const int code, await(pid, output.get(), keep_going));
    if (WIFEXITED(code) && WEXITSTATUS(code) == 0)
        return content_of(output.get(), spans_limit_bytes);
    if (WIFSIGNALED(code))
        return make_error(ErrorKind::System,
                          "lagtrap export was killed by signal " + std::to_string(WTERMSIG(code)));
    const auto content = content_of(said.get(), said_limit_bytes);
    const std::string words = content ? printable(trimmed(*content, "\n")) : std::string();
    return make_error(ErrorKind::Invalid, words.empty() ? "lagtrap export failed" : words);
}

}  // namespace lagtrap::uploader
