// Objects of running programs as machines send them: watches, and the parts of each, for as long as somebody may follow them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

// Of the newest parts of a watch so many bytes are kept, beside the first part, which says what the others speak of; of all
// watches together so many, the oldest go first. All of a watch goes some days after its last part.
inline constexpr std::uint64_t object_watch_limit_bytes = 16ULL << 20;
inline constexpr std::uint64_t object_watches_limit_bytes = 256ULL << 20;
inline constexpr std::uint64_t object_watches_limit = 1000;

struct ObjectWatch {
    std::string id;  // a UUID
    std::string host, process;
    std::uint32_t pid = 0;
    std::uint64_t first_realtime_ns = 0, last_realtime_ns = 0;  // when the first and the last part came that did
    std::uint32_t parts = 0;                                    // number of the last one
    bool ended = false;
};

struct StoredObjectsPart {
    std::uint32_t number = 0;
    std::uint64_t lost_lines = 0;  // before it
    bool last = false;
    std::string lines;
};

// As for RunStore, which takes the parts in (add_batch).
class ObjectStore {
  public:
    ObjectStore() = default;
    ObjectStore(const ObjectStore&) = delete;
    ObjectStore& operator=(const ObjectStore&) = delete;
    virtual ~ObjectStore() = default;

    // The one with the newest part first, at most `limit`.
    [[nodiscard]] virtual Result<std::vector<ObjectWatch>> object_watches(std::uint32_t limit) = 0;
    // Those with higher numbers than `after`, in order, of some `limit_bytes` together but at least one.
    [[nodiscard]] virtual Result<std::vector<StoredObjectsPart>> objects_parts(const std::string& watch,
                                                                               std::uint32_t after,
                                                                               std::uint64_t limit_bytes) = 0;
};

}  // namespace lagtrap::server
