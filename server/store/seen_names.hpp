// Between when and when hosts, users, builds, processes and units were seen with an event: the table `seen`, from which pages
// offer filters.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "server/store/connection.hpp"
#include "server/store/labels.hpp"

namespace lagtrap::server {

using SeenKey = std::tuple<std::uint32_t, LabelKind, std::uint32_t>;  // event, what, label
struct SeenSpan {
    std::uint64_t first_ns = UINT64_MAX, last_ns = 0;
};
using SeenNames = std::map<SeenKey, SeenSpan>;

void add_seen(SeenNames& seen, const SeenKey& key, std::uint64_t at_ns);
// Widens what the rows say; in the order of the keys, so that two servers cannot wait for each other crosswise.
[[nodiscard]] Status write_seen(Connection& connection, const SeenNames& seen);

}  // namespace lagtrap::server
