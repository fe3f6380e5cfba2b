// Stores reports of objects in running programs: watches and their parts, for as long as somebody
// may follow them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::server {

class SqlSession;

// Limits of stored bytes: of the newest parts of a watch (its first part, which the others refer
// to, is always kept), and of all watches together, where the oldest are removed first. A watch is
// removed a few days after its last part.
inline constexpr std::uint64_t object_watch_limit_bytes = 16ULL << 20;

inline constexpr std::uint64_t object_watches_limit_bytes = 256ULL << 20;
inline constexpr std::uint64_t object_watches_limit = 1000;
struct ObjectWatch {
    std::string id;  // a UUID
    std::string host, process;
    std::uint32_t pid = 0;
    // when the first and last received parts arrived
    std::uint64_t first_realtime_ns = 0, last_realtime_ns = 0;
    std::uint32_t parts = 0;  // number of the last one
    bool ended = false;
    std::optional<std::uint64_t> began_realtime_ns;  // nullopt: the first part has not arrived
    std::vector<std::string> classes;                // some of them
    std::uint64_t class_count = 0;                   // all of them
    // Sums over the parts received; nullopt if the watch is older than these counters.
    std::optional<std::uint64_t> calls, failures, lost_lines, received_parts;
    std::uint64_t not_reported = 0;  // calls that were only counted; known at its end
};

struct StoredObjectsPart {
    std::uint32_t number = 0;
    std::uint64_t lost_lines = 0;  // before this part
    bool last = false;
    std::string lines;
};

// The rules of Store apply. BatchStore::add_batch() adds the parts.
class ObjectStore {
  public:
    explicit ObjectStore(SqlSession& session) : session_(&session) {}

    // Most recently updated first, at most `limit`.
    [[nodiscard]] Result<std::vector<ObjectWatch>> object_watches(std::uint32_t limit) const;
    // nullopt if it does not exist or has been removed.
    [[nodiscard]] Result<std::optional<ObjectWatch>> object_watch(const std::string& id) const;
    // Parts with numbers above `after`, in order; about `limit_bytes` together, but at least one.
    [[nodiscard]] Result<std::vector<StoredObjectsPart>> objects_parts(
        const std::string& watch, std::uint32_t after, std::uint64_t limit_bytes) const;

  private:
    SqlSession* session_;
};

}  // namespace lagtrap::server
