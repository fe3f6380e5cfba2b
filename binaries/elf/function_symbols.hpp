// Function symbols of one ELF file, of all the places where they lie. Used by the other files of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "binaries/elf/byte_budget.hpp"
#include "binaries/elf/elf_image.hpp"

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

// The same, table by table, in half the memory: names are left where they lie.
struct FunctionTable {
    struct Function {
        std::uint64_t address = 0;  // as linked
        std::uint64_t size = 0;     // 0: not known
        std::uint32_t name_offset = 0;
        std::uint32_t name_bytes = 0;
        SymbolBinding binding = SymbolBinding::Local;
        bool indirect = false;
    };

    std::string names;  // the string table
    std::vector<Function> functions;
    bool dynamic = false;

    [[nodiscard]] std::string_view name_of(const Function& function) const {
        return std::string_view(names).substr(function.name_offset, function.name_bytes);
    }
};

// What the tables take is taken off the budget, and checked while they are read: ErrorKind::TooLarge. Other errors as
// function_symbols.
[[nodiscard]] Result<std::vector<FunctionTable>> read_function_tables(const ElfImage& image, ByteBudget& budget);

// The ELF file inside .gnu_debugdata (xz), as Fedora's and others' stripped programs carry it:
// https://sourceware.org/gdb/current/onlinedocs/gdb.html/MiniDebugInfo.html
// ErrorKind::NotFound where there is none, Invalid (not xz, damaged), TooLarge beyond `limit_bytes` unpacked.
inline constexpr std::uint64_t max_mini_debug_bytes = 256ULL << 20;
[[nodiscard]] Result<ElfImage> mini_debug_image(const ElfImage& image,
                                                std::uint64_t limit_bytes = max_mini_debug_bytes);

}  // namespace lagtrap::binaries
