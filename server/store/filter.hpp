// What a question to the store is about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/store/sight.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::server {

// What is not set does not limit. Texts are compared whole.
struct Filter {
    std::optional<std::string> event;
    // Begin of the run or delay: from_ns <= begin < to_ns, nanoseconds since 1970.
    std::optional<std::uint64_t> from_ns;
    std::optional<std::uint64_t> to_ns;
    std::optional<std::string> host;
    std::optional<std::string> user;
    std::optional<std::string> build;  // build id of the executable
    std::optional<std::string> process;
    std::optional<std::string> unit;  // of systemd, or container, as a run names it
    std::optional<trace::StartKind> start;
    bool with_dirty = false;        // hidden runs too
    bool without_outliers = false;  // only runs whose duration does not differ plainly from the others'
    SightRef sight;                 // of whoever asks
};

// Where a page of a list ends: what the next page is asked with. Opaque but for its order.
struct PageKey {
    std::uint64_t value = 0;  // what the list is sorted by
    std::uint64_t id = 0;

    bool operator==(const PageKey&) const = default;
};

}  // namespace lagtrap::server
