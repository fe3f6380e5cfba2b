#include "trace/names/file_symbols.hpp"

#include <sys/stat.h>

#include <string>

#include "sandbox/foreign_file.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::size_t functions_limit = 64;

Error over_budget(const std::filesystem::path& path) {
    return make_error(ErrorKind::TooLarge,
                      path.string() + ": is beyond what may be read for names");
}

}  // namespace

Result<binaries::SymbolTable> load_symbols(const std::filesystem::path& program,
                                           const binaries::DebugFileSearch& search,
                                           NamingBudget& budget) {
    if (!budget.take_bytes(0)) return over_budget(program);
    TRY_ASSIGN(binaries::SymbolTable table,
               binaries::SymbolTable::of_file(program, search, budget.limits().symbol_table_bytes));
    // What was read is about as much as what is kept. A table beyond the limit exists now, but is
    // the last.
    budget.spend_bytes(table.memory_bytes());
    return table;
}

Result<binaries::SourceLines> load_lines(const std::filesystem::path& program,
                                         const std::filesystem::path& debug_file,
                                         const binaries::DebugInfoLimits& limits,
                                         NamingBudget& budget) {
    TRY_ASSIGN(const UniqueFd file, open_regular_file(debug_file));
    struct stat facts {};
    if (::fstat(file.get(), &facts) != 0) return system_error(debug_file.string());
    const auto bytes = static_cast<std::uint64_t>(facts.st_size);
    if (!budget.take_bytes(bytes)) return over_budget(debug_file);
    return binaries::SourceLines::open(program, debug_file, limits);
}

void take_symbol(std::vector<binaries::SourceFrame>& functions, std::string_view symbol) {
    if (functions.size() > functions_limit)
        functions.erase(functions.begin() + functions_limit - 1, functions.end() - 1);
    if (functions.empty() || symbol.empty()) return;
    std::string& outermost = functions.back().function;
    const bool split_off = symbol.find('.') != std::string_view::npos;
    if (outermost.empty() || !split_off) outermost = symbol;
}

}  // namespace lagtrap::trace
