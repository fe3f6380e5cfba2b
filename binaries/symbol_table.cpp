#include "binaries/symbol_table.hpp"

#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <tuple>

#include "binaries/elf_image.hpp"
#include "binaries/function_symbols.hpp"
#include "binaries/program_file.hpp"
#include "core/files.hpp"

namespace lagtrap::binaries {

struct SymbolTable::Candidate {
    std::string name;
    std::uint64_t start = 0;
    std::uint64_t end = 0;    // 0: not known
    std::uint64_t limit = 0;  // where it ends at the latest: its segment's end
    SymbolBinding binding = SymbolBinding::Local;
};

namespace {

constexpr std::uint64_t kMaxKallsymsBytes = 128ULL << 20;
// A kernel symbol without a follower nearby (the last of a module) covers no more than this.
constexpr std::uint64_t kMaxKernelFunctionBytes = 1ULL << 20;
constexpr std::uint64_t kMaxNamesBytes = std::numeric_limits<std::uint32_t>::max();

std::size_t leading_underscores(std::string_view name) {
    if (name.starts_with("_Z") || name.starts_with("_R")) return 0;
    return std::min(name.find_first_not_of('_'), name.size());
}

// File offset of an address in code; and the offset at which the code's segment ends.
std::optional<std::pair<std::uint64_t, std::uint64_t>> code_offset(const ElfImage& image, std::uint64_t address) {
    for (const auto& segment : image.segments()) {
        if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
        if (address < segment.address || address - segment.address >= segment.file_bytes) continue;
        return std::pair{segment.offset + (address - segment.address), segment.offset + segment.file_bytes};
    }
    return std::nullopt;
}

// Symbols of the separate debug file; none where there is no file that fits.
std::vector<FunctionSymbol> separate_symbols(const std::string& build_id, const std::filesystem::path& root) {
    if (build_id.size() < 4) return {};
    const auto path = root / ".build-id" / build_id.substr(0, 2) / (build_id.substr(2) + ".debug");
    auto fd = open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!fd) return {};
    const auto image = ElfImage::from_file(std::move(fd).value(), path.string());
    if (!image || image->build_id() != build_id) return {};
    auto symbols = function_symbols(*image);
    return symbols ? std::move(symbols).value() : std::vector<FunctionSymbol>{};
}

// Takes the text up to `separator` off the front of `rest`.
std::string_view take(std::string_view& rest, char separator) {
    const std::size_t end = rest.find(separator);
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return text;
}

struct KernelSymbol {
    std::uint64_t address = 0;
    char type = 0;
    std::string name;
};

// "ffffffff81000000 T _text" or "ffffffffc0001000 t init\t[ext4]"; nullopt: not such a line.
std::optional<KernelSymbol> parse_kernel_symbol(std::string_view line) {
    KernelSymbol symbol;
    const std::string_view address = take(line, ' ');
    const auto parsed = std::from_chars(address.data(), address.data() + address.size(), symbol.address, 16);
    if (parsed.ec != std::errc{} || parsed.ptr != address.data() + address.size()) return std::nullopt;
    const std::string_view type = take(line, ' ');
    if (type.size() != 1) return std::nullopt;
    symbol.type = type[0];
    symbol.name = std::string(take(line, '\t'));
    if (!line.empty()) symbol.name += " " + std::string(line);
    if (symbol.name.empty()) return std::nullopt;
    return symbol;
}

bool is_code(char type) { return type == 't' || type == 'T' || type == 'w' || type == 'W'; }

}  // namespace

