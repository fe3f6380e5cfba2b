#include "server/ingest/ingest.hpp"

#include <algorithm>
#include <set>

#include "core/digest.hpp"
#include "core/duration.hpp"
#include "core/fault_point.hpp"
#include "server/ingest/jobs.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint32_t retention_step = 100;
// Delay between a batch and the search for dirty runs, so that many batches cause one search.
constexpr std::uint64_t dirty_delay_ns = 20ULL * 1'000'000'000ULL;
// For this time a search just queued has not begun, although servers' clocks differ and storing
// takes time.
constexpr std::uint64_t known_search_ns = dirty_delay_ns / 4 * 3;
constexpr std::size_t known_searches_limit = 10'000;
constexpr std::chrono::seconds store_pause{10};
constexpr std::chrono::seconds full_pause{300};

std::uint64_t nanoseconds(std::chrono::nanoseconds duration) {
    return static_cast<std::uint64_t>(duration.count());
}

// The parse job of a new bundle, which may name only `host` (empty: any).
NewJob work_on(const std::string& digest, const std::string& host, std::uint64_t now_ns) {
    return {parse_job, ParsePayload{digest, host}.text(), now_ns};
}

Refusal another_digest(const std::string& found) {
    return {422, "the digest of what came is " + found + ", not the one in the address",
            "send the file again"};
}

}  // namespace

std::optional<Refusal> Ingest::check_room(std::uint64_t length_bytes) const {
    const auto free_bytes = blobs_.free_bytes();
    if (!free_bytes) return refusal_of(free_bytes.error());
    if (*free_bytes >= length_bytes + limits_.disk_reserve_bytes) return std::nullopt;
    return Refusal{507, "the server's disk is full",
                   "its operator can remove bundles (--keep-size)", full_pause};
}

std::optional<Refusal> Ingest::check_bundle(std::uint64_t length_bytes) const {
    if (length_bytes == 0) return Refusal{400, "the bundle is empty"};
    if (length_bytes > limits_.bundle_bytes) {
        return Refusal{413, "the bundle has " + format_byte_size(length_bytes) + "; at most " +
                                format_byte_size(limits_.bundle_bytes) +
                                " are taken (--max-bundle)"};
    }
    return check_room(length_bytes);
}

std::optional<Refusal> Ingest::check_batch(std::uint64_t length_bytes) const {
    if (length_bytes == 0) return Refusal{400, "the batch is empty"};
    if (length_bytes > trace::run_batch_limit_bytes) {
        return Refusal{413, "the batch has " + format_byte_size(length_bytes) + "; at most " +
                                format_byte_size(trace::run_batch_limit_bytes) + " are taken"};
    }
    return check_room(length_bytes);
}

Refusal Ingest::refusal_of(const Error& error) {
    if (error.system_errno == ENOSPC || error.system_errno == EDQUOT)
        return {507, "the server's disk is full", "its operator can remove bundles (--keep-size)",
                full_pause, error.message};
    if (error.kind == ErrorKind::Busy || error.kind == ErrorKind::Timeout)
        return {503, "the server cannot reach its store", "the same request may succeed later",
                store_pause, error.message};
    return {500, "the server could not store it", "its log says why", store_pause, error.message};
}

std::variant<Stored, Refusal> Ingest::finish_bundle(IncomingBlob blob, const std::string& digest,
                                                    const Sender& sender,
                                                    std::uint64_t now_realtime_ns) {
    const auto sealed = blob.seal();
    if (!sealed) return refusal_of(sealed.error());
    if (*sealed != digest) return another_digest(*sealed);
    const auto known = store_.everything().bundles().find(digest);
    if (!known) return refusal_of(known.error());
    if (*known) return Stored{digest, (*known)->bytes, AddOutcome::Already, (*known)->bad_reason};

    BundleRow row;
    row.digest = digest;
    row.bytes = blob.size_bytes();
    row.sender = sender.name;
    row.received_realtime_ns = now_realtime_ns;
    const std::lock_guard lock(commit_mutex_);
    const auto keep = [&]() -> Status {
        TRY(blobs_.keep(blob, digest));
        FAULT_POINT("server.kept");
        return success();
    };
    if (const auto kept = keep(); !kept) return refusal_of(kept.error());
    // A crash here leaves a blob without a row, which reconcile() repairs.
    const auto added = store_.inventory().add(row, work_on(digest, sender.host, now_realtime_ns));
    if (!added) return refusal_of(added.error());
    KILL_POINT("server.stored");
    work_came_();
    return Stored{digest, row.bytes, *added, {}};
}

