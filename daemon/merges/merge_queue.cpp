#include "daemon/merges/merge_queue.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "core/duration.hpp"
#include "core/fault_point.hpp"
#include "daemon/merges/capture_folder.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::daemon {
namespace {

namespace fs = std::filesystem;

fs::file_time_type made(const fs::path& folder) {
    std::error_code ignored;
    return fs::last_write_time(folder, ignored);
}

}  // namespace

MergeQueue::MergeQueue(boost::asio::io_context& context, spool::Spool spool, const Options& options,
                       Owner& owner)
    : context_(context),
      spool_(std::move(spool)),
      options_(options),
      owner_(owner),
      again_timer_(context) {}

void MergeQueue::set_limits(std::chrono::nanoseconds merge_limit, std::uint64_t size_limit_bytes) {
    merge_limit_ = merge_limit;
    size_limit_bytes_ = size_limit_bytes;
}

MergeCounts MergeQueue::counts() const {
    MergeCounts counts = outcomes_.counts();
    counts.waiting += queue_.size();
    return counts;
}

void MergeQueue::add(Work work) {
    queue_.push_back(std::move(work));
    begin_next();
}

void MergeQueue::begin_next() {
    if (queue_.empty() || running_ || held_) return;
    running_ = true;
    const auto done = [this](const Result<MergedBundle>& merged) {
        running_ = false;
        const Work work = std::move(queue_.front());
        queue_.pop_front();
        take_merged(work, merged);
        begin_next();
    };
    const Work& first = queue_.front();
    const auto ready = spool_.folder(spool::EntryState::Ready);
    const MergeTask task{first.capture, first.output.empty() ? ready : first.output,
                         first.with_names, merge_limit_};
    const auto started = MergeJob::start(context_, options_.merge_program, task, done);
    KILL_POINT("merge.started");
    if (!started) done(started.error());
}

void MergeQueue::hold(bool held) {
    held_ = held;
    begin_next();
}

void MergeQueue::take_merged(const Work& work, const Result<MergedBundle>& merged) {
    const bool over_limit = !merged && merged.error().kind == ErrorKind::Timeout;
    if (over_limit && (work.with_names || work.output.empty()))
        return take_over_limit(work, merged.error());
    if (work.then) work.then(merged);
    if (!work.output.empty()) return;
    if (!merged) {
        const auto pause = outcomes_.failed(options_.first_pause, options_.max_pause);
        options_.log.warn(fmt::format("capture {} could not be merged and stays in {}: {}",
                                      work.session, work.capture.string(), merged.error().message));
        owner_.bundle_changed();  // it may have lacked space
        return try_again_after(pause);
    }
    KILL_POINT("merge.done");
    outcomes_.merged({merged->path, merged->digest, work.session, work.event}, work.with_names);
    drop(work.capture);
    options_.log.inform("bundle " + merged->path);
    owner_.bundle_changed();
}

// Most likely it waited for a file of a watched program on a hung file system. Without names, it
// opens no such files. If that does not end either, no other attempt would.
void MergeQueue::take_over_limit(const Work& work, const Error& error) {
    std::string reason = error.message;
    std::optional<HeldUp> held_up;
    if (auto awaited = trace::read_awaited_file(work.capture)) {
        reason +=
            fmt::format("; it waited for {} of {}", awaited->path,
                        awaited->uid ? fmt::format("user {}", *awaited->uid) : "an unknown user");
        held_up = HeldUp{work.session, std::move(*awaited)};
    }
    outcomes_.took_too_long(std::move(held_up));
    // A hung merge may hold the capture's lock until the next boot.
    if (const Status renewed = renew_folder(work.capture); !renewed)
        options_.log.warn(
            fmt::format("capture {} is still held by the merge that took too long: {}",
                        work.session, renewed.error().message));
    if (work.with_names) {
        options_.log.warn(
            fmt::format("capture {} is merged without function names: {}", work.session, reason));
        queue_.push_front(
            {work.capture, work.session, work.event, false, nullptr, work.output, work.then});
        return;
    }
    if (work.then) work.then(error);
    outcomes_.set_aside();
    options_.log.warn(fmt::format("capture {} could not be merged and is set aside in {}: {}",
                                  work.session, work.capture.string(), reason));
    if (const Status kept = set_aside(work.capture, reason); !kept)
        options_.log.warn(fmt::format(
            "capture {}: cannot save that it is set aside; the next start will retry it: {}",
            work.session, kept.error().message));
}

