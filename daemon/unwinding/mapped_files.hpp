// Tracks which processes map files that the settings mean, or files with the same names, in any
// view of the file system. The unwinder, which follows all mappings, feeds it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bpf/records.h"
#include "daemon/processes/user_shares.hpp"
#include "daemon/unwinding/mapped_file_table.hpp"

namespace lagtrap::daemon {

// Thread-safe.
class MappedFiles {
  public:
    using MappedFile = MappedFileTable::MappedFile;
    using Limits = MappedFileTable::Limits;

    MappedFiles();
    MappedFiles(Limits limits, MappedFileTable::FindParty find_party)
        : table_(limits, std::move(find_party)) {}

    // Sets the names of programs in the settings. True if some are new, so that earlier mappings
    // must be passed again.
    bool want(const std::set<std::string>& names);
    [[nodiscard]] bool wants_any() const { return wanted_.load(); }
    // done() calls `changed` after a change, on its caller's thread; `changed` must not block.
    // Returns a number for unsubscribe(), after which it is not called any more.
    [[nodiscard]] std::uint64_t subscribe(std::function<void()> changed);
    void unsubscribe(std::uint64_t subscriber);

    // Takes mappings, forks, execs and exits. done() reports changes.
    void take(const lagtrap_record* record);
    // Ends a group of related records.
    void done();
    // All records follow again, then end_scan(). Until then, all() is as it was before.
    void begin_scan();
    void end_scan();

    [[nodiscard]] std::vector<MappedFile> all() const;
    // Increases with each change.
    [[nodiscard]] std::uint64_t version() const { return version_.load(); }
    // Mappings and processes not tracked because of limits.
    [[nodiscard]] LeftOut left_out() const;
    [[nodiscard]] std::uint64_t used_bytes() const;

  private:
    std::atomic<bool> wanted_{false};
    std::atomic<std::uint64_t> version_{0};
    mutable std::mutex mutex_;
    MappedFileTable table_;
    std::optional<std::vector<MappedFile>> before_scan_;
    std::mutex callback_mutex_;
    std::map<std::uint64_t, std::function<void()>> subscribers_;
};

}  // namespace lagtrap::daemon
