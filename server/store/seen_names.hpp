// The table `seen`: when each host, user, build, process and unit was first and last seen with an
// event. Pages offer filters from it.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "server/store/connection.hpp"
#include "server/store/labels.hpp"

namespace lagtrap::server {

using SeenKey = std::tuple<std::uint32_t, LabelKind, std::uint32_t>;  // event, kind, label
struct SeenSpan {
    std::uint64_t first_ns = UINT64_MAX, last_ns = 0;
};
using SeenNames = std::map<SeenKey, SeenSpan>;

void add_seen(SeenNames& seen, const SeenKey& key, std::uint64_t at_ns);
// Extends the time spans of the rows, in the order of their keys, so that two servers cannot
// deadlock.
[[nodiscard]] Status write_seen(Connection& connection, const SeenNames& seen);

}  // namespace lagtrap::server
