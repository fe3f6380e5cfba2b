// Objects of running programs as machines send them: watches, and the parts of each, for as long as somebody may follow them.
#pragma once

#include <cstdint>
#include <optional>
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
    std::optional<std::uint64_t> began_realtime_ns;  // nothing: the first part has not come
    std::vector<std::string> classes;                // names of some
    std::uint64_t class_count = 0;                   // all of them
    // Of parts that came; nothing: it began before the server counted.
    std::optional<std::uint64_t> calls, failures, lost_lines, received_parts;
    std::uint64_t not_told = 0;  // calls that were only counted; known at its end
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
    // Nothing: there is none, or none any more.
    [[nodiscard]] virtual Result<std::optional<ObjectWatch>> object_watch(const std::string& id) = 0;
    // Those with higher numbers than `after`, in order, of some `limit_bytes` together but at least one.
    [[nodiscard]] virtual Result<std::vector<StoredObjectsPart>> objects_parts(const std::string& watch,
                                                                               std::uint32_t after,
                                                                               std::uint64_t limit_bytes) = 0;
};

}  // namespace lagtrap::server
