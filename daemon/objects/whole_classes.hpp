// Which functions leave an object trace together.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "calls/object_stream.hpp"

namespace lagtrap::daemon {

// Adds to `numbers` the other functions that create or release objects of the same classes: without
// all of these, a class would be counted wrongly. `functions` are those whose objects are counted,
// by number.
[[nodiscard]] inline std::set<std::uint32_t> with_whole_classes(
    std::set<std::uint32_t> numbers, const std::vector<calls::ObjectFunction>& functions,
    std::size_t count) {
    std::set<std::uint32_t> classes;
    const auto is_counted = [&](std::uint32_t number) {
        return number < count && functions[number].role != calls::ObjectRole::Use;
    };
    for (const std::uint32_t number : numbers)
        if (is_counted(number)) classes.insert(functions[number].class_number);
    for (std::uint32_t number = 0; number < count; ++number)
        if (is_counted(number) && classes.contains(functions[number].class_number))
            numbers.insert(number);
    return numbers;
}

}  // namespace lagtrap::daemon
