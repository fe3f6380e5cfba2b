// Function symbols of one ELF file, of all the places where they lie. Used by the other files of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "binaries/elf_image.hpp"

namespace lagtrap::binaries {

enum class SymbolBinding : std::uint8_t { Local, Weak, Global };

struct FunctionSymbol {
    std::string name;
    std::uint64_t address = 0;  // as linked
    std::uint64_t size = 0;     // 0: not known
    SymbolBinding binding = SymbolBinding::Local;
    bool dynamic = false;   // from .dynsym
    bool indirect = false;  // STT_GNU_IFUNC: the address is that of the resolver
};

// Defined functions of .symtab, .dynsym and the .symtab inside .gnu_debugdata, in no order, with repetitions.
// ErrorKind::Invalid where a table is damaged, TooLarge beyond 4 million symbols in all.
[[nodiscard]] Result<std::vector<FunctionSymbol>> function_symbols(const ElfImage& image);

// The ELF file inside .gnu_debugdata (xz), as Fedora's and others' stripped programs carry it:
// https://sourceware.org/gdb/current/onlinedocs/gdb.html/MiniDebugInfo.html
// ErrorKind::NotFound where there is none, Invalid (not xz, damaged), TooLarge beyond 256 MiB unpacked.
[[nodiscard]] Result<ElfImage> mini_debug_image(const ElfImage& image);

}  // namespace lagtrap::binaries
