// What the server knows, behind one interface: in an SQLite file (sqlite_store.hpp) or in PostgreSQL (postgres_store.hpp).
// Bytes of bundles are elsewhere (blobs.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "server/store/account_store.hpp"
#include "server/store/evidence_store.hpp"
#include "server/store/job_store.hpp"
#include "server/store/object_store.hpp"
#include "server/store/rule_store.hpp"

namespace lagtrap::server {

struct StoreSize {
    std::uint64_t runs = 0;   // records, as counted when they came in
    std::uint64_t lost = 0;   // runs that the batches of the last 30 days told as lost
    std::uint64_t bytes = 0;  // on disk, with indices, without what is free
    std::uint64_t memory_bytes =
        0;  // of this process: what the database engine holds, its page caches for the most part
};

struct RemovedRuns {
    std::uint64_t runs = 0;
    std::uint64_t before_realtime_ns = 0;  // all that began before are gone; 0: nothing was removed
};

// Every function may be called from any thread and blocks; what a changing function has returned survives a power
// failure. ErrorKind::Busy, Timeout: the store is not to be reached or too busy; the same call may succeed later.
// system_errno ENOSPC: its disk is full.
class Store : public EvidenceStore, public AccountStore, public JobStore, public RuleStore, public ObjectStore {
  public:
    // Removes runs that began before; whole hours only, so that up to an hour more may stay.
    [[nodiscard]] virtual Result<RemovedRuns> remove_runs_before(std::uint64_t realtime_ns) = 0;
    // Removes the oldest runs, at least an hour of them, until all runs take at most `bytes`; the newest hour stays.
    [[nodiscard]] virtual Result<RemovedRuns> shrink_runs(std::uint64_t bytes) = 0;
    [[nodiscard]] virtual Result<StoreSize> size() = 0;

    // To be called every few minutes: makes partitions ahead, drops expired sessions, quotas of days before yesterday, old
    // digests of batches and old entries of the audit, links delays and runs that came at the same time.
    [[nodiscard]] virtual Status maintain(std::uint64_t now_realtime_ns) = 0;
    // A consistent copy in a new file, while the server runs. ErrorKind::Unsupported for PostgreSQL, which has pg_dump.
    [[nodiscard]] virtual Status backup(const std::filesystem::path& file) = 0;
    // Whether the store is whole: structure, and sums of roll-ups against the runs. Reads all of it. The complaints;
    // empty if there are none.
    [[nodiscard]] virtual Result<std::vector<std::string>> check() = 0;
};

inline constexpr std::uint64_t default_store_cache_bytes = 128ULL << 20;

// `where`: "postgresql://..." (or postgres://, a URI of libpq) or the path of an SQLite file, which is made. Brings the
// schema up to date. `cache_bytes`: of an SQLite file, the pages that are kept in memory for writing; each of those who
// read keeps a quarter of it, at most eight of them between two questions; who rests for ten seconds keeps none.
// ErrorKind::Unsupported if a newer version of the program made it.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(const std::string& where,
                                                        std::uint64_t cache_bytes = default_store_cache_bytes);

}  // namespace lagtrap::server
