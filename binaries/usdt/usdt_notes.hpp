// Reads USDT probes, as described by SystemTap's sys/sdt.h and libbpf's usdt.h, from notes of
// section .note.stapsdt: https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation
#pragma once

#include <vector>

#include "binaries/elf/elf_image.hpp"
#include "binaries/elf/program_file.hpp"

namespace lagtrap::binaries {

inline constexpr std::size_t max_usdt_probes = 100'000;

// All USDT sites, in the order of the notes. ErrorKind::Invalid if a note is damaged, TooLarge for
// more than max_usdt_probes or a note of more than 64 KiB.
[[nodiscard]] Result<std::vector<UsdtProbe>> read_usdt_probes(const ElfImage& image);

}  // namespace lagtrap::binaries
