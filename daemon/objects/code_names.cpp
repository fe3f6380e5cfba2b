#include "daemon/objects/code_names.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "core/text.hpp"

namespace lagtrap::daemon {

std::string CodeNames::name_of(std::uint64_t address) {
    const auto place = code_.place_at(address);
    return place ? name_in(place->file, place->offset) : std::string();
}

std::string CodeNames::name_in(std::uint32_t file, std::uint64_t offset) {
    auto [known, is_new] = symbols_.try_emplace(file);
    if (is_new)
        if (const auto program = code_.program(file))
            if (auto functions = (*program)->functions()) known->second = std::move(*functions);
    const binaries::Function* best = nullptr;
    for (const binaries::Function& one : known->second)
        if (one.file_offset <= offset &&
            offset - one.file_offset < std::max<std::uint64_t>(one.size, 1))
            best = &one;
    const std::string where = printable(code_.name_of(file));
    if (best == nullptr) return fmt::format("{}+0x{:x}", where, offset);
    return fmt::format("{} ({})", printable(binaries::demangle_without_parameters(best->name)),
                       where);
}

}  // namespace lagtrap::daemon
