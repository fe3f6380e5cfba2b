// The filter of queries to the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::server {

// Members that are unset or empty do not limit. The event must be equal; a list matches if any of
// its names does. In a name, '*' stands for any text: "fra-*".
struct Filter {
    std::optional<std::string> event;
    // Begin of the run or delay: from_ns <= begin < to_ns, nanoseconds since 1970.
    std::optional<std::uint64_t> from_ns;
    std::optional<std::uint64_t> to_ns;
    std::vector<std::string> host;
    std::vector<std::string> user;
    std::vector<std::string> build;  // build ids of the executable
    std::vector<std::string> process;
    std::vector<std::string> unit;  // systemd units or containers, as runs name them
    std::optional<trace::StartKind> start;
    bool with_dirty = false;  // include hidden runs
    bool only_dirty = false;  // only hidden runs; needs with_dirty
    // only runs whose duration does not clearly differ from the others'
    bool without_outliers = false;
};

// The end of a list's page, to request the next one. Opaque except for its order.
struct PageKey {
    std::uint64_t value = 0;  // value of the sort column
    std::uint64_t id = 0;

    bool operator==(const PageKey&) const = default;
};

}  // namespace lagtrap::server
