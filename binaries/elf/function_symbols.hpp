// Reads the function symbols of an ELF file from all its symbol tables. Internal to binaries/.
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
    std::uint64_t size = 0;     // 0 if unknown
    SymbolBinding binding = SymbolBinding::Local;
    bool dynamic = false;   // from .dynsym
    bool indirect = false;  // STT_GNU_IFUNC: `address` is the resolver's
};

// Defined functions of .symtab, .dynsym and the .symtab inside .gnu_debugdata, unsorted, with
// duplicates. ErrorKind::Invalid if a table is damaged, TooLarge for more than 4 million symbols in
// total.
[[nodiscard]] Result<std::vector<FunctionSymbol>> function_symbols(const ElfImage& image);

// The same, table by table, in half the memory: names stay in the string table.
struct FunctionTable {
    struct Function {
        std::uint64_t address = 0;  // as linked
        std::uint64_t size = 0;     // 0 if unknown
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

// Takes the tables' memory from the budget while reading; ErrorKind::TooLarge if it is exceeded.
// Other errors as function_symbols().
[[nodiscard]] Result<std::vector<FunctionTable>> read_function_tables(const ElfImage& image,
                                                                      ByteBudget& budget);

// The ELF file inside .gnu_debugdata (xz), which stripped programs of Fedora and others contain:
// https://sourceware.org/gdb/current/onlinedocs/gdb.html/MiniDebugInfo.html
// ErrorKind::NotFound if there is none, Invalid if it is not xz or damaged, TooLarge if it unpacks
// to more than `limit_bytes`.
inline constexpr std::uint64_t max_mini_debug_bytes = 256ULL << 20;
[[nodiscard]] Result<ElfImage> mini_debug_image(const ElfImage& image,
                                                std::uint64_t limit_bytes = max_mini_debug_bytes);

}  // namespace lagtrap::binaries
