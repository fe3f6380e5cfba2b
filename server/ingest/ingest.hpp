// Accepts bundles and batches, and removes old ones.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <string_view>
#include <variant>

#include "core/result.hpp"
#include "server/ingest/event_counters.hpp"
#include "server/ingest/refusal.hpp"
#include "server/store/blobs.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

struct IngestLimits {
    std::uint64_t bundle_bytes = 1ULL << 30;
    std::uint64_t disk_reserve_bytes = 64ULL << 20;  // kept free for the database and its log
    // Retention; nullopt: no limit.
    std::optional<std::uint64_t> keep_bytes{};  // of bundles
    std::optional<std::chrono::nanoseconds> keep_for{};
    std::optional<std::uint64_t> keep_runs_bytes{};
    std::optional<std::chrono::nanoseconds> keep_runs_for{};
};

// The client of an upload, and the host it may upload for.
struct Sender {
    std::string name;  // of the token; empty if the server needs none
    std::string host;  // the only host it may name; empty: any
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
    std::uint32_t rows_added = 0;    // blobs without a row, from a crash in between
    std::uint32_t rows_removed = 0;  // rows whose blob is gone
};

// Stores uploads and applies retention. Any thread. Blocks on disk and store, and may take seconds,
// except check() and begin().
class Ingest {
  public:
    // Calls `work_came` after each new job, on any thread.
    Ingest(Blobs& blobs, Store& store, IngestLimits limits, std::function<void()> work_came)
        : blobs_(blobs), store_(store), limits_(limits), work_came_(std::move(work_came)) {}

    // Checks the size of a bundle or batch before reading its first byte.
    [[nodiscard]] std::optional<Refusal> check_bundle(std::uint64_t length_bytes) const;
    [[nodiscard]] std::optional<Refusal> check_batch(std::uint64_t length_bytes) const;
    [[nodiscard]] Result<IncomingBlob> begin() const { return blobs_.begin(); }
    // Stores the bundle if its digest is the announced one, and queues the job that parses it.
    [[nodiscard]] std::variant<Stored, Refusal> finish_bundle(IncomingBlob blob,
                                                              const std::string& digest,
                                                              const Sender& sender,
                                                              std::uint64_t now_realtime_ns);
    // Stores the runs of a batch, all or none.
    [[nodiscard]] std::variant<Stored, Refusal> finish_batch(std::string_view bytes,
                                                             const std::string& digest,
                                                             const Sender& sender,
                                                             std::uint64_t now_realtime_ns);
    // The reply to the sender after a failed read, write or commit.
    [[nodiscard]] static Refusal refusal_of(const Error& error);

    // Makes rows and blobs consistent again, unless other servers share the blobs. Call at start,
    // before serving requests.
    [[nodiscard]] Result<Reconciled> reconcile(std::uint64_t now_realtime_ns);
    // Bundles first; runs take longer.
    [[nodiscard]] Result<RetentionCount> remove_bundles(std::uint64_t now_realtime_ns);
    [[nodiscard]] Result<std::uint64_t> remove_runs(std::uint64_t now_realtime_ns);
    [[nodiscard]] const EventCounters& event_counters() const { return event_counters_; }
    [[nodiscard]] Blobs& blobs() const { return blobs_; }

  private:
    [[nodiscard]] std::optional<Refusal> check_room(std::uint64_t length_bytes) const;
    // Queues the search for dirty runs of the batch's events, unless one is known to wait.
    void search_dirty_runs(const trace::RunBatch& batch, std::uint64_t now_realtime_ns);

    Blobs& blobs_;
    Store& store_;
    IngestLimits limits_;
    std::function<void()> work_came_;
    EventCounters event_counters_;
    // Otherwise a bundle that arrives while retention removes it could end as a row without a blob.
    std::mutex commit_mutex_;
    // A batch of one megabyte may decompress to a hundred, so only a few at once.
    std::counting_semaphore<> unpacking_{2};
    std::mutex searches_mutex_;
    // by event: until when a queued search cannot begin
    std::map<std::string, std::uint64_t> searches_;
};

}  // namespace lagtrap::server
