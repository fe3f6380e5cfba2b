// Stores bundles as the server itself manages them: arrival, contents, removal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/add_outcome.hpp"
#include "server/store/bundle_store.hpp"
#include "server/store/delay_store.hpp"
#include "server/store/job_store.hpp"

namespace lagtrap::server {

class SqlSession;

struct Totals {
    std::uint64_t bundles = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bad = 0;
    std::uint64_t delays = 0;
};

// The rules of Store apply.
class BundleInventory {
  public:
    explicit BundleInventory(SqlSession& session) : session_(&session) {}

    // Adds the bundle and the job it needs in one transaction. Otherwise a server that ends in
    // between would leave a bundle that is never parsed. If the digest exists, nothing changes.
    [[nodiscard]] Result<AddOutcome> add(const BundleRow& row, const NewJob& work) const;
    // Stores the result of parsing, the first time or again: facts, the reason if it is bad, delays
    // and normal runs, replacing earlier ones. Links delays to their runs: same host, event,
    // process and thread, begin within 50 ms. False if there is no such bundle.
    [[nodiscard]] Result<bool> set_contents(const std::string& digest, const BundleFacts& facts,
                                            const std::string& bad_reason,
                                            const std::vector<BundleDelay>& delays) const;
    // Oldest first.
    [[nodiscard]] Result<std::vector<BundleRow>> oldest(std::uint32_t limit) const;
    [[nodiscard]] Result<std::vector<std::string>> digests() const;
    // Also removes its delays and profiles. A missing bundle is not an error.
    [[nodiscard]] Status remove(const std::string& digest) const;
    [[nodiscard]] Result<Totals> totals() const;

  private:
    SqlSession* session_;
};

}  // namespace lagtrap::server
