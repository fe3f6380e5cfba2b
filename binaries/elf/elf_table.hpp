// Reads tables of an ELF file in pieces. Internal to binaries/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "binaries/elf/elf_image.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

// Calls visit(entry, number) for each entry of a table until it returns false. ErrorKind::TooLarge
// beyond `limit` entries, Invalid if the file is damaged.
template <typename Entry, typename Visit>
Status for_each_entry(const ElfImage& image, const ElfSection& section, std::uint64_t limit,
                      Visit&& visit) {
    constexpr std::uint64_t piece_entries = 64 << 10;
    const std::uint64_t count = section.size / sizeof(Entry);
    if (count > limit)
        return make_error(ErrorKind::TooLarge,
                          image.name() + ": " + section.name + " has too many entries");
    for (std::uint64_t first = 0; first < count; first += piece_entries) {
        const std::uint64_t bytes = std::min(piece_entries, count - first) * sizeof(Entry);
        TRY_ASSIGN(const std::string piece,
                   image.read(section.offset + first * sizeof(Entry), bytes, bytes));
        for (std::uint64_t i = 0; i * sizeof(Entry) < piece.size(); ++i)
            if (!visit(number_at<Entry>(piece, i * sizeof(Entry)), first + i)) return success();
    }
    return success();
}

}  // namespace lagtrap::binaries
