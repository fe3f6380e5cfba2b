// The second half of the collector: makes bundles of recorded captures, whatever fails in between.
#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "core/duration.hpp"
#include "core/fault_point.hpp"
#include "daemon/capture/collector.hpp"
#include "daemon/merges/capture_folder.hpp"

namespace lagtrap::daemon {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A capture whose merge failed is tried again after 1 s, 4 s, 16 s and so on.
constexpr std::chrono::seconds first_pause{1};
constexpr std::chrono::seconds longest_pause{600};

fs::file_time_type made(const fs::path& folder) {
    std::error_code ignored;
    return fs::last_write_time(folder, ignored);
}

}  // namespace

void Collector::merge(Merge wanted) {
    merges_.push_back(std::move(wanted));
    merge_next();
}

void Collector::merge_next() {
    if (merges_.empty() || merge_runs_ || merges_held_) return;
    merge_runs_ = true;
    const auto done = [this](const Result<MergedBundle>& merged) {
        merge_runs_ = false;
        const Merge merge = std::move(merges_.front());
        merges_.pop_front();
        take_merged(merge, merged);
        merge_next();
    };
    const auto ready = spool_.folder(uploader::EntryState::Ready);
    const Merge& first = merges_.front();
    const MergeTask task{first.capture, ready, first.with_names, settings_.recording.merge_limit};
    const auto started = MergeJob::start(context_, options_.merge_program, task, done);
    KILL_POINT("merge.started");
    if (!started) done(started.error());
}

void Collector::hold_merges(bool held) {
    merges_held_ = held;
    merge_next();
}

void Collector::take_merged(const Merge& merge, const Result<MergedBundle>& merged) {
    if (!merged && merged.error().kind == ErrorKind::Timeout) return take_over_limit(merge, merged.error());
    if (!merged) {
        ++counts_.merges_failed;
        ++counts_.waiting;
        options_.warn(fmt::format("capture {} could not be merged and waits in {}: {}", merge.session,
                                  merge.capture.string(), merged.error().message));
        if (options_.on_spool_change) options_.on_spool_change();  // it may have lacked room
        return merge_again_later();
    }
    KILL_POINT("merge.done");
    ++counts_.done;
    if (!merge.with_names) ++counts_.without_names;
    merges_failed_in_row_ = 0;
    last_bundle_ = LastBundle{merged->path, merged->digest, merge.session, merge.event};
    drop(merge.capture);
    options_.inform("bundle " + merged->path);
    if (options_.on_spool_change) options_.on_spool_change();
}

// What held it up is a file of a watched program, most likely, on a file system that does not answer: without names none is
// opened. Where that does not end either, no further attempt would.
void Collector::take_over_limit(const Merge& merge, const Error& error) {
    ++counts_.merges_failed;
    ++counts_.merges_over_limit;
    std::string reason = error.message;
    if (auto awaited = trace::read_awaited_file(merge.capture)) {
        reason += fmt::format("; it waited for {} of {}", awaited->path,
                              awaited->uid ? fmt::format("user {}", *awaited->uid) : "a user not known");
        held_up_ = HeldUp{merge.session, std::move(*awaited)};
    }
    // The one that hangs may hold the capture's lock as long as the machine runs.
    if (const Status renewed = renew_folder(merge.capture); !renewed)
        options_.warn(fmt::format("capture {} stays with the merge that took too long: {}", merge.session,
                                  renewed.error().message));
    if (merge.with_names) {
        options_.warn(fmt::format("capture {} is merged without names of functions: {}", merge.session, reason));
        merges_.push_front({merge.capture, merge.session, merge.event, false, nullptr});
        return;
    }
    ++counts_.set_aside;
    options_.warn(fmt::format("capture {} could not be merged and is set aside in {}: {}", merge.session,
                              merge.capture.string(), reason));
    if (const Status kept = set_aside(merge.capture, reason); !kept)
        options_.warn(
            fmt::format("capture {}: that it is set aside could not be kept, the next daemon tries it again: {}",
                        merge.session, kept.error().message));
}

void Collector::merge_again_later() {
    const std::uint64_t failures = std::min<std::uint64_t>(merges_failed_in_row_++, 5);
    merge_timer_.expires_after(std::min(first_pause * (1 << (2 * failures)), longest_pause));
    merge_timer_.async_wait([this](const auto& failure) {
        if (!failure) merge_what_waits();
    });
}

void Collector::drop(const fs::path& capture) {
    if (const Status removed = remove_capture(capture); !removed)
        options_.warn("capture could not be removed: " + removed.error().message);
}

bool Collector::in_use(const fs::path& capture) const {
    if (state_ == CollectorState::Recording && capture == capture_directory_) return true;
    if (waiting_for_traces_.contains(capture)) return true;
    return std::any_of(merges_.begin(), merges_.end(), [&](const Merge& merge) { return merge.capture == capture; });
}

void Collector::look_at(const fs::path& capture) {
    if (const auto reason = reason_set_aside(capture)) {
        ++counts_.set_aside;
        if (unreadable_.insert(capture).second)
            options_.warn("capture " + capture.string() + " is set aside: " + *reason);
        return;
    }
    const auto session = trace::read_session(capture);
    if (session) {
        const bool known = session->trigger.event < session->events.size();
        return merge({capture, session->id, known ? session->events[session->trigger.event].name : "", true, nullptr});
    }
    if (session.error().kind == ErrorKind::NotFound) {
        // The session is written before the logs are made.
        options_.inform("capture " + capture.string() + " had not begun when its daemon ended: removed");
        return drop(capture);
    }
    ++counts_.waiting;
    if (unreadable_.insert(capture).second)
        options_.warn("capture " + capture.string() + " cannot be merged: " + session.error().message);
}

void Collector::merge_what_waits() {
    counts_.waiting = 0;
    counts_.set_aside = 0;
    std::vector<fs::path> waiting;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(spool_.captures(), failed)) {
        std::error_code ignored;
        if (!entry.is_directory(ignored) || in_use(entry.path())) continue;
        if (is_leftover(entry.path().filename().string()))
            fs::remove_all(entry.path(), ignored);
        else
            waiting.push_back(entry.path());
    }
    if (failed)
        options_.warn("the captures in " + spool_.captures().string() + " cannot be listed: " + failed.message());
    keep_within_limits(waiting);
}

// Captures that cannot be merged, the disk being full or their files damaged, must not fill the disk either.
void Collector::keep_within_limits(const std::vector<fs::path>& waiting) {
    std::vector<std::pair<fs::file_time_type, fs::path>> newest_first;
    newest_first.reserve(waiting.size());
    for (const fs::path& capture : waiting) newest_first.emplace_back(made(capture), capture);
    std::sort(newest_first.rbegin(), newest_first.rend());
    std::uint64_t total_bytes = 0;
    std::vector<fs::path> kept;
    for (const auto& [since, capture] : newest_first) {
        total_bytes += bytes_below(capture);
        if (total_bytes <= settings_.spool.size_limit_bytes) {
            kept.push_back(capture);
            continue;
        }
        ++counts_.removed;
        unreadable_.erase(capture);
        options_.warn("capture " + capture.string() +
                      " waited for its merge and was removed: the captures are larger than " +
                      "the spool's size limit");
        drop(capture);
    }
    // The oldest first.
    std::for_each(kept.rbegin(), kept.rend(), [this](const fs::path& capture) { look_at(capture); });
}

void Collector::recover() { merge_what_waits(); }

}  // namespace lagtrap::daemon
