// Taking bundles and batches in and letting them go: what may come, what becomes of it, what retention removes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
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
    // Retention; nothing: no limit.
    std::optional<std::uint64_t> keep_bytes{};  // of bundles
    std::optional<std::chrono::nanoseconds> keep_for{};
    std::optional<std::uint64_t> keep_runs_bytes{};
    std::optional<std::chrono::nanoseconds> keep_runs_for{};
};

// Who sends, and for whom they may speak.
struct Sender {
    std::string name;  // of the token; empty where the server needs none
    std::string host;  // the one that it may name; empty: any
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

// Functions may be called from any thread; they block on disk and store and, but for check() and begin(), may take
// seconds.
class Ingest {
  public:
    // `work_came` is told of each new job, from any thread.
    Ingest(Blobs& blobs, Store& store, IngestLimits limits, std::function<void()> work_came)
        : blobs_(blobs), store_(store), limits_(limits), work_came_(std::move(work_came)) {}

    // Before any byte is read: whether a bundle, or a batch, of this size may come.
    [[nodiscard]] std::optional<Refusal> check_bundle(std::uint64_t length_bytes) const;
    [[nodiscard]] std::optional<Refusal> check_batch(std::uint64_t length_bytes) const;
    [[nodiscard]] Result<IncomingBlob> begin() const { return blobs_.begin(); }
    // Keeps what has come if its digest is the announced one, and puts the job of looking into it.
    [[nodiscard]] std::variant<Stored, Refusal> finish_bundle(IncomingBlob blob, const std::string& digest,
                                                              const Sender& sender, std::uint64_t now_realtime_ns);
    // Stores the runs of a batch, all or none.
    [[nodiscard]] std::variant<Stored, Refusal> finish_batch(std::string_view bytes, const std::string& digest,
                                                             const Sender& sender, std::uint64_t now_realtime_ns);
    // What a failed read, write or commit means to the sender.
    [[nodiscard]] static Refusal refusal_of(const Error& error);

    // Makes rows and blobs agree again where no other server shares the blobs; at start, before requests come.
    [[nodiscard]] Result<Reconciled> reconcile(std::uint64_t now_realtime_ns);
    // Of bundles; and of runs, which costs more.
    [[nodiscard]] Result<RetentionCount> remove_bundles(std::uint64_t now_realtime_ns);
    [[nodiscard]] Result<std::uint64_t> remove_runs(std::uint64_t now_realtime_ns);
    [[nodiscard]] const EventCounters& event_counters() const { return event_counters_; }
    [[nodiscard]] Blobs& blobs() const { return blobs_; }

  private:
    [[nodiscard]] std::optional<Refusal> check_room(std::uint64_t length_bytes) const;

    Blobs& blobs_;
    Store& store_;
    IngestLimits limits_;
    std::function<void()> work_came_;
    EventCounters event_counters_;
    // A bundle that comes while retention removes it would else end as a row without a blob.
    std::mutex commit_mutex_;
    // A batch of a megabyte may unpack to a hundred: few at once.
    std::counting_semaphore<> unpacking_{2};
};

}  // namespace lagtrap::server
