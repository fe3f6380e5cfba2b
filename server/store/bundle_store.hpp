// What is known of bundles: their rows, the delays found in them, and profiles of runs inside them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/filter.hpp"
#include "server/store/job_store.hpp"
#include "server/store/run_store.hpp"

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
    bool parsed = false;     // set_contents() has been called
};

struct Totals {
    std::uint64_t bundles = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bad = 0;
    std::uint64_t delays = 0;
};

// A delay of a bundle, or a normal run inside it, and what it spent its time on.
struct BundleDelay {
    std::uint32_t number = 0;  // of the delay in its bundle, from 1; 0 for a normal run
    bool delayed = true;       // false: a normal run, kept for its profile alone
    std::string event;
    std::uint64_t begin_realtime_ns = 0;
    std::uint64_t duration_ns = 0;
    std::uint64_t threshold_ns = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;  // that it began in
    std::string process, thread, user, build, unit;
    std::string program_version;  // of the package that has the program; empty: not known. Not stored with the delay.
    trace::StartKind start = trace::StartKind::Unknown;
    std::string profile;  // opaque to the store, at most profile_limit_bytes; may be empty
    std::string details;  // the same: what a page shows of the delay (JSON of the server's own)
};
inline constexpr std::size_t profile_limit_bytes = 1 << 20;

// The delay as it was stored.
struct StoredDelay {
    std::string bundle;
    std::string host;
    std::optional<std::uint64_t> run;  // its run, if that was recorded
    BundleDelay delay;
};

struct DelayPage {
    std::vector<StoredDelay> delays;  // without profiles
    std::optional<PageKey> next;
};

// Delays that have something in common.
struct DelayCount {
    std::string name;
    std::uint64_t delays = 0;
    std::uint64_t longest_ns = 0;
};

struct DelaySummary {
    Summary summary;                // of the delays alone: every run of it is one
    std::uint64_t delays_read = 0;  // the newest; fewer than `delays` beyond the limit, and then all below are of these
    std::uint64_t delays = 0;
    std::uint64_t threshold_ns = 0;                // of the newest
    std::vector<DelayCount> hosts, builds, units;  // most delays first, at most 1,000
};

struct BundlePage {
    std::vector<BundleRow> bundles;
    std::optional<PageKey> next;
};

// As for RunStore.
class BundleStore {
  public:
    BundleStore() = default;
    BundleStore(const BundleStore&) = delete;
    BundleStore& operator=(const BundleStore&) = delete;
    virtual ~BundleStore() = default;

    // The bundle and the work that it calls for, both or neither: a copy of the server that ends in between would else
    // leave a bundle that nobody looks into. A digest that is there already changes nothing.
    [[nodiscard]] virtual Result<AddOutcome> add(const BundleRow& row, const NewJob& work) = 0;
    // What parsing found, once or again: facts, why it is bad (or empty), delays and normal runs in place of earlier
    // ones. Links delays with their runs: the same host, event, process and thread, the begin within 50 ms. False if
    // there is no such bundle.
    [[nodiscard]] virtual Result<bool> set_contents(const std::string& digest, const BundleFacts& facts,
                                                    const std::string& bad_reason,
                                                    const std::vector<BundleDelay>& delays) = 0;
    [[nodiscard]] virtual Result<std::optional<BundleRow>> find(const std::string& digest) = 0;
    // The newest first, those with a number below `before` only (nothing: all), at most `limit`.
    [[nodiscard]] virtual Result<std::vector<BundleRow>> list(std::uint32_t limit,
                                                              std::optional<std::int64_t> before) = 0;
    // Those that contain a delay that the filter selects (bad ones too where it has no more than times and host),
    // the newest first.
    [[nodiscard]] virtual Result<BundlePage> list_filtered(const Filter& filter, std::uint32_t limit,
                                                           std::optional<PageKey> after) = 0;
    // The oldest first.
    [[nodiscard]] virtual Result<std::vector<BundleRow>> oldest(std::uint32_t limit) = 0;
    [[nodiscard]] virtual Result<std::vector<std::string>> digests() = 0;
    // With its delays and profiles. What is not there is no error.
    [[nodiscard]] virtual Status remove(const std::string& digest) = 0;
    [[nodiscard]] virtual Result<Totals> totals() = 0;

    // The delays of a bundle by number, without its normal runs.
    [[nodiscard]] virtual Result<std::vector<StoredDelay>> delays(const std::string& digest) = 0;
    // One of them.
    [[nodiscard]] virtual Result<std::optional<StoredDelay>> find_delay(const std::string& digest,
                                                                        std::uint32_t number) = 0;
    // A part of them, or of the delays of all bundles where `digest` is empty; those of hidden runs too.
    [[nodiscard]] virtual Result<DelayPage> list_delays(const Filter& filter, const std::string& digest, RunOrder order,
                                                        std::uint32_t limit, std::optional<PageKey> after) = 0;
    // Of delays in bundles, whether their runs were recorded or not. Needs Filter::event.
    [[nodiscard]] virtual Result<DelaySummary> summarise_delays(const Filter& filter) = 0;
    // Delays (or normal runs) of all bundles that have a profile, the newest first, until `take` gives false or
    // `limit` were taken. Those of hidden runs are left out unless with_dirty.
    [[nodiscard]] virtual Status profiles(const Filter& filter, bool delayed, std::uint32_t limit,
                                          const std::function<bool(StoredDelay&&)>& take) = 0;
};

}  // namespace lagtrap::server
