// A cache of object summaries. The page of a running watch polls every two seconds; with the cache,
// only new parts are read each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/reports/watched_objects.hpp"
#include "server/store/object_store.hpp"

namespace lagtrap::server {

// Reads parts of a watch, as ObjectStore::objects_parts() does.
using ReadParts = std::function<Result<std::vector<StoredObjectsPart>>(std::uint32_t after,
                                                                       std::uint64_t limit_bytes)>;

// Keeps the summaries of the `kept_limit` most recently used watches. Any thread.
class WatchSummaries {
  public:
    static constexpr std::size_t kept_limit = 4;
    // Most bytes of lines to build one summary from; above it, the summary is rebuilt from what the
    // store still has. Bounds the memory that a machine that never stops sending can use.
    static constexpr std::uint64_t lines_limit_bytes = 2 * object_watch_limit_bytes;

    explicit WatchSummaries(std::uint64_t lines_limit = lines_limit_bytes)
        : lines_limit_bytes_(lines_limit) {}

    // Summarises all parts of `watch` in the store. If a part arrived out of order, reads all of
    // them again.
    [[nodiscard]] Result<reports::WatchedObjects> read(const ReadParts& read_parts,
                                                       const ObjectWatch& watch);

  private:
    struct Kept {
        std::string id;
        std::mutex mutex;  // protects the members below
        reports::WatchedObjects objects;
        std::uint32_t last_part = 0;
        std::uint64_t bytes = 0;  // of lines
        std::uint64_t gone = 0;   // received parts that were no longer there at the last full read
    };
    [[nodiscard]] std::shared_ptr<Kept> kept_of(const std::string& id);
    static Status read_on(const ReadParts& read_parts, Kept& kept);

    const std::uint64_t lines_limit_bytes_;
    std::mutex mutex_;
    std::list<std::shared_ptr<Kept>> kept_;  // most recently used first
};

}  // namespace lagtrap::server
