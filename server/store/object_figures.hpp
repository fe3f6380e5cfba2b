// Figures of a part of an object watch, for the list of watches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lagtrap::server {

// Names of classes (or rules) kept per watch.
inline constexpr std::size_t watch_classes_limit = 20;

struct ObjectFigures {
    std::optional<std::uint64_t> began_realtime_ns;  // if the part has the first line
    // from the first line: at most watch_classes_limit, one per line
    std::string classes;
    // from the first line: the number of all classes
    std::uint64_t class_count = 0;
    std::uint64_t calls = 0;  // that the part lists individually
    // since the watch began, the part's last value; 0: none given
    std::uint64_t failures = 0;
    // calls that were only counted, if the part has the last line
    std::uint64_t not_reported = 0;
};

// Reads the lines of an ObjectsPart. Ignores lines that cannot be read.
[[nodiscard]] ObjectFigures figures_of_objects(std::string_view lines);

}  // namespace lagtrap::server
