// The server's database, in an SQLite file (sqlite_store.hpp) or in PostgreSQL
// (postgres_store.hpp). The bytes of bundles are elsewhere (blobs.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "core/result.hpp"
#include "server/store/account_store.hpp"
#include "server/store/audit_store.hpp"
#include "server/store/batch_store.hpp"
#include "server/store/bundle_inventory.hpp"
#include "server/store/evidence.hpp"
#include "server/store/found_causes.hpp"
#include "server/store/job_store.hpp"
#include "server/store/message_store.hpp"
#include "server/store/object_store.hpp"
#include "server/store/quota_store.hpp"
#include "server/store/rule_store.hpp"
#include "server/store/store_upkeep.hpp"
#include "server/store/team_store.hpp"
#include "server/store/token_store.hpp"

namespace lagtrap::server {

class Database;

// Gives out the stores, one for each subject. They are cheap to copy and must not outlive it.
//
// For all of them: any thread; all functions block. Once a function that changes something returns,
// the change survives a power failure. Texts may be passed as received; they are made printable and
// cut to 1,024 bytes. ErrorKind::Busy or Timeout: the store cannot be reached or is too busy; the
// same call may succeed later. system_errno ENOSPC: its disk is full.
class Store {
  public:
    explicit Store(std::unique_ptr<Database> database);
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    ~Store();

    // What machines sent, as far as it is visible.
    [[nodiscard]] Evidence evidence(Visibility visibility) const {
        return {*session_, std::move(visibility)};
    }
    // All of it, for the server's own work.
    [[nodiscard]] Evidence everything() const { return evidence(Visibility::everything()); }

    // The store of this type, unless it needs a visibility.
    template <typename OneStore>
    requires(std::is_constructible_v<OneStore, SqlSession&>) [[nodiscard]] OneStore get() const {
        return OneStore(*session_);
    }
    [[nodiscard]] AccountStore accounts() const { return AccountStore(*session_); }
    [[nodiscard]] AuditStore audit() const { return AuditStore(*session_); }
    [[nodiscard]] BatchStore batches() const { return {*session_, *writer_}; }
    [[nodiscard]] BundleInventory inventory() const { return BundleInventory(*session_); }
    [[nodiscard]] FoundCauses found_causes() const { return FoundCauses(*session_); }
    [[nodiscard]] JobStore jobs() const { return JobStore(*session_); }
    [[nodiscard]] MessageStore messages() const { return MessageStore(*session_); }
    [[nodiscard]] ObjectStore objects() const { return ObjectStore(*session_); }
    [[nodiscard]] QuotaStore quotas() const { return QuotaStore(*session_); }
    [[nodiscard]] RuleStore rules() const { return RuleStore(*session_); }
    [[nodiscard]] TeamStore teams() const { return TeamStore(*session_); }
    [[nodiscard]] TokenStore tokens() const { return TokenStore(*session_); }
    [[nodiscard]] StoreUpkeep upkeep() const { return StoreUpkeep(*session_); }

  private:
    std::unique_ptr<SqlSession> session_;
    std::unique_ptr<BatchWriter> writer_;
};

inline constexpr std::uint64_t default_store_cache_bytes = 128ULL << 20;

// `where` is "postgresql://..." (or postgres://, a URI of libpq), or the path of an SQLite file,
// which is created if missing. Brings the schema up to date. `cache_bytes` is the writer's page
// cache of an SQLite file; each reader caches up to a quarter of it. At most eight idle readers
// keep their cache, and after ten idle seconds it is freed. ErrorKind::Unsupported if a newer
// version of the program created the store.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(
    const std::string& where, std::uint64_t cache_bytes = default_store_cache_bytes);

}  // namespace lagtrap::server
