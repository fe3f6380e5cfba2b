// What watches of objects came to when they were asked for last: the pages of one that goes on ask every two seconds, and of
// its parts only those that came since are read then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "server/reports/watched_objects.hpp"
#include "server/store/object_store.hpp"

namespace lagtrap::server {

// Any thread.
class WatchSummaries {
  public:
    static constexpr std::size_t kept_limit = 4;
    // Of lines that one is made from; then all that is there is read anew. Who sends parts without end gets no more memory here.
    static constexpr std::uint64_t lines_limit_bytes = 2 * object_watch_limit_bytes;

    explicit WatchSummaries(std::uint64_t lines_limit = lines_limit_bytes) : lines_limit_bytes_(lines_limit) {}

    // All parts of `watch` that are there. A part that came after later ones has them all read anew.
    [[nodiscard]] Result<reports::WatchedObjects> read(ObjectStore& store, const ObjectWatch& watch);

  private:
    struct Kept {
        std::string id;
        std::mutex mutex;  // of what follows
        reports::WatchedObjects objects;
        std::uint32_t last_part = 0;
        std::uint64_t bytes = 0;  // of lines
        std::uint64_t gone = 0;   // parts that had come and were not there any more when all were read
    };
    [[nodiscard]] std::shared_ptr<Kept> kept_of(const std::string& id);
    static Status read_on(ObjectStore& store, Kept& kept);

    const std::uint64_t lines_limit_bytes_;
    std::mutex mutex_;
    std::list<std::shared_ptr<Kept>> kept_;  // the one asked for last at the front
};

}  // namespace lagtrap::server
