// What a question to the store is about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/store/sight.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::server {

// What is not set, or is empty, does not limit. Texts are compared whole; of several in a list any one fits.
struct Filter {
    std::optional<std::string> event;
    // Begin of the run or delay: from_ns <= begin < to_ns, nanoseconds since 1970.
    std::optional<std::uint64_t> from_ns;
    std::optional<std::uint64_t> to_ns;
    std::vector<std::string> host;
    std::vector<std::string> user;
    std::vector<std::string> build;  // build ids of the executable
    std::vector<std::string> process;
    std::vector<std::string> unit;  // of systemd, or containers, as a run names them
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
