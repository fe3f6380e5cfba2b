// What a part of a watch of objects tells in figures, for the list of watches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lagtrap::server {

// Names of classes (or rules) that are kept of a watch.
inline constexpr std::size_t watch_classes_limit = 20;

struct ObjectFigures {
    std::optional<std::uint64_t> began_realtime_ns;  // of a part with the first line
    std::string classes;                             // of the same: at most watch_classes_limit, a line each
    std::uint64_t class_count = 0;                   // of the same: all of them
    std::uint64_t calls = 0;                         // that the part tells one by one
    std::uint64_t failures = 0;                      // since the watch began, as the part says it last; 0: it does not
    std::uint64_t not_told = 0;                      // calls that were only counted, of a part with the last line
};

// Of lines as ObjectsPart has them. Those that cannot be read count nothing.
[[nodiscard]] ObjectFigures figures_of_objects(std::string_view lines);

}  // namespace lagtrap::server
