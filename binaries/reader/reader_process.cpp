#include "binaries/reader/reader_process.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <thread>

#include "core/child_process.hpp"
#include "core/passed_file.hpp"
#include "sandbox/machine_root.hpp"

namespace lagtrap::binaries {
namespace {

class DebugFilesOf : public BrokeredPrograms {
  public:
    // Without `open_file`, the thread of the broker opens them.
    DebugFilesOf(std::filesystem::path program, OpenDebugFile open_file)
        : program_(std::move(program)), open_file_(std::move(open_file)) {}
    ProgramAccess access(const std::filesystem::path& path) override {
        return may_be_debug_file_of(path, program_) ? ProgramAccess::Allowed
                                                    : ProgramAccess::Refused;
    }
    Result<UniqueFd> open(const std::filesystem::path& path, ProgramAccess access) override {
        return open_file_ ? open_file_(path) : BrokeredPrograms::open(path, access);
    }

  private:
    const std::filesystem::path program_;
    const OpenDebugFile open_file_;
};

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto cpu_look_interval = 100ms;  // for checking its CPU time
// A killed process that is blocked on a dead file system exits only when that answers.
constexpr auto reaping_timeout = 2s;
const ReaderProcess::Limits limits_of_start{10s, 60s, 0};

std::array<UniqueFd, 2> socket_pair(int type) {
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0) return {};
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string seconds(std::chrono::milliseconds time) {
    std::string text = std::to_string(time.count() / 1000);
    if (time.count() % 1000 != 0) text += "." + std::to_string(time.count() % 1000 / 100);
    return text + " s";
}

bool is_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
    const auto below = path.lexically_relative(folder);
    return !below.empty() && *below.begin() != "..";
}

}  // namespace

bool may_be_debug_file_of(const std::filesystem::path& path, const std::filesystem::path& program) {
    const auto folder = program.lexically_normal().parent_path();
    return is_below(path, on_machine("/usr/lib/debug")) ||
           (folder.is_absolute() && is_below(path, folder));
}

struct ReaderProcess::Deadline {
    Clock::time_point at;
    std::chrono::nanoseconds cpu_end{};
    Limits limits;
};

ReaderProcess::ReaderProcess(pid_t pid, UniqueFd socket, UniqueFd files_socket)
    : pid_(pid), socket_(std::move(socket)), files_socket_(std::move(files_socket)) {}

Result<std::unique_ptr<ReaderProcess>> ReaderProcess::start(const std::string& program, int nice) {
    auto [own, its] = socket_pair(SOCK_STREAM);
    auto [own_files, its_files] = socket_pair(SOCK_SEQPACKET);
    if (!own.valid() || !own_files.valid()) return system_error("start " + program);
    ChildOptions options;
    options.arguments = {"lagtrap-reader", std::to_string(nice)};
    options.descriptors = {{STDIN_FILENO, -1},
                           {STDOUT_FILENO, -1},
                           {reader_socket, its.get()},
                           {reader_files_socket, its_files.get()}};
    TRY_ASSIGN(const pid_t pid, start_child(program, options));
    its.reset();
    its_files.reset();
    std::unique_ptr<ReaderProcess> process(
        new ReaderProcess(pid, std::move(own), std::move(own_files)));
    if (const Status ready = process->await_greeting(); !ready)
        return ready.error().within("start " + program);
    return process;
}

Status ReaderProcess::await_greeting() {
    const Deadline deadline{Clock::now() + limits_of_start.wall_time, limits_of_start.cpu_time,
                            limits_of_start};
    ReaderHead greeting;
    const Status received =
        receive(reinterpret_cast<char*>(&greeting), sizeof greeting, nullptr, deadline);
    if (!received && !ended_) return make_error(ErrorKind::System, "it did not become ready");
    if (!received) {
        const int status = ending_.value_or(0);
        if (WIFSIGNALED(status))
            return make_error(ErrorKind::System,
                              std::string("it was killed (") + ::strsignal(WTERMSIG(status)) + ")");
        if (WEXITSTATUS(status) == reader_not_confined)
            return make_error(ErrorKind::System, "it could not be confined");
        return make_error(ErrorKind::System,
                          "it ended with status " + std::to_string(WEXITSTATUS(status)));
    }
    if (greeting.task_or_error != reader_greeting || greeting.body_bytes != 0)
        return make_error(ErrorKind::System, "it is a different program");
    user_ = greeting.user;
    return success();
}

ReaderProcess::~ReaderProcess() { (void)end(); }

std::optional<pid_t> ReaderProcess::end() {
    const std::scoped_lock lock(reaping_);
    if (reaped_) return std::nullopt;
    reaped_ = true;  // by this function, or later by the caller that gets its pid
    ::kill(pid_, SIGKILL);
    const auto timeout_end = Clock::now() + reaping_timeout;
    while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
        if (Clock::now() >= timeout_end) return pid_;
        std::this_thread::sleep_for(1ms);
    }
    return std::nullopt;
}

bool ReaderProcess::alive() const {
    pollfd looked{socket_.get(), POLLRDHUP, 0};
    return ::poll(&looked, 1, 0) == 0;
}

