#include "daemon/merges/merge_job.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>

#include <boost/asio/buffer.hpp>

#include "core/duration.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t text_limit_bytes = 64 * 1024;
// A merge begins at the lowest priority, which would never finish on a busy machine. So it is
// raised by one step per interval, up to the normal one (decision 15).
constexpr std::chrono::milliseconds priority_step{250};
// A killed process that has not ended after this time counts as hung in the kernel.
constexpr std::chrono::seconds end_grace{5};
// How long to wait for the rest of its output; a process that inherited the pipe may keep it open.
constexpr std::chrono::seconds drain_grace{1};

Result<MergedBundle> outcome_of(int wait_status, const std::string& text,
                                const std::filesystem::path& output) {
    if (WIFSIGNALED(wait_status))
        return make_error(ErrorKind::System, "lagtrap-merge was killed by signal " +
                                                 std::to_string(WTERMSIG(wait_status)) + ": " +
                                                 shown_output(text));
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0)
        return make_error(ErrorKind::System, "lagtrap-merge failed: " + shown_output(text));
    return parse_merge_answer(text, output);
}

}  // namespace

MergeJob::MergeJob(boost::asio::io_context& context, MergeTask task, MergeProcess process,
                   OnDone on_done)
    : output_(context),
      end_(context),
      timer_(context),
      priority_timer_(context),
      task_(std::move(task)),
      process_(std::move(process)),
      chunk_(4096, '\0'),
      on_done_(std::move(on_done)) {}

Status MergeJob::start(boost::asio::io_context& context, const std::string& program,
                       const MergeTask& task, OnDone on_done) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return system_error("pipe");
    UniqueFd read_end(pipe[0]);
    const UniqueFd write_end(pipe[1]);
    TRY_ASSIGN(MergeProcess process, MergeProcess::start(program, task, write_end.get()));
    UniqueFd end = process.take_end();
    const std::shared_ptr<MergeJob> job(
        new MergeJob(context, task, std::move(process), std::move(on_done)));
    job->output_.assign(read_end.release());
    job->end_.assign(end.release());
    job->watch();
    return success();
}

void MergeJob::watch() {
    read_more();
    end_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [self = shared_from_this()](const auto&) { self->note_end(); });
    timer_.expires_after(task_.limit);
    timer_.async_wait([self = shared_from_this()](const auto& aborted) {
        if (!aborted) self->kill_for_limit();
    });
    raise_priority();
}

void MergeJob::raise_priority() {
    priority_timer_.expires_after(priority_step);
    priority_timer_.async_wait([self = shared_from_this()](const auto& aborted) {
        if (aborted || self->wait_status_) return;
        if (self->process_.raise_priority()) self->raise_priority();
    });
}

// Keep reading even beyond the limit: a full pipe would block the merge.
void MergeJob::read_more() {
    output_.async_read_some(boost::asio::buffer(chunk_),
                            [self = shared_from_this()](const auto& failure, std::size_t bytes) {
                                if (self->text_.size() < text_limit_bytes)
                                    self->text_.append(self->chunk_, 0, bytes);
                                if (!failure) return self->read_more();
                                self->drained_ = true;
                                self->conclude();
                            });
}

void MergeJob::kill_for_limit() {
    if (wait_status_) return;
    killed_ = true;
    process_.kill();
    timer_.expires_after(end_grace);
    timer_.async_wait([self = shared_from_this()](const auto& aborted) {
        if (!aborted) self->tell(self->over_limit("; it hangs in the kernel and cannot be killed"));
    });
}

// Reaps the process, however late it ends.
void MergeJob::note_end() {
    wait_status_ = process_.wait_for_end();
    priority_timer_.cancel();
    timer_.expires_after(drain_grace);
    timer_.async_wait([self = shared_from_this()](const auto& aborted) {
        if (aborted) return;
        self->drained_ = true;
        self->conclude();
    });
    conclude();
}

void MergeJob::conclude() {
    if (!wait_status_ || !drained_) return;
    timer_.cancel();
    boost::system::error_code ignored;
    output_.close(ignored);
    if (killed_)
        return tell(
            over_limit(text_.empty() ? std::string() : "; it said: " + shown_output(text_)));
    tell(outcome_of(*wait_status_, text_, task_.output));
}

Error MergeJob::over_limit(const std::string& more) const {
    return make_error(ErrorKind::Timeout,
                      "lagtrap-merge took longer than " + format_duration(task_.limit) + more);
}

void MergeJob::tell(Result<MergedBundle> outcome) {
    if (on_done_) std::exchange(on_done_, nullptr)(std::move(outcome));
}

}  // namespace lagtrap::daemon
