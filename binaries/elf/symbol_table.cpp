#include "binaries/elf/symbol_table.hpp"

#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <tuple>

#include "binaries/elf/elf_image.hpp"
#include "binaries/elf/function_symbols.hpp"
#include "binaries/elf/program_file.hpp"
#include "binaries/unwind/call_frame_sections.hpp"
#include "core/files.hpp"

namespace lagtrap::binaries {

struct SymbolTable::Candidate {
    Name name;
    SymbolBinding binding = SymbolBinding::Local;
    std::uint64_t start = 0;
    std::uint64_t end = 0;    // 0 if unknown
    std::uint64_t limit = 0;  // the latest possible end: that of its segment
};

namespace {

constexpr std::uint64_t max_kallsyms_bytes = 128ULL << 20;
// Limit for a kernel symbol without a close successor (the last of a module).
constexpr std::uint64_t max_kernel_function_bytes = 1ULL << 20;

std::size_t leading_underscores(std::string_view name) {
    if (name.starts_with("_Z") || name.starts_with("_R")) return 0;
    return std::min(name.find_first_not_of('_'), name.size());
}

// The file offset of a code address, and the offset at which its segment ends.
std::optional<std::pair<std::uint64_t, std::uint64_t>> code_offset(const ElfImage& image,
                                                                   std::uint64_t address) {
    for (const auto& segment : image.segments()) {
        if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
        if (address < segment.address || address - segment.address >= segment.file_bytes) continue;
        return std::pair{segment.offset + (address - segment.address),
                         segment.offset + segment.file_bytes};
    }
    return std::nullopt;
}

// The same for a debug file, whose segments have addresses and memory sizes but no content.
std::optional<std::pair<std::uint64_t, std::uint64_t>> debug_file_offset(const ElfImage& image,
                                                                         std::uint64_t address,
                                                                         std::uint64_t load_bias) {
    for (const auto& segment : image.segments()) {
        if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
        if (address < segment.address || address - segment.address >= segment.memory_bytes)
            continue;
        // The bias may be negative; this is arithmetic modulo 2^64.
        const std::uint64_t offset = address - load_bias;
        const std::uint64_t rest = segment.memory_bytes - (address - segment.address);
        if (rest > std::numeric_limits<std::uint64_t>::max() - offset) continue;
        return std::pair{offset, offset + rest};
    }
    return std::nullopt;
}

// The tables of the separate debug file; empty if there is no usable one.
Result<std::vector<FunctionTable>> separate_tables(const ElfImage& image,
                                                   const std::filesystem::path& path,
                                                   const DebugFileSearch& search,
                                                   ByteBudget& budget) {
    if (image.find_section(".symtab") != nullptr) return std::vector<FunctionTable>{};
    const auto found = find_debug_file(path, search);
    if (!found || *found == path) return std::vector<FunctionTable>{};
    const auto debug_image = ElfImage::open(*found);
    if (!debug_image) return std::vector<FunctionTable>{};
    auto tables = read_function_tables(*debug_image, budget);
    if (tables || tables.error().kind == ErrorKind::TooLarge) return tables;
    return std::vector<FunctionTable>{};
}

// Known by a function that it and the thread library of old versions export: the path may be that
// of a descriptor.
bool is_c_library(const std::vector<FunctionTable>& tables) {
    return std::any_of(tables.begin(), tables.end(), [](const FunctionTable& table) {
        return table.dynamic &&
               std::any_of(table.functions.begin(), table.functions.end(),
                           [&](const FunctionTable::Function& function) {
                               return table.name_of(function) == "__libc_current_sigrtmin";
                           });
    });
}

// Where signal handlers return to, as glibc calls it. Stripped libraries have no name for it, only
// unwind information.
FunctionTable signal_returns(const ElfImage& image) {
    FunctionTable table{"__restore_rt", {}, false};
    const auto sections = read_call_frame_sections(image);
    if (!sections) return table;
    CallFrameEntries entries;
    for (std::uint32_t i = 0; i < sections->size(); ++i)
        read_call_frame_entries((*sections)[i], i, entries);
    for (const CallFrameFunction& function : entries.functions) {
        if (!entries.cies[function.cie].signal_frame) continue;
        const auto bytes = static_cast<std::uint32_t>(table.names.size());
        table.functions.push_back(
            {function.begin, function.size, 0, bytes, SymbolBinding::Local, false});
    }
    return table;
}

// Removes the text up to `separator` from the front of `rest` and returns it.
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

// Parses "ffffffff81000000 T _text" or "ffffffffc0001000 t init\t[ext4]"; nullopt for other lines.
std::optional<KernelSymbol> parse_kernel_symbol(std::string_view line) {
    KernelSymbol symbol;
    const std::string_view address = take(line, ' ');
    const auto parsed =
        std::from_chars(address.data(), address.data() + address.size(), symbol.address, 16);
    if (parsed.ec != std::errc{} || parsed.ptr != address.data() + address.size())
        return std::nullopt;
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

// Collects the functions of several tables.
struct SymbolTable::Builder {
    SymbolTable table;
    std::vector<Candidate> candidates;

    // `place_of(address)` returns a function's offset and the latest possible end of its code, or
    // nullopt.
    template <typename PlaceOf>
    Status add(std::vector<FunctionTable> tables, ByteBudget& budget, PlaceOf&& place_of) {
        for (FunctionTable& source : tables) {
            // Also count the final entries: each function makes one or two.
            constexpr std::uint64_t bytes_of_function = sizeof(Candidate) + 2 * sizeof(Entry);
            if (!budget.take(source.functions.size() * bytes_of_function))
                return make_error(ErrorKind::TooLarge, "its symbols take more memory than allowed");
            const auto number = static_cast<std::uint32_t>(table.names_.size());
            candidates.reserve(candidates.size() + source.functions.size());
            for (const FunctionTable::Function& function : source.functions) {
                const auto place = place_of(function.address);
                if (!place) continue;
                const auto [start, limit] = *place;
                const std::uint64_t end =
                    function.size == 0 ? 0 : start + std::min(function.size, limit - start);
                candidates.push_back(
                    Candidate{Name{number, function.name_offset, function.name_bytes},
                              function.binding, start, end, limit});
            }
            table.names_.push_back(std::move(source.names));
        }
        return success();
    }

    SymbolTable finish() {
        table.build(std::move(candidates));
        return std::move(table);
    }
};

Result<SymbolTable> SymbolTable::of_file(const std::filesystem::path& path,
                                         const DebugFileSearch& search, std::uint64_t limit_bytes) {
    TRY_ASSIGN(const ElfImage image, ElfImage::open(path));
    ByteBudget budget(limit_bytes);
    TRY_ASSIGN(std::vector<FunctionTable> tables, read_function_tables(image, budget));
    TRY_ASSIGN(std::vector<FunctionTable> separate, separate_tables(image, path, search, budget));
    // A debug file's program headers do not have offsets of the program, so use those of `image`.
    std::move(separate.begin(), separate.end(), std::back_inserter(tables));
    if (is_c_library(tables)) tables.push_back(signal_returns(image));
    Builder builder;
    const auto added = builder.add(std::move(tables), budget, [&](std::uint64_t address) {
        return code_offset(image, address);
    });
    if (!added) return added.error().within(path.string());
    return builder.finish();
}

Result<SymbolTable> SymbolTable::of_debug_file(const std::filesystem::path& debug_file,
                                               std::uint64_t load_bias, std::uint64_t limit_bytes) {
    TRY_ASSIGN(const ElfImage image, ElfImage::open(debug_file));
    ByteBudget budget(limit_bytes);
    TRY_ASSIGN(std::vector<FunctionTable> tables, read_function_tables(image, budget));
    Builder builder;
    const auto added = builder.add(std::move(tables), budget, [&](std::uint64_t address) {
        return debug_file_offset(image, address, load_bias);
    });
    if (!added) return added.error().within(debug_file.string());
    return builder.finish();
}

Result<SymbolTable> SymbolTable::of_kernel(const std::filesystem::path& kallsyms) {
    TRY_ASSIGN(const std::string text, read_file(kallsyms, max_kallsyms_bytes));
    SymbolTable table;
    std::string& names = table.names_.emplace_back();
    std::vector<Candidate> candidates;
    std::vector<std::uint64_t> boundaries;  // data symbols, which end the code before them
    for (std::string_view rest = text; !rest.empty();) {
        auto symbol = parse_kernel_symbol(take(rest, '\n'));
        if (!symbol || symbol->address == 0) continue;
        boundaries.push_back(symbol->address);
        if (!is_code(symbol->type)) continue;
        const SymbolBinding binding = symbol->type == 'T'   ? SymbolBinding::Global
                                      : symbol->type == 't' ? SymbolBinding::Local
                                                            : SymbolBinding::Weak;
        const Name name{0, static_cast<std::uint32_t>(names.size()),
                        static_cast<std::uint32_t>(symbol->name.size())};
        names += symbol->name;
        candidates.push_back(Candidate{name, binding, symbol->address, 0, 0});
    }
    std::sort(boundaries.begin(), boundaries.end());
    for (auto& candidate : candidates) {
        const auto next = std::upper_bound(boundaries.begin(), boundaries.end(), candidate.start);
        const std::uint64_t longest =
            candidate.start +
            std::min(max_kernel_function_bytes, ~std::uint64_t{0} - candidate.start);
        candidate.limit = next == boundaries.end() ? longest : std::min(*next, longest);
    }
    table.build(std::move(candidates));
    return table;
}

void SymbolTable::add_piece(const Candidate& candidate, std::uint64_t start, std::uint64_t end) {
    if (start >= end) return;
    entries_.push_back(Entry{start, end, candidate.start, candidate.name});
}

void SymbolTable::build(std::vector<Candidate> candidates) {
    const auto order = [this](const Candidate& candidate) {
        const std::string_view name = text_of(candidate.name);
        return std::tuple(candidate.start, candidate.end == 0, leading_underscores(name),
                          -static_cast<int>(candidate.binding), name.size(), name);
    };
    std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
        return a.start != b.start ? a.start < b.start : order(a) < order(b);
    });
    candidates.erase(
        std::unique(candidates.begin(), candidates.end(),
                    [](const Candidate& a, const Candidate& b) { return a.start == b.start; }),
        candidates.end());
    struct OpenFunction {
        const Candidate* candidate;
        std::uint64_t end;
    };
    std::vector<OpenFunction> open;  // each nested in the previous one
    std::uint64_t position = 0;      // pieces are complete up to here
    const auto close_until = [&](std::uint64_t next) {
        while (!open.empty() && open.back().end <= next) {
            const OpenFunction& inner = open.back();
            add_piece(*inner.candidate, position, inner.end);
            position = std::max(position, inner.end);
            open.pop_back();
        }
    };
    entries_.reserve(candidates.size());
    for (std::size_t index = 0; index < candidates.size(); ++index) {
        const Candidate& candidate = candidates[index];
        close_until(candidate.start);
        if (!open.empty()) add_piece(*open.back().candidate, position, candidate.start);
        std::uint64_t end = candidate.end;
        if (end == 0) {
            end = candidate.limit;
            if (index + 1 < candidates.size()) end = std::min(end, candidates[index + 1].start);
            if (!open.empty()) end = std::min(end, open.back().end);
        }
        position = candidate.start;
        open.push_back(OpenFunction{&candidate, end});
    }
    close_until(std::numeric_limits<std::uint64_t>::max());
}

std::string_view SymbolTable::text_of(const Name& name) const {
    return std::string_view(names_[name.table]).substr(name.offset, name.bytes);
}

std::uint64_t SymbolTable::memory_bytes() const {
    std::uint64_t bytes = entries_.capacity() * sizeof(Entry);
    for (const std::string& names : names_) bytes += names.capacity();
    return bytes;
}

std::string_view SymbolTable::demangled(const Entry& entry) const {
    const std::string_view name = text_of(entry.name);
    if (!name.starts_with("_Z") && !name.starts_with("_R") && !name.starts_with("_D")) return name;
    const std::lock_guard lock(demangled_->mutex);
    auto& slot = demangled_->by_place[std::uint64_t{entry.name.table} << 32 | entry.name.offset];
    if (slot.empty()) slot = demangle(name);
    return slot;
}

std::optional<SymbolHit> SymbolTable::find(std::uint64_t address) const {
    auto after = std::upper_bound(
        entries_.begin(), entries_.end(), address,
        [](std::uint64_t value, const Entry& entry) { return value < entry.start; });
    if (after == entries_.begin()) return std::nullopt;
    const Entry& entry = *std::prev(after);
    if (address >= entry.end) return std::nullopt;
    return SymbolHit{demangled(entry), address - entry.function_start};
}

}  // namespace lagtrap::binaries