std::variant<Stored, Refusal> Ingest::finish_batch(std::string_view bytes,
                                                   const std::string& digest, const Sender& sender,
                                                   std::uint64_t now_realtime_ns) {
    const std::string found = sha256_of(bytes);
    if (found != digest) return another_digest(found);
    unpacking_.acquire();
    const auto batch = trace::read_run_batch(bytes);
    unpacking_.release();
    if (!batch) return Refusal{422, "this is no batch of runs: " + batch.error().message};
    if (!sender.host.empty() && batch->host != sender.host)
        return Refusal{
            403, "the token may speak for host " + sender.host + " alone, not for " + batch->host};
    const Receipt receipt{digest, bytes.size(), now_realtime_ns, sender.name};
    KILL_POINT("server.batch_received");
    const auto added = store_.batches().add_batch(receipt, *batch);
    // It would be refused again each time; a 500 would make the sender retry forever.
    if (!added && added.error().kind == ErrorKind::Invalid)
        return Refusal{422, added.error().message};
    if (!added) return refusal_of(added.error());
    KILL_POINT("server.batch_stored");
    if (*added == AddOutcome::New) {
        event_counters_.add(*batch);
        search_dirty_runs(*batch, now_realtime_ns);
    }
    return Stored{digest, bytes.size(), *added, {}};
}

// The runs are stored. Failing to queue the search does not fail the upload.
void Ingest::search_dirty_runs(const trace::RunBatch& batch, std::uint64_t now_realtime_ns) {
    std::set<std::string> events;
    for (const trace::RecordedRun& run : batch.runs) events.insert(run.event);
    for (const std::string& event : events) {
        {
            const std::lock_guard lock(searches_mutex_);
            const auto queued = searches_.find(event);
            if (queued != searches_.end() && now_realtime_ns < queued->second) continue;
        }
        const auto put =
            store_.jobs().put_job({dirty_job, event, now_realtime_ns + dirty_delay_ns});
        if (!put) return;
        // One that waited already may begin at once.
        if (*put == AddOutcome::Already) continue;
        const std::lock_guard lock(searches_mutex_);
        if (searches_.size() >= known_searches_limit) searches_.clear();
        searches_[event] = now_realtime_ns + known_search_ns;
    }
}

Result<Reconciled> Ingest::reconcile(std::uint64_t now_realtime_ns) {
    Reconciled outcome;
    if (blobs_.shared()) return outcome;
    TRY_ASSIGN(const auto row_list, store_.inventory().digests());
    std::set<std::string> lost(row_list.begin(), row_list.end());
    std::vector<std::string> unknown;
    TRY(blobs_.each([&](const std::string& digest) {
        if (lost.erase(digest) == 0) unknown.push_back(digest);
        return true;
    }));
    for (const std::string& digest : unknown) {
        TRY_ASSIGN(const auto bytes, blobs_.size_bytes(digest));
        BundleRow row;
        row.digest = digest;
        row.bytes = bytes.value_or(0);
        row.received_realtime_ns = now_realtime_ns;
        TRY(store_.inventory().add(row, work_on(digest, {}, now_realtime_ns)));
        ++outcome.rows_added;
    }
    for (const std::string& digest : lost) {
        TRY(store_.inventory().remove(digest));
        ++outcome.rows_removed;
    }
    if (outcome.rows_added > 0) work_came_();
    return outcome;
}

Result<RetentionCount> Ingest::remove_bundles(std::uint64_t now_realtime_ns) {
    RetentionCount removed;
    if (!limits_.keep_bytes && !limits_.keep_for) return removed;
    for (;;) {
        TRY_ASSIGN(const Totals totals, store_.inventory().totals());
        TRY_ASSIGN(const auto oldest, store_.inventory().oldest(retention_step));
        std::uint64_t left_bytes = totals.bytes;
        const std::uint32_t before = removed.bundles;
        for (const BundleRow& row : oldest) {
            const std::uint64_t age_ns = now_realtime_ns > row.received_realtime_ns
                                             ? now_realtime_ns - row.received_realtime_ns
                                             : 0;
            const bool too_old = limits_.keep_for && age_ns > nanoseconds(*limits_.keep_for);
            const bool too_much = limits_.keep_bytes && left_bytes > *limits_.keep_bytes;
            if (!too_old && !too_much) return removed;
            const std::lock_guard lock(commit_mutex_);
            // The row first, because a row without a blob would point to nothing.
            TRY(store_.inventory().remove(row.digest));
            // Another server that shares the blobs may have received the bundle again in the
            // meantime.
            TRY_ASSIGN(const auto again, store_.everything().bundles().find(row.digest));
            if (!again) TRY(blobs_.remove(row.digest));
            left_bytes -= row.bytes;
            removed.bytes += row.bytes;
            ++removed.bundles;
        }
        if (removed.bundles == before) return removed;
    }
}

Result<std::uint64_t> Ingest::remove_runs(std::uint64_t now_realtime_ns) {
    std::uint64_t removed = 0;
    if (limits_.keep_runs_for && nanoseconds(*limits_.keep_runs_for) < now_realtime_ns) {
        TRY_ASSIGN(const RemovedRuns old,
                   store_.upkeep().remove_runs_before(now_realtime_ns -
                                                      nanoseconds(*limits_.keep_runs_for)));
        removed += old.runs;
    }
    if (limits_.keep_runs_bytes) {
        TRY_ASSIGN(const RemovedRuns oldest, store_.upkeep().shrink_runs(*limits_.keep_runs_bytes));
        removed += oldest.runs;
    }
    return removed;
}

}  // namespace lagtrap::server
