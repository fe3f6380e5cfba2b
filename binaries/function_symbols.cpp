#include "binaries/function_symbols.hpp"

#include <elf.h>

namespace lagtrap::binaries {
namespace {

// Longer names are cut: no compiler's are, and overlapping strings in a hostile file would multiply.
constexpr std::size_t kMaxNameBytes = 16'384;
constexpr std::uint64_t kMaxNamesBytes = 1ULL << 30;

SymbolBinding binding_of(unsigned char info) {
    switch (ELF64_ST_BIND(info)) {
        case STB_LOCAL: return SymbolBinding::Local;
        case STB_WEAK: return SymbolBinding::Weak;
        default: return SymbolBinding::Global;
    }
}

bool is_defined_function(const Elf64_Sym& symbol) {
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0;
}

// Counts over all tables of a file.
struct Totals {
    std::uint64_t symbols = 0;
    std::uint64_t name_bytes = 0;
};

Status read_table(const ElfImage& image, const ElfSection& table, Totals& totals, std::vector<FunctionSymbol>& out) {
    if (table.link >= image.sections().size())
        return make_error(ErrorKind::Invalid, image.name() + ": damaged ELF file: " + table.name +
                                                  " names a string table that is not there");
    totals.symbols += table.size / sizeof(Elf64_Sym);
    if (totals.symbols > kMaxSymbols)
        return make_error(ErrorKind::TooLarge, image.name() + ": has " + std::to_string(totals.symbols) +
                                                   " symbols; at most " + std::to_string(kMaxSymbols) + " are read");
    TRY_ASSIGN(const std::string symbols, image.read(table, kMaxSymbols * sizeof(Elf64_Sym)));
    TRY_ASSIGN(const std::string names, image.read(image.sections()[table.link], kMaxStringTableBytes));
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
        const auto raw = number_at<Elf64_Sym>(symbols, at);
        if (!is_defined_function(raw)) continue;
        const std::string_view name = text_at(names, raw.st_name).substr(0, kMaxNameBytes);
        if (name.empty()) continue;
        totals.name_bytes += name.size();
        if (totals.name_bytes > kMaxNamesBytes)
            return make_error(ErrorKind::TooLarge, image.name() + ": symbol names of more than 1 GiB");
        out.push_back(FunctionSymbol{std::string(name), raw.st_value, raw.st_size, binding_of(raw.st_info),
                                     table.type == SHT_DYNSYM, ELF64_ST_TYPE(raw.st_info) == STT_GNU_IFUNC});
    }
    return success();
}

Status read_tables(const ElfImage& image, Totals& totals, std::vector<FunctionSymbol>& out) {
    for (const auto& section : image.sections())
        if (section.type == SHT_SYMTAB || section.type == SHT_DYNSYM) TRY(read_table(image, section, totals, out));
    return success();
}

}  // namespace

Result<std::vector<FunctionSymbol>> function_symbols(const ElfImage& image) {
    Totals totals;
    std::vector<FunctionSymbol> found;
    TRY(read_tables(image, totals, found));
    auto inner = mini_debug_image(image);
    if (inner) {
        TRY(read_tables(*inner, totals, found));
    } else if (inner.error().kind != ErrorKind::NotFound) {
        return inner.error();
    }
    return found;
}

}  // namespace lagtrap::binaries
