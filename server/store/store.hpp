// The server's database, in an SQLite file (sqlite_store.hpp) or in PostgreSQL
// (postgres_store.hpp). The bytes of bundles are elsewhere (blobs.hpp).
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
    std::uint64_t runs = 0;          // records, as counted on arrival
    std::uint64_t lost = 0;          // runs that batches of the last 30 days reported as lost
    std::uint64_t bytes = 0;         // on disk, with indices, without free space
    std::uint64_t memory_bytes = 0;  // of the database engine in this process, mostly page caches
};

struct RemovedRuns {
    std::uint64_t runs = 0;
    std::uint64_t before_realtime_ns = 0;  // everything that began earlier is gone; 0: nothing was removed
};

// Any thread; all functions block. Once a function that changes something returns, the change
// survives a power failure. ErrorKind::Busy or Timeout: the store cannot be reached or is too busy;
// the same call may succeed later. system_errno ENOSPC: its disk is full.
class Store : public EvidenceStore, public AccountStore, public JobStore, public RuleStore, public ObjectStore {
  public:
    // Removes runs that began earlier, in whole hours: up to an hour more may remain.
    [[nodiscard]] virtual Result<RemovedRuns> remove_runs_before(std::uint64_t realtime_ns) = 0;
    // Removes the oldest runs, at least an hour of them, until all runs take at most `bytes`; the
    // newest hour stays.
    [[nodiscard]] virtual Result<RemovedRuns> shrink_runs(std::uint64_t bytes) = 0;
    [[nodiscard]] virtual Result<StoreSize> size() = 0;

    // Call every few minutes. Creates partitions ahead of time; removes expired sessions, quotas
    // from before yesterday, old digests of batches and old audit entries; links delays and runs
    // that arrived at the same time.
    [[nodiscard]] virtual Status maintain(std::uint64_t now_realtime_ns) = 0;
    // Makes a consistent copy in a new file while the server runs. ErrorKind::Unsupported for
    // PostgreSQL, which has pg_dump.
    [[nodiscard]] virtual Status backup(const std::filesystem::path& file) = 0;
    // Checks the structure of the store, and the sums of roll-ups against the runs. Reads
    // everything. Returns complaints; empty if there are none.
    [[nodiscard]] virtual Result<std::vector<std::string>> check() = 0;
};

inline constexpr std::uint64_t default_store_cache_bytes = 128ULL << 20;

// `where` is "postgresql://..." (or postgres://, a URI of libpq), or the path of an SQLite file,
// which is created if missing. Brings the schema up to date. `cache_bytes` is the writer's page
// cache of an SQLite file; each reader caches up to a quarter of it. At most eight idle readers
// keep their cache, and after ten idle seconds it is freed. ErrorKind::Unsupported if a newer
// version of the program created the store.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(const std::string& where,
                                                        std::uint64_t cache_bytes = default_store_cache_bytes);

}  // namespace lagtrap::server