void MergeQueue::try_again_after(std::chrono::milliseconds pause) {
    again_timer_.expires_after(pause);
    again_timer_.async_wait([this](const auto& failure) {
        if (!failure) take_what_waits();
    });
}

void MergeQueue::drop(const fs::path& capture) {
    if (const Status removed = remove_capture(capture); !removed)
        options_.log.warn("capture could not be removed: " + removed.error().message);
}

bool MergeQueue::is_in_use(const fs::path& capture) const {
    if (owner_.is_in_use(capture)) return true;
    return std::any_of(queue_.begin(), queue_.end(),
                       [&](const Work& work) { return work.capture == capture; });
}

void MergeQueue::look_at(const fs::path& capture) {
    if (const auto reason = reason_set_aside(capture)) {
        outcomes_.set_aside();
        if (unreadable_.insert(capture).second)
            options_.log.warn("capture " + capture.string() + " is set aside: " + *reason);
        return;
    }
    const auto session = trace::read_session(capture);
    if (session) {
        const bool known = session->trigger.event < session->events.size();
        return add({capture, session->id, known ? session->events[session->trigger.event].name : "",
                    true, nullptr});
    }
    if (session.error().kind == ErrorKind::NotFound) {
        // The session is written before the logs, so there are none.
        options_.log.inform("capture " + capture.string() +
                            " had not started when its daemon exited; removed");
        return drop(capture);
    }
    outcomes_.waits();
    if (unreadable_.insert(capture).second)
        options_.log.warn("capture " + capture.string() +
                          " cannot be merged: " + session.error().message);
}

void MergeQueue::take_what_waits() {
    outcomes_.count_again();
    std::vector<fs::path> waiting;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(spool_.captures(), failed)) {
        std::error_code ignored;
        if (!entry.is_directory(ignored) || is_in_use(entry.path())) continue;
        if (is_leftover(entry.path().filename().string()))
            fs::remove_all(entry.path(), ignored);
        else
            waiting.push_back(entry.path());
    }
    if (failed)
        options_.log.warn("the captures in " + spool_.captures().string() +
                          " cannot be listed: " + failed.message());
    for (const fs::path& capture : oldest_within_limits(waiting)) look_at(capture);
}

// Captures that cannot be merged (disk full, or damaged files) must not fill the disk.
std::vector<fs::path> MergeQueue::oldest_within_limits(const std::vector<fs::path>& waiting) {
    std::vector<std::pair<fs::file_time_type, fs::path>> newest_first;
    newest_first.reserve(waiting.size());
    for (const fs::path& capture : waiting) newest_first.emplace_back(made(capture), capture);
    std::sort(newest_first.rbegin(), newest_first.rend());
    std::uint64_t total_bytes = 0;
    std::vector<fs::path> kept;
    for (const auto& [since, capture] : newest_first) {
        total_bytes += bytes_below(capture);
        if (total_bytes <= size_limit_bytes_) {
            kept.push_back(capture);
            continue;
        }
        outcomes_.removed();
        unreadable_.erase(capture);
        options_.log.warn("capture " + capture.string() +
                          " was removed before merging: captures exceed the spool's size limit");
        drop(capture);
    }
    std::reverse(kept.begin(), kept.end());
    return kept;
}

}  // namespace lagtrap::daemon
