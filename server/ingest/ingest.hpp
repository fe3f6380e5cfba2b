// Taking bundles in and letting them go: what may come, what becomes of it, what retention removes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "core/result.hpp"
#include "server/store/blob_store.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

struct IngestLimits {
    std::uint64_t bundle_bytes = 1ULL << 30;
    std::uint64_t disk_reserve_bytes = 64ULL << 20;  // kept free for the database and its log
    // Retention; nothing: no limit.
    std::optional<std::uint64_t> keep_bytes = std::nullopt;
    std::optional<std::chrono::nanoseconds> keep_for = std::nullopt;
};

// Why a bundle is not taken, as HTTP says it.
struct Refusal {
    unsigned status = 500;
    std::string message;
};

struct Stored {
    std::string digest;
    std::uint64_t bytes = 0;
    AddOutcome outcome = AddOutcome::New;
    std::string bad_reason;
};

struct RetentionCount {
    std::uint32_t bundles = 0;
    std::uint64_t bytes = 0;
};

struct Reconciled {
    std::uint32_t rows_added = 0;    // blobs that had no row: a crash between the two
    std::uint32_t rows_removed = 0;  // rows whose blob is gone
};

// Functions may be called from any thread; they block on disk and, but for check() and begin(), may take seconds.
class Ingest {
  public:
    using Describe = std::function<Result<BundleFacts>(const std::filesystem::path&)>;

    Ingest(BlobStore blobs, Store& store, IngestLimits limits, Describe describe)
        : blobs_(std::move(blobs)), store_(store), limits_(limits), describe_(std::move(describe)) {}

    // Before any byte is read: whether a bundle of this size may come.
    [[nodiscard]] std::optional<Refusal> check(std::uint64_t length_bytes) const;
    [[nodiscard]] Result<IncomingBlob> begin() const { return blobs_.begin(); }
    // Keeps what has come if its digest is the announced one. A bundle that can not be read is kept and marked.
    [[nodiscard]] std::variant<Stored, Refusal> finish(IncomingBlob blob, const std::string& digest,
                                                       const std::string& sender, std::uint64_t received_realtime_ns);
    // What a failed read, write or commit means to the sender.
    [[nodiscard]] static Refusal refusal_of(const Error& error);

    // Makes rows and blobs agree again; at start, before requests come.
    [[nodiscard]] Result<Reconciled> reconcile(std::uint64_t now_realtime_ns);
    [[nodiscard]] Result<RetentionCount> apply_retention(std::uint64_t now_realtime_ns);
    [[nodiscard]] const BlobStore& blobs() const { return blobs_; }

  private:
    [[nodiscard]] BundleRow describe(const std::string& digest, const std::filesystem::path& path,
                                     std::uint64_t bytes) const;

    BlobStore blobs_;
    Store& store_;
    IngestLimits limits_;
    Describe describe_;
    // A bundle that comes while retention removes it would else end as a row without a blob.
    std::mutex commit_mutex_;
};

}  // namespace lagtrap::server
