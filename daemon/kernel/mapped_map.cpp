#include "daemon/kernel/mapped_map.hpp"

#include <sys/mman.h>

#include <string>

namespace lagtrap::daemon {

MappedMap::~MappedMap() {
    if (at != nullptr) ::munmap(at, bytes);
}

Result<MappedMap> MappedMap::map(int map, std::size_t value_bytes, std::size_t values,
                                 const char* what) {
    MappedMap mapped;
    mapped.bytes = value_bytes * values;
    void* const at = ::mmap(nullptr, mapped.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
    if (at == MAP_FAILED) return system_error(std::string("map ") + what);
    mapped.at = at;
    return mapped;
}

}  // namespace lagtrap::daemon
