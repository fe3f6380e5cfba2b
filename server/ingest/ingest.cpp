#include "server/ingest/ingest.hpp"

#include <algorithm>
#include <set>
#include <system_error>

#include "core/duration.hpp"
#include "core/text.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t reason_limit_bytes = 500;
constexpr std::uint32_t retention_step = 100;

}  // namespace

std::optional<Refusal> Ingest::check(std::uint64_t length_bytes) const {
    if (length_bytes == 0) return Refusal{400, "the bundle is empty"};
    if (length_bytes > limits_.bundle_bytes) {
        return Refusal{413, "the bundle has " + format_byte_size(length_bytes) + "; at most " +
                                format_byte_size(limits_.bundle_bytes) + " are taken (--max-bundle)"};
    }
    const auto free_bytes = blobs_.free_bytes();
    if (!free_bytes) return refusal_of(free_bytes.error());
    if (*free_bytes < length_bytes + limits_.disk_reserve_bytes) return Refusal{507, "the server's disk is full"};
    return std::nullopt;
}

Refusal Ingest::refusal_of(const Error& error) {
    if (error.system_errno == ENOSPC || error.system_errno == EDQUOT) return {507, "the server's disk is full"};
    return {500, "the server could not store the bundle"};
}

BundleRow Ingest::describe(const std::string& digest, const std::filesystem::path& path, std::uint64_t bytes) const {
    BundleRow row;
    row.digest = digest;
    row.bytes = bytes;
    auto facts = describe_(path);
    if (facts) {
        row.facts = std::move(facts).value();
    } else {
        std::string message = facts.error().message;
        // Where the server keeps its files is nobody's business.
        if (message.starts_with(path.string() + ": ")) message.erase(0, path.string().size() + 2);
        row.bad_reason = printable(message).substr(0, reason_limit_bytes);
        if (row.bad_reason.empty()) row.bad_reason = "unreadable";
    }
    return row;
}

std::variant<Stored, Refusal> Ingest::finish(IncomingBlob blob, const std::string& digest, const std::string& sender,
                                             std::uint64_t received_realtime_ns) {
    const auto sealed = blob.seal();
    if (!sealed) return refusal_of(sealed.error());
    if (*sealed != digest)
        return Refusal{422, "the digest of what came is " + *sealed + ", not the one in the address"};
    const auto known = store_.find(digest);
    if (!known) return refusal_of(known.error());
    if (*known) return Stored{digest, (*known)->bytes, AddOutcome::Already, (*known)->bad_reason};

    BundleRow row = describe(digest, blob.path(), blob.size_bytes());
    row.sender = sender;
    row.received_realtime_ns = received_realtime_ns;
    const std::lock_guard lock(commit_mutex_);
    if (const auto kept = blobs_.keep(blob, digest); !kept) return refusal_of(kept.error());
    // A crash here leaves a blob without a row, which reconcile() mends.
    const auto added = store_.add(row);
    if (!added) return refusal_of(added.error());
    return Stored{digest, row.bytes, *added, row.bad_reason};
}

Result<Reconciled> Ingest::reconcile(std::uint64_t now_realtime_ns) {
    Reconciled outcome;
    TRY_ASSIGN(const auto row_list, store_.digests());
    TRY_ASSIGN(const auto blob_list, blobs_.digests());
    const std::set<std::string> rows(row_list.begin(), row_list.end());
    const std::set<std::string> files(blob_list.begin(), blob_list.end());
    for (const std::string& digest : files) {
        if (rows.contains(digest)) continue;
        std::error_code error;
        const auto bytes = std::filesystem::file_size(blobs_.path_of(digest), error);
        if (error) return system_error(blobs_.path_of(digest).string(), error.value());
        BundleRow row = describe(digest, blobs_.path_of(digest), bytes);
        row.received_realtime_ns = now_realtime_ns;
        TRY(store_.add(row));
        ++outcome.rows_added;
    }
    for (const std::string& digest : rows) {
        if (files.contains(digest)) continue;
        TRY(store_.remove(digest));
        ++outcome.rows_removed;
    }
    return outcome;
}

Result<RetentionCount> Ingest::apply_retention(std::uint64_t now_realtime_ns) {
    RetentionCount removed;
    if (!limits_.keep_bytes && !limits_.keep_for) return removed;
    for (;;) {
        TRY_ASSIGN(const Totals totals, store_.totals());
        TRY_ASSIGN(const auto oldest, store_.oldest(retention_step));
        std::uint64_t left_bytes = totals.bytes;
        const std::uint32_t before = removed.bundles;
        for (const BundleRow& row : oldest) {
            const std::uint64_t age_ns =
                now_realtime_ns > row.received_realtime_ns ? now_realtime_ns - row.received_realtime_ns : 0;
            const bool too_old = limits_.keep_for && age_ns > static_cast<std::uint64_t>(limits_.keep_for->count());
            const bool too_much = limits_.keep_bytes && left_bytes > *limits_.keep_bytes;
            if (!too_old && !too_much) return removed;
            const std::lock_guard lock(commit_mutex_);
            // The row first: a row without a blob would promise what is not there.
            TRY(store_.remove(row.digest));
            TRY(blobs_.remove(row.digest));
            left_bytes -= row.bytes;
            removed.bytes += row.bytes;
            ++removed.bundles;
        }
        if (removed.bundles == before) return removed;
    }
}

}  // namespace lagtrap::server
