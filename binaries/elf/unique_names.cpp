#include "binaries/elf/unique_names.hpp"

#include <utility>

#include "binaries/elf/name_finder.hpp"

namespace lagtrap::binaries {

UniqueNames::UniqueNames(const std::vector<Function>& functions) {
    for (const Function& function : functions) {
        for (std::string& name : all_names_of(function.name)) {
            const auto [entry, added] =
                owners_.try_emplace(std::move(name), Owner{function.address, true});
            if (!added && entry->second.address != function.address) entry->second.alone = false;
        }
    }
}

bool UniqueNames::is_unique(const std::string& name) const {
    const auto owner = owners_.find(name);
    return owner != owners_.end() && owner->second.alone;
}

std::optional<std::string> UniqueNames::name_of(const Function& function) const {
    const std::string plain = function.name.substr(0, function.name.find('@'));
    const std::string demangled = demangle(function.name);
    for (const std::string& name :
         {demangled == function.name ? plain : demangled, plain, function.name})
        if (is_unique(name)) return name;
    return std::nullopt;
}

}  // namespace lagtrap::binaries
