#include "daemon/kernel/own_code.hpp"

#include <link.h>

namespace lagtrap::daemon {
namespace {

struct Place {
    std::uintptr_t address = 0;
    std::optional<std::uint64_t> offset;
};

}  // namespace

std::optional<std::uint64_t> own_file_offset(void (*function)()) {
    Place place{reinterpret_cast<std::uintptr_t>(function), {}};
    const auto look = [](dl_phdr_info* object, std::size_t, void* wanted) {
        auto& found = *static_cast<Place*>(wanted);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
            const ElfW(Phdr)& part = object->dlpi_phdr[i];
            const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
            if (part.p_type == PT_LOAD && found.address >= begin &&
                found.address - begin < part.p_filesz)
                found.offset = found.address - begin + part.p_offset;
        }
        return 1;  // the first object is the program itself
    };
    ::dl_iterate_phdr(look, &place);
    return place.offset;
}

}  // namespace lagtrap::daemon
