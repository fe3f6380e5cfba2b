// What the server knows of its bundles, behind an interface: SQLite today (sqlite_store.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

// From the bundle's system file; texts are UTF-8 from elsewhere and not to be trusted.
struct BundleFacts {
    std::string session_id;
    std::string host;
    std::string event;    // of the longest delay; of the trigger if there is no delay
    std::string process;  // that the longest delay began in
    std::uint64_t started_realtime_ns = 0;
    std::uint64_t longest_delay_ns = 0;
    std::uint32_t delays = 0;
};

struct BundleRow {
    std::int64_t number = 0;  // grows with each bundle; given by add()
    std::string digest;       // SHA-256, 64 lower-case hexadecimal digits
    std::uint64_t bytes = 0;
    std::uint64_t received_realtime_ns = 0;
    std::string sender;  // name of the token; empty where the server needs none
    BundleFacts facts;
    std::string bad_reason;  // why it could not be read; empty for a good one
};

enum class AddOutcome { New, Already };

struct Totals {
    std::uint64_t bundles = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bad = 0;
    std::uint64_t delays = 0;
};

// Every function may be called from any thread; what add() and remove() have returned survives a power failure.
class Store {
  public:
    Store() = default;
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    virtual ~Store() = default;

    // A digest that is there already changes nothing.
    [[nodiscard]] virtual Result<AddOutcome> add(const BundleRow& row) = 0;
    [[nodiscard]] virtual Result<std::optional<BundleRow>> find(const std::string& digest) = 0;
    // The newest first, those with a number below `before` only (nothing: all), at most `limit`.
    [[nodiscard]] virtual Result<std::vector<BundleRow>> list(std::uint32_t limit,
                                                              std::optional<std::int64_t> before) = 0;
    // The oldest first.
    [[nodiscard]] virtual Result<std::vector<BundleRow>> oldest(std::uint32_t limit) = 0;
    [[nodiscard]] virtual Result<std::vector<std::string>> digests() = 0;
    // What is not there is no error.
    [[nodiscard]] virtual Status remove(const std::string& digest) = 0;
    [[nodiscard]] virtual Result<Totals> totals() = 0;
};

}  // namespace lagtrap::server