void ReaderProcess::set_nice(int nice) {
    const std::scoped_lock lock(reaping_);
    if (!reaped_) (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(pid_), nice);
}

std::chrono::nanoseconds ReaderProcess::cpu_time() const {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0ns;
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::optional<int> ReaderProcess::reap() {
    const std::scoped_lock lock(reaping_);
    int status = 0;
    const auto timeout_end = Clock::now() + reaping_timeout;
    pid_t got = 0;
    while ((got = ::waitpid(pid_, &status, WNOHANG)) == 0 && Clock::now() < timeout_end)
        std::this_thread::sleep_for(1ms);
    if (got != pid_) return std::nullopt;
    reaped_ = true;
    return status;
}

Error ReaderProcess::why_it_ended() {
    ended_ = true;
    ending_ = reap();
    if (!ending_) return make_error(ErrorKind::System, "the file reader disconnected");
    if (WIFSIGNALED(*ending_))
        return make_error(ErrorKind::System, std::string("the file crashed its reader (") +
                                                 ::strsignal(WTERMSIG(*ending_)) + ")");
    return make_error(ErrorKind::System, "the file reader exited early");
}

Status ReaderProcess::wait_for(short events, FileBroker* broker, const Deadline& deadline) {
    for (;;) {
        const auto now = Clock::now();
        if (deadline.limits.given_up && deadline.limits.given_up())
            return make_error(ErrorKind::Timeout, "reading the file was cancelled");
        if (now >= deadline.at)
            return make_error(ErrorKind::Timeout, "reading the file took longer than " +
                                                      seconds(deadline.limits.wall_time));
        if (cpu_time() > deadline.cpu_end)
            return make_error(ErrorKind::Timeout, "reading the file took more than " +
                                                      seconds(deadline.limits.cpu_time) +
                                                      " of CPU time");
        std::array<pollfd, 2> waiting{
            {{socket_.get(), events, 0}, {broker ? files_socket_.get() : -1, POLLIN, 0}}};
        const auto pause = std::min(std::chrono::ceil<std::chrono::milliseconds>(deadline.at - now),
                                    std::chrono::milliseconds(cpu_look_interval));
        const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(pause.count()));
        if (ready < 0 && errno != EINTR) return system_error("wait for the file reader");
        if (ready <= 0) continue;
        if (waiting[0].revents != 0) return success();
        if (!broker->serve(files_socket_.get())) broker = nullptr;
    }
}

Status ReaderProcess::send(const ReaderHead& head, int file, const std::string& body,
                           const Deadline& deadline) {
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
    bytes += body;
    for (std::size_t sent = 0; sent < bytes.size();) {
        const ssize_t done = send_with_file(socket_.get(), bytes.data() + sent, bytes.size() - sent,
                                            file, MSG_DONTWAIT);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0 && errno != EAGAIN) return why_it_ended();
        if (done < 0) TRY(wait_for(POLLOUT, nullptr, deadline));
        if (done <= 0) continue;
        file = -1;
        sent += static_cast<std::size_t>(done);
    }
    return success();
}

Status ReaderProcess::receive(char* into, std::size_t size, FileBroker* broker,
                              const Deadline& deadline) {
    while (size > 0) {
        // No room for descriptors, so the kernel drops any that the reader sends.
        const ssize_t got = ::recv(socket_.get(), into, size, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) {
            TRY(wait_for(POLLIN, broker, deadline));
            continue;
        }
        if (got <= 0) return why_it_ended();
        into += got;
        size -= static_cast<std::size_t>(got);
    }
    return success();
}

Result<ReaderProcess::Answer> ReaderProcess::ask(ReaderTask task, int file, const std::string& body,
                                                 const std::filesystem::path& program,
                                                 const Limits& limits) {
    if (body.size() > max_request_bytes)
        return make_error(ErrorKind::TooLarge, "the request to the file reader is too large");
    const Deadline deadline{Clock::now() + limits.wall_time, cpu_time() + limits.cpu_time, limits};
    BrokerPolicy policy;
    policy.programs = std::make_shared<DebugFilesOf>(program, limits.open_debug_file);
    TRY_ASSIGN(FileBroker broker, FileBroker::create(std::move(policy)));
    FileBroker* const asked = program.empty() ? nullptr : &broker;
    TRY(send(ReaderHead{static_cast<std::uint32_t>(task), 0, body.size()}, file, body, deadline));
    ReaderHead head;
    TRY(receive(reinterpret_cast<char*>(&head), sizeof head, asked, deadline));
    if (head.body_bytes > limits.answer_bytes)
        return make_error(ErrorKind::System,
                          "the file reader announced " + std::to_string(head.body_bytes) +
                              " bytes; at most " + std::to_string(limits.answer_bytes) +
                              " are taken");
    Answer answer;
    answer.task_or_error = head.task_or_error;
    // Allocate only as data arrives.
    constexpr std::uint64_t piece_bytes = 1 << 20;
    while (answer.body.size() < head.body_bytes) {
        const std::size_t before = answer.body.size();
        answer.body.resize(before + std::min(piece_bytes, head.body_bytes - before));
        TRY(receive(answer.body.data() + before, answer.body.size() - before, asked, deadline));
    }
    return answer;
}

}  // namespace lagtrap::binaries
