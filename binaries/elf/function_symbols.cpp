#include "binaries/elf/function_symbols.hpp"

#include <elf.h>

#include <algorithm>
#include <limits>

namespace lagtrap::binaries {
namespace {

// Longer names are cut: compilers do not produce them, and overlapping strings of a hostile file
// would multiply.
constexpr std::size_t max_symbol_bytes = 16'384;
constexpr std::uint64_t max_names_bytes = 1ULL << 30;
// Symbols are read in pieces of this many.
constexpr std::uint64_t piece_symbols = 64 << 10;

SymbolBinding binding_of(unsigned char info) {
    switch (ELF64_ST_BIND(info)) {
        case STB_LOCAL: return SymbolBinding::Local;
        case STB_WEAK: return SymbolBinding::Weak;
        default: return SymbolBinding::Global;
    }
}

bool is_defined_function(const Elf64_Sym& symbol) {
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF &&
           symbol.st_value != 0;
}

std::uint32_t name_bytes_at(std::string_view names, std::uint64_t offset) {
    if (offset >= names.size()) return 0;
    const std::string_view rest = names.substr(offset, max_symbol_bytes + 1);
    const std::size_t end = rest.find('\0');
    // A name cut off by the end of the table is invalid.
    if (end == std::string_view::npos && offset + rest.size() == names.size()) return 0;
    return static_cast<std::uint32_t>(std::min(end, max_symbol_bytes));
}

Error too_large(const ElfImage& image, const std::string& what) {
    return make_error(ErrorKind::TooLarge, image.name() + ": " + what);
}

Error over_budget(const ElfImage& image) {
    return too_large(image, "its symbols take more memory than allowed");
}

Status read_functions(const ElfImage& image, const ElfSection& section, ByteBudget& budget,
                      FunctionTable& table) {
    const std::uint64_t count = section.size / sizeof(Elf64_Sym);
    for (std::uint64_t first = 0; first < count; first += piece_symbols) {
        const std::uint64_t bytes = std::min(piece_symbols, count - first) * sizeof(Elf64_Sym);
        TRY_ASSIGN(const std::string symbols,
                   image.read(section.offset + first * sizeof(Elf64_Sym), bytes, bytes));
        for (std::size_t at = 0; at < symbols.size(); at += sizeof(Elf64_Sym)) {
            const auto raw = number_at<Elf64_Sym>(symbols, at);
            if (!is_defined_function(raw)) continue;
            const std::uint32_t name_bytes = name_bytes_at(table.names, raw.st_name);
            if (name_bytes == 0) continue;
            // A growing vector briefly holds its old content too.
            if (!budget.take(2 * sizeof(FunctionTable::Function))) return over_budget(image);
            table.functions.push_back(FunctionTable::Function{
                raw.st_value, raw.st_size, raw.st_name, name_bytes, binding_of(raw.st_info),
                ELF64_ST_TYPE(raw.st_info) == STT_GNU_IFUNC});
        }
    }
    return success();
}

Status read_tables(const ElfImage& image, std::uint64_t& symbols, ByteBudget& budget,
                   std::vector<FunctionTable>& tables) {
    for (const auto& section : image.sections()) {
        if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
        if (section.link >= image.sections().size())
            return make_error(ErrorKind::Invalid, image.name() +
                                                      ": damaged ELF file: " + section.name +
                                                      " names a missing string table");
        symbols += section.size / sizeof(Elf64_Sym);
        if (symbols > max_symbols)
            return too_large(image, "has " + std::to_string(symbols) + " symbols; at most " +
                                        std::to_string(max_symbols) + " are read");
        const ElfSection& names = image.sections()[section.link];
        if (!budget.take(names.size)) return over_budget(image);
        FunctionTable table;
        TRY_ASSIGN(table.names, image.read(names, max_string_table_bytes));
        table.dynamic = section.type == SHT_DYNSYM;
        TRY(read_functions(image, section, budget, table));
        tables.push_back(std::move(table));
    }
    return success();
}

}  // namespace

Result<std::vector<FunctionTable>> read_function_tables(const ElfImage& image, ByteBudget& budget) {
    std::uint64_t symbols = 0;
    std::vector<FunctionTable> tables;
    TRY(read_tables(image, symbols, budget, tables));
    auto inner = mini_debug_image(image, std::min(max_mini_debug_bytes, budget.left()));
    if (inner) {
        // The unpacked file is in memory while its tables are copied.
        const std::uint64_t unpacked_bytes = inner->size_bytes();
        if (!budget.take(unpacked_bytes)) return over_budget(image);
        TRY(read_tables(*inner, symbols, budget, tables));
        budget.give_back(unpacked_bytes);
    } else if (inner.error().kind != ErrorKind::NotFound) {
        return inner.error();
    }
    return tables;
}

Result<std::vector<FunctionSymbol>> function_symbols(const ElfImage& image) {
    ByteBudget budget(std::numeric_limits<std::uint64_t>::max());
    TRY_ASSIGN(const std::vector<FunctionTable> tables, read_function_tables(image, budget));
    std::uint64_t name_bytes = 0;
    std::vector<FunctionSymbol> found;
    for (const auto& table : tables) {
        for (const auto& function : table.functions) {
            name_bytes += function.name_bytes;
            if (name_bytes > max_names_bytes)
                return too_large(image, "symbol names of more than 1 GiB");
            found.push_back(FunctionSymbol{std::string(table.name_of(function)), function.address,
                                           function.size, function.binding, table.dynamic,
                                           function.indirect});
        }
    }
    return found;
}

}  // namespace lagtrap::binaries
