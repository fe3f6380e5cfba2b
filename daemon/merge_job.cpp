#include "daemon/merge_job.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include <boost/asio/buffer.hpp>
#include <boost/json.hpp>

#include "core/text.hpp"
#include "core/unique_fd.hpp"

extern char** environ;

namespace lagtrap::daemon {
namespace {

constexpr std::size_t text_limit_bytes = 64 * 1024;

Result<MergedBundle> parse_answer(int wait_status, const std::string& text) {
    if (WIFSIGNALED(wait_status))
        return make_error(ErrorKind::System, "lagtrap-merge was ended by signal " +
                                                 std::to_string(WTERMSIG(wait_status)) + ": " +
                                                 printable(text.substr(0, 1000)));
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0)
        return make_error(ErrorKind::System, "lagtrap-merge failed: " + printable(text.substr(0, 1000)));
    boost::json::error_code failure;
    const auto value = boost::json::parse(text.substr(text.rfind('\n', text.size() - 2) + 1), failure);
    const auto* object = failure ? nullptr : value.if_object();
    const auto* bundle = object ? object->if_contains("bundle") : nullptr;
    const auto* digest = object ? object->if_contains("digest") : nullptr;
    if (!bundle || !bundle->is_string() || !digest || !digest->is_string())
        return make_error(ErrorKind::Invalid, "lagtrap-merge gave no bundle: " + printable(text.substr(0, 1000)));
    return MergedBundle{std::string(bundle->as_string()), std::string(digest->as_string())};
}

}  // namespace

MergeJob::MergeJob(boost::asio::io_context& context, OnDone on_done)
    : output_(context), process_(context), chunk_(4096, '\0'), on_done_(std::move(on_done)) {}

Status MergeJob::start(boost::asio::io_context& context, const std::string& program,
                       const std::filesystem::path& capture, const std::filesystem::path& output, OnDone on_done) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return system_error("pipe");
    UniqueFd read_end(pipe[0]);
    const UniqueFd write_end(pipe[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDERR_FILENO);
    // A helper that outlives a killed daemon must not hold the daemon's sockets: the next one could not take them.
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    std::string words[] = {program, capture.string(), output.string()};
    std::array<char*, 4> arguments{words[0].data(), words[1].data(), words[2].data(), nullptr};
    pid_t pid = -1;
    const int failed = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return system_error("start " + program, failed);

    const std::shared_ptr<MergeJob> job(new MergeJob(context, std::move(on_done)));
    job->pid_ = pid;
    job->output_.assign(read_end.release());
    const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (process < 0) return system_error("pidfd_open");
    job->process_.assign(process);
    job->read_more();
    return success();
}

void MergeJob::read_more() {
    output_.async_read_some(boost::asio::buffer(chunk_),
                            [self = shared_from_this()](const auto& failure, std::size_t bytes) {
                                if (self->text_.size() < text_limit_bytes) self->text_.append(self->chunk_, 0, bytes);
                                if (!failure) return self->read_more();
                                self->process_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                                                          [self](const auto&) { self->finish(); });
                            });
}

void MergeJob::finish() {
    int wait_status = 0;
    while (::waitpid(pid_, &wait_status, 0) < 0 && errno == EINTR) {
    }
    on_done_(parse_answer(wait_status, text_));
}

}  // namespace lagtrap::daemon
