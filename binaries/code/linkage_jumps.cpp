#include "binaries/code/linkage_jumps.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace lagtrap::binaries {
namespace {

constexpr std::size_t smallest_entry_bytes = 8;

bool is_linkage_table(const ElfSection& section) {
    constexpr std::array<std::string_view, 4> names{".plt", ".plt.sec", ".plt.got", ".iplt"};
    return section.type == SHT_PROGBITS && (section.flags & SHF_EXECINSTR) != 0 &&
           std::find(names.begin(), names.end(), section.name) != names.end();
}

// The size of the jump at the start of `code`; 0 if there is none.
std::size_t jump_bytes(std::string_view code) {
    constexpr std::string_view end_branch = "\xf3\x0f\x1e\xfa", bounds_prefix = "\xf2",
                               jump_code = "\xff\x25";
    constexpr std::size_t displacement_bytes = 4;
    std::size_t bytes = 0;
    for (const std::string_view optional : {end_branch, bounds_prefix})
        if (code.substr(bytes).starts_with(optional)) bytes += optional.size();
    if (!code.substr(bytes).starts_with(jump_code)) return 0;
    bytes += jump_code.size() + displacement_bytes;
    return bytes <= code.size() ? bytes : 0;
}

}  // namespace

std::vector<LinkageJump> read_linkage_jumps(const ElfImage& image) {
    std::vector<LinkageJump> jumps;
    for (const ElfSection& section : image.sections()) {
        std::uint64_t section_end = 0;
        if (!is_linkage_table(section) ||
            __builtin_add_overflow(section.address, section.size, &section_end))
            continue;
        const auto code = image.read(section, max_linkage_bytes);
        if (!code) continue;
        for (std::size_t place = 0; place < code->size(); place += smallest_entry_bytes) {
            const std::size_t bytes = jump_bytes(std::string_view(*code).substr(place));
            if (bytes != 0)
                jumps.push_back({section.address + place, section.address + place + bytes});
        }
    }
    std::sort(jumps.begin(), jumps.end(),
              [](const auto& a, const auto& b) { return a.begin < b.begin; });
    // An entry may be longer than the step, and sections of a hostile file may overlap.
    std::uint64_t end = 0;
    std::erase_if(jumps, [&end](const LinkageJump& jump) {
        if (jump.begin < end) return true;
        end = jump.end;
        return false;
    });
    return jumps;
}

}  // namespace lagtrap::binaries
