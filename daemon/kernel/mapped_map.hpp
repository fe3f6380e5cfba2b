// A BPF map that is mapped into this process.
#pragma once

#include <cstddef>
#include <utility>

#include "core/result.hpp"

namespace lagtrap::daemon {

struct MappedMap {
    void* at = nullptr;
    std::size_t bytes = 0;

    // Maps an array of `values` elements of `value_bytes` each. Errors contain `what`.
    [[nodiscard]] static Result<MappedMap> map(int map, std::size_t value_bytes, std::size_t values,
                                               const char* what);
    MappedMap() = default;
    MappedMap(MappedMap&& other) noexcept
        : at(std::exchange(other.at, nullptr)), bytes(other.bytes) {}
    MappedMap& operator=(MappedMap&& other) noexcept {
        std::swap(at, other.at);
        std::swap(bytes, other.bytes);
        return *this;
    }
    ~MappedMap();
};

}  // namespace lagtrap::daemon