Result<SymbolTable> SymbolTable::of_file(const std::filesystem::path& path, const std::filesystem::path& debug_root) {
    TRY_ASSIGN(UniqueFd fd, open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
    TRY_ASSIGN(const ElfImage image, ElfImage::from_file(std::move(fd), path.string()));
    TRY_ASSIGN(std::vector<FunctionSymbol> symbols, function_symbols(image));
    auto separate = separate_symbols(image.build_id(), debug_root);
    std::move(separate.begin(), separate.end(), std::back_inserter(symbols));
    std::vector<Candidate> candidates;
    candidates.reserve(symbols.size());
    for (auto& symbol : symbols) {
        // A debug file's own program headers say nothing about offsets in the program.
        const auto offset = code_offset(image, symbol.address);
        if (!offset) continue;
        const auto [start, limit] = *offset;
        const std::uint64_t end = symbol.size == 0 ? 0 : start + std::min(symbol.size, limit - start);
        candidates.push_back(Candidate{std::move(symbol.name), start, end, limit, symbol.binding});
    }
    return build(std::move(candidates));
}

Result<SymbolTable> SymbolTable::of_kernel(const std::filesystem::path& kallsyms) {
    TRY_ASSIGN(const std::string text, read_file(kallsyms, kMaxKallsymsBytes));
    std::vector<Candidate> candidates;
    std::vector<std::uint64_t> boundaries;  // data symbols end the code before them
    for (std::string_view rest = text; !rest.empty();) {
        auto symbol = parse_kernel_symbol(take(rest, '\n'));
        if (!symbol || symbol->address == 0) continue;
        boundaries.push_back(symbol->address);
        if (!is_code(symbol->type)) continue;
        const SymbolBinding binding = symbol->type == 'T'   ? SymbolBinding::Global
                                      : symbol->type == 't' ? SymbolBinding::Local
                                                            : SymbolBinding::Weak;
        candidates.push_back(Candidate{std::move(symbol->name), symbol->address, 0, 0, binding});
    }
    std::sort(boundaries.begin(), boundaries.end());
    for (auto& candidate : candidates) {
        const auto next = std::upper_bound(boundaries.begin(), boundaries.end(), candidate.start);
        const std::uint64_t longest =
            candidate.start + std::min(kMaxKernelFunctionBytes, ~std::uint64_t{0} - candidate.start);
        candidate.limit = next == boundaries.end() ? longest : std::min(*next, longest);
    }
    return build(std::move(candidates));
}

void SymbolTable::add_piece(const Candidate& candidate, std::uint64_t start, std::uint64_t end,
                            std::uint32_t name_offset) {
    if (start >= end) return;
    entries_.push_back(
        Entry{start, end, candidate.start, name_offset, static_cast<std::uint32_t>(candidate.name.size())});
}

SymbolTable SymbolTable::build(std::vector<Candidate> candidates) {
    const auto order = [](const Candidate& candidate) {
        return std::tuple(candidate.start, candidate.end == 0, leading_underscores(candidate.name),
                          -static_cast<int>(candidate.binding), candidate.name.size(),
                          std::string_view(candidate.name));
    };
    std::sort(candidates.begin(), candidates.end(),
              [&](const Candidate& a, const Candidate& b) { return order(a) < order(b); });
    candidates.erase(std::unique(candidates.begin(), candidates.end(),
                                 [](const Candidate& a, const Candidate& b) { return a.start == b.start; }),
                     candidates.end());
    SymbolTable table;
    struct OpenFunction {
        const Candidate* candidate;
        std::uint64_t end;
        std::uint32_t name_offset;
    };
    std::vector<OpenFunction> open;  // each inside the one before it
    std::uint64_t position = 0;      // up to here pieces are made
    const auto close_until = [&](std::uint64_t next) {
        while (!open.empty() && open.back().end <= next) {
            const OpenFunction& inner = open.back();
            table.add_piece(*inner.candidate, position, inner.end, inner.name_offset);
            position = std::max(position, inner.end);
            open.pop_back();
        }
    };
    for (std::size_t index = 0; index < candidates.size(); ++index) {
        const Candidate& candidate = candidates[index];
        if (table.names_.size() + candidate.name.size() > kMaxNamesBytes) break;
        close_until(candidate.start);
        if (!open.empty()) table.add_piece(*open.back().candidate, position, candidate.start, open.back().name_offset);
        std::uint64_t end = candidate.end;
        if (end == 0) {
            end = candidate.limit;
            if (index + 1 < candidates.size()) end = std::min(end, candidates[index + 1].start);
            if (!open.empty()) end = std::min(end, open.back().end);
        }
        position = candidate.start;
        open.push_back(OpenFunction{&candidate, end, static_cast<std::uint32_t>(table.names_.size())});
        table.names_ += candidate.name;
    }
    close_until(std::numeric_limits<std::uint64_t>::max());
    return table;
}

std::string_view SymbolTable::demangled(const Entry& entry) const {
    const std::string_view name = std::string_view(names_).substr(entry.name_offset, entry.name_bytes);
    if (!name.starts_with("_Z") && !name.starts_with("_R") && !name.starts_with("_D")) return name;
    const std::lock_guard lock(demangled_->mutex);
    auto& slot = demangled_->by_offset[entry.name_offset];
    if (slot.empty()) slot = demangle(name);
    return slot;
}

std::optional<SymbolHit> SymbolTable::find(std::uint64_t address) const {
    auto after = std::upper_bound(entries_.begin(), entries_.end(), address,
                                  [](std::uint64_t value, const Entry& entry) { return value < entry.start; });
    if (after == entries_.begin()) return std::nullopt;
    const Entry& entry = *std::prev(after);
    if (address >= entry.end) return std::nullopt;
    return SymbolHit{demangled(entry), address - entry.function_start};
}

}  // namespace lagtrap::binaries
