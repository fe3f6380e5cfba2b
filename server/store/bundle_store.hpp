// Stores facts about bundles: their rows, their delays, and profiles of runs in them.
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

// From the bundle's system file. Texts are untrusted UTF-8.
struct BundleFacts {
    std::string session_id;
    std::string host;
    std::string event;    // of the longest delay; of the trigger if there is no delay
    std::string process;  // of the longest delay's begin
    std::uint64_t started_realtime_ns = 0;
    std::uint64_t longest_delay_ns = 0;
    std::uint32_t delays = 0;
};

struct BundleRow {
    std::int64_t number = 0;  // increases with each bundle; set by add()
    std::string digest;       // SHA-256, 64 lower-case hexadecimal digits
    std::uint64_t bytes = 0;
    std::uint64_t received_realtime_ns = 0;
    std::string sender;  // name of the token; empty if the server needs none
    BundleFacts facts;
    std::string bad_reason;  // why it could not be read; empty if it is good
    bool parsed = false;     // set_contents() has been called
};

struct Totals {
    std::uint64_t bundles = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bad = 0;
    std::uint64_t delays = 0;
};

// A delay of a bundle or a normal run in it, and where its time went.
struct BundleDelay {
    std::uint32_t number = 0;  // of the delay in its bundle, from 1; 0 for a normal run
    bool delayed = true;       // false: a normal run, kept only for its profile
    std::string event;
    std::uint64_t begin_realtime_ns = 0;
    std::uint64_t duration_ns = 0;
    std::uint64_t threshold_ns = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;  // in which it began
    std::string process, thread, user, build, unit;
    std::string program_version;  // of the program's package; empty: unknown. Not stored with the delay.
    trace::StartKind start = trace::StartKind::Unknown;
    std::string profile;  // opaque to the store, at most profile_limit_bytes; may be empty
    std::string details;  // the same limits; JSON of the server with what a page shows of the delay
};
inline constexpr std::size_t profile_limit_bytes = 1 << 20;

// A delay as stored.
struct StoredDelay {
    std::string bundle;
    std::string host;
    std::optional<std::uint64_t> run;  // its run, if it was recorded
    BundleDelay delay;
};

struct DelayPage {
    std::vector<StoredDelay> delays;  // without profiles
    std::optional<PageKey> next;
};

// Delays of one host, build or unit.
struct DelayCount {
    std::string name;
    std::uint64_t delays = 0;
    std::uint64_t longest_ns = 0;
};

struct DelaySummary {
    Summary summary;                // delays only: all runs in it are delays
    std::uint64_t delays_read = 0;  // the newest; if fewer than `delays`, the members below cover only these
    std::uint64_t delays = 0;
    std::uint64_t threshold_ns = 0;                // of the newest
    std::vector<DelayCount> hosts, builds, units;  // most delays first, at most 1,000
};

struct BundlePage {
    std::vector<BundleRow> bundles;
    std::optional<PageKey> next;
};

// The rules of RunStore apply.
class BundleStore {
  public:
    BundleStore() = default;
    BundleStore(const BundleStore&) = delete;
    BundleStore& operator=(const BundleStore&) = delete;
    virtual ~BundleStore() = default;

    // Adds the bundle and the job it needs in one transaction. Otherwise a server that ends in
    // between would leave a bundle that is never parsed. If the digest exists, nothing changes.
    [[nodiscard]] virtual Result<AddOutcome> add(const BundleRow& row, const NewJob& work) = 0;
    // Stores the result of parsing, the first time or again: facts, the reason if it is bad, delays
    // and normal runs, replacing earlier ones. Links delays to their runs: same host, event,
    // process and thread, begin within 50 ms. False if there is no such bundle.
    [[nodiscard]] virtual Result<bool> set_contents(const std::string& digest, const BundleFacts& facts,
                                                    const std::string& bad_reason,
                                                    const std::vector<BundleDelay>& delays) = 0;
    [[nodiscard]] virtual Result<std::optional<BundleRow>> find(const std::string& digest) = 0;
    // Newest first, at most `limit`. With `before`, only those with a lower number.
    [[nodiscard]] virtual Result<std::vector<BundleRow>> list(std::uint32_t limit,
                                                              std::optional<std::int64_t> before) = 0;
    // Bundles with a delay that the filter selects, newest first. Includes bad ones if the filter
    // has only times and host.
    [[nodiscard]] virtual Result<BundlePage> list_filtered(const Filter& filter, std::uint32_t limit,
                                                           std::optional<PageKey> after) = 0;
    // Oldest first.
    [[nodiscard]] virtual Result<std::vector<BundleRow>> oldest(std::uint32_t limit) = 0;
    [[nodiscard]] virtual Result<std::vector<std::string>> digests() = 0;
    // Also removes its delays and profiles. A missing bundle is not an error.
    [[nodiscard]] virtual Status remove(const std::string& digest) = 0;
    [[nodiscard]] virtual Result<Totals> totals() = 0;

    // The delays of a bundle by number, without its normal runs.
    [[nodiscard]] virtual Result<std::vector<StoredDelay>> delays(const std::string& digest) = 0;
    // One of them.
    [[nodiscard]] virtual Result<std::optional<StoredDelay>> find_delay(const std::string& digest,
                                                                        std::uint32_t number) = 0;
    // A page of a bundle's delays, or of all bundles' delays if `digest` is empty. Includes delays
    // whose runs are hidden.
    [[nodiscard]] virtual Result<DelayPage> list_delays(const Filter& filter, const std::string& digest, RunOrder order,
                                                        std::uint32_t limit, std::optional<PageKey> after) = 0;
    // Summarises delays in bundles, whether or not their runs were recorded. Needs Filter::event.
    [[nodiscard]] virtual Result<DelaySummary> summarise_delays(const Filter& filter) = 0;
    // Visits delays (or normal runs) of all bundles that have a profile, newest first, until `take`
    // returns false or `limit` is reached. Skips hidden runs unless with_dirty is set.
    [[nodiscard]] virtual Status profiles(const Filter& filter, bool delayed, std::uint32_t limit,
                                          const std::function<bool(StoredDelay&&)>& take) = 0;
};

}  // namespace lagtrap::server
