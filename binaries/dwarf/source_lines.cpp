#include "binaries/dwarf/source_lines.hpp"

#include <dwarf.h>
#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "binaries/dwarf/dwarf_file.hpp"
#include "binaries/dwarf/dwarf_names.hpp"
#include "binaries/dwarf/dwarf_scopes.hpp"
#include "binaries/dwarf/line_table.hpp"
#include "binaries/elf/debug_files.hpp"
#include "binaries/elf/elf_image.hpp"
#include "core/files.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::size_t max_units_of_address = 8;
// Shares (1/N) of DebugInfoLimits::memory_bytes. Units themselves take up to half (dwarf_file.cpp).
constexpr std::uint64_t tables_share = 4;     // line tables and functions of the cached units
constexpr std::uint64_t one_table_share = 2;  // a line table while it is built
constexpr std::uint64_t library_share = 4;    // what libdw holds for units
// After reading this much of the mapped sections, their pages are released. Looking up one name
// reads about mapped_bytes_of_name.
constexpr std::uint64_t mapped_bytes = 64 << 20;
constexpr std::uint64_t mapped_bytes_of_name = 32 << 10;

CodeBounds code_of(const ElfImage& image) {
    CodeBounds code{std::numeric_limits<std::uint64_t>::max(), 0};
    for (const ElfSegment& segment : image.segments()) {
        if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
        // Linkers put dropped functions at address 0, where the ELF header is.
        code.low = std::min(code.low, std::max<std::uint64_t>(segment.address, 1));
        if (segment.memory_bytes <= std::numeric_limits<std::uint64_t>::max() - segment.address)
            code.high = std::max(code.high, segment.address + segment.memory_bytes);
    }
    return code;
}

}  // namespace

struct SourceLines::State {
    // Cache for one unit.
    struct Unit {
        std::size_t index = 0;
        LineTable lines;
        UnitFunctions functions;
        bool searched_everywhere = false;
        std::optional<std::uint64_t> scanned;  // the function that `inlined` belongs to
        InlinedCalls inlined;

        [[nodiscard]] std::uint64_t memory_bytes() const {
            return sizeof(Unit) + lines.memory_bytes() + functions.memory_bytes() +
                   inlined.memory_bytes();
        }
    };

    State(ElfImage image, DwarfFile file)
        : program(std::move(image)), code(code_of(program)), main(std::move(file)) {}

    [[nodiscard]] Status find_units();
    [[nodiscard]] std::vector<SourceFrame> frames_at(std::uint64_t address);

    ElfImage program;
    CodeBounds code;
    std::uint64_t memory_bytes = 0;  // for tables and libdw
    // `main` refers to the Dwarf of `alternate`; declared later, it is destroyed first.
    std::optional<DwarfFile> alternate;
    DwarfFile main;
    RangeTable units;       // by index into main.units()
    std::deque<Unit> kept;  // most recently used first
    std::uint64_t looked_at_bytes = 0;
    DwarfNames names;

  private:
    [[nodiscard]] Dwarf* dwarf() {
        return main.dwarf(alternate ? alternate->dwarf(nullptr) : nullptr);
    }
    [[nodiscard]] bool file_was_cut() const {
        return main.file_was_cut() || (alternate && alternate->file_was_cut());
    }
    void keep_within_memory();
    [[nodiscard]] std::optional<Dwarf_Die> entry_at(std::uint64_t offset);
    [[nodiscard]] const unsigned char* end_of(std::size_t unit) const;
    // More than the number of entries in a sound unit.
    [[nodiscard]] std::uint64_t steps_for(std::size_t unit) const;
    [[nodiscard]] bool touch(Dwarf_Die& entry);
    [[nodiscard]] Unit* unit(std::size_t index);
    [[nodiscard]] LineTable lines_of(Dwarf_Die& unit_entry);
    void scan_functions(Unit& unit, Below within);
    [[nodiscard]] std::optional<std::uint64_t> function_at(Unit& unit, std::uint64_t address);
    [[nodiscard]] std::string name_of(Dwarf_Die& entry);
    [[nodiscard]] std::vector<SourceFrame> frames_in(Unit& unit, std::uint64_t function,
                                                     std::uint64_t address);
};

// Reads the ranges from the units' own entries, because .debug_aranges may be missing for some
// units (clang) or all.
Status SourceLines::State::find_units() {
    if (dwarf() == nullptr)
        return make_error(ErrorKind::Invalid, "its debug information is damaged");
    std::uint64_t steps = memory_bytes / tables_share / 64;
    for (std::size_t index = 0; index < main.units().size(); ++index) {
        auto entry = entry_at(main.units()[index].first_entry);
        if (!entry) continue;
        const int tag = ::dwarf_tag(&*entry);
        if (tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit)
            units.add(*entry, index, code, steps);
    }
    units.sort();
    main.release_pages();
    return success();
}

// Nothing returned by libdw may be in use.
void SourceLines::State::keep_within_memory() {
    if (main.held_bytes() + (alternate ? alternate->held_bytes() : 0) >
        memory_bytes / library_share) {
        main.forget();
        if (alternate) alternate->forget();
    }
    if (looked_at_bytes > mapped_bytes) {
        main.release_pages();
        if (alternate) alternate->release_pages();
        looked_at_bytes = 0;
    }
    std::uint64_t tables = 0;
    for (auto unit = kept.begin(); unit != kept.end(); ++unit) {
        tables += unit->memory_bytes();
        if (tables <= memory_bytes / tables_share) continue;
        kept.erase(unit == kept.begin() ? std::next(unit) : unit, kept.end());
        break;
    }
}

std::optional<Dwarf_Die> SourceLines::State::entry_at(std::uint64_t offset) {
    Dwarf* const all = dwarf();
    Dwarf_Die entry;
    if (all == nullptr || ::dwarf_offdie(all, offset, &entry) == nullptr) return std::nullopt;
    return entry;
}

const unsigned char* SourceLines::State::end_of(std::size_t unit) const {
    return reinterpret_cast<const unsigned char*>(main.section(".debug_info").data()) +
           main.units()[unit].end;
}

std::uint64_t SourceLines::State::steps_for(std::size_t unit) const {
    return 2 * (main.units()[unit].end - main.units()[unit].start) + 65'536;
}

bool SourceLines::State::touch(Dwarf_Die& entry) {
    DwarfFile& file =
        alternate && ::dwarf_cu_getdwarf(entry.cu) == alternate->dwarf(nullptr) ? *alternate : main;
    const auto index = file.unit_at(::dwarf_dieoffset(&entry));
    return index && file.touch(*index);
}

LineTable SourceLines::State::lines_of(Dwarf_Die& unit_entry) {
    const auto offset = number_of(unit_entry, DW_AT_stmt_list);
    if (!offset) return {};
    LineTableSource source;
    source.debug_line = main.section(".debug_line");
    source.debug_line_str = main.section(".debug_line_str");
    source.debug_str = main.section(".debug_str");
    source.offset = *offset;
    source.directory = text_of(unit_entry, DW_AT_comp_dir);
    source.name = text_of(unit_entry, DW_AT_name);
    source.lowest_address = code.low;
    source.highest_address = code.high;
    auto lines = LineTable::read(source, memory_bytes / one_table_share);
    return lines ? std::move(lines).value() : LineTable{};
}

void SourceLines::State::scan_functions(Unit& unit, Below within) {
    auto entry = entry_at(main.units()[unit.index].first_entry);
    if (!entry) return;
    std::uint64_t steps = steps_for(unit.index);
    unit.functions.scan(*entry, end_of(unit.index), within, code, steps);
}

SourceLines::State::Unit* SourceLines::State::unit(std::size_t index) {
    const auto known = std::find_if(kept.begin(), kept.end(),
                                    [&](const Unit& unit) { return unit.index == index; });
    if (!main.touch(index)) return nullptr;
    if (known == kept.end()) {
        auto entry = entry_at(main.units()[index].first_entry);
        if (!entry) return nullptr;
        kept.emplace_front();
        kept.front().index = index;
        kept.front().lines = lines_of(*entry);
        scan_functions(kept.front(), Below::Skip);
        looked_at_bytes += main.units()[index].end - main.units()[index].start;
        looked_at_bytes += kept.front().lines.memory_bytes() / 4;
    } else if (known != kept.begin()) {
        Unit unit = std::move(*known);
        kept.erase(known);
        kept.push_front(std::move(unit));
    }
    return &kept.front();
}

std::optional<std::uint64_t> SourceLines::State::function_at(Unit& unit, std::uint64_t address) {
    auto found = unit.functions.find(address);
    if (!found && !unit.searched_everywhere) {
        unit.searched_everywhere = true;
        scan_functions(unit, Below::Visit);
        found = unit.functions.find(address);
    }
    return found;
}

std::string SourceLines::State::name_of(Dwarf_Die& entry) {
    looked_at_bytes += mapped_bytes_of_name;
    return names.name_of(entry, [this](Dwarf_Die& looked_into) { return touch(looked_into); });
}

std::vector<SourceFrame> SourceLines::State::frames_in(Unit& unit, std::uint64_t function,
                                                       std::uint64_t address) {
    if (unit.scanned != function) {
        auto entry = entry_at(function);
        if (!entry) return {};
        std::uint64_t steps = steps_for(unit.index);
        unit.inlined.scan(*entry, end_of(unit.index), code, steps);
        unit.scanned = function;
    }
    std::vector<SourceFrame> frames;
    const auto place = unit.lines.find(address);
    std::string file = place ? unit.lines.file_name(place->file) : std::string{};
    std::uint32_t line = place ? place->line : 0;
    for (const std::uint64_t call : unit.inlined.find(address)) {
        auto entry = entry_at(call);
        if (!entry) return frames;
        frames.push_back(SourceFrame{name_of(*entry), std::move(file), line});
        const auto call_file = number_of(*entry, DW_AT_call_file);
        file = call_file ? unit.lines.file_name(*call_file) : std::string{};
        const std::uint64_t call_line = number_of(*entry, DW_AT_call_line).value_or(0);
        line = call_line > std::numeric_limits<std::uint32_t>::max()
                   ? 0U
                   : static_cast<std::uint32_t>(call_line);
    }
    auto entry = entry_at(function);
    frames.push_back(SourceFrame{entry ? name_of(*entry) : std::string{}, std::move(file), line});
    return frames;
}

std::vector<SourceFrame> SourceLines::State::frames_at(std::uint64_t address) {
    keep_within_memory();
    std::vector<std::size_t> candidates;
    units.visit_at(address, [&](std::uint64_t, std::uint64_t, std::uint64_t index) {
        if (candidates.size() < max_units_of_address) candidates.push_back(index);
    });
    std::vector<SourceFrame> frames;
    for (const std::size_t index : candidates) {
        Unit* const found = unit(index);
        if (found == nullptr) continue;
        if (const auto function = function_at(*found, address)) {
            frames = frames_in(*found, *function, address);
            break;
        }
        const auto place = found->lines.find(address);
        if (frames.empty() && place && place->line != 0)
            frames.push_back(SourceFrame{{}, found->lines.file_name(place->file), place->line});
    }
    if (file_was_cut()) return {};
    return frames;
}

SourceLines::SourceLines(std::unique_ptr<State> state) : state_(std::move(state)) {}
SourceLines::SourceLines(SourceLines&&) noexcept = default;
SourceLines& SourceLines::operator=(SourceLines&&) noexcept = default;
SourceLines::~SourceLines() = default;

Result<SourceLines> SourceLines::open(const std::filesystem::path& program,
                                      const std::filesystem::path& debug_file,
                                      const DebugInfoLimits& limits) {
    TRY_ASSIGN(ElfImage image, ElfImage::open(program));
    TRY_ASSIGN(const ElfImage debug_image, ElfImage::open(debug_file));
    const std::string wanted = image.build_id();
    const std::string found = debug_image.build_id();
    if (!wanted.empty() && !found.empty() && wanted != found)
        return make_error(ErrorKind::Invalid, debug_file.string() + ": has build id " + found +
                                                  ", but " + program.string() + " has " + wanted);
    DwarfFile::Limits bounds{limits.file_bytes, limits.memory_bytes};
    TRY_ASSIGN(DwarfFile main, DwarfFile::open(debug_file, bounds));
    auto state = std::make_unique<State>(std::move(image), std::move(main));
    bounds.memory_bytes -= state->main.unpacked_bytes();
    if (const auto path = find_alternate_file(debug_file)) {
        // Without it, only some names are missing.
        if (auto alternate = DwarfFile::open(*path, bounds)) {
            bounds.memory_bytes -= alternate->unpacked_bytes();
            state->alternate.emplace(std::move(alternate).value());
        }
    }
    state->memory_bytes = bounds.memory_bytes;
    if (auto found_units = state->find_units(); !found_units)
        return found_units.error().within(debug_file.string());
    return SourceLines(std::move(state));
}

std::vector<SourceFrame> SourceLines::frames_at(std::uint64_t file_offset) {
    for (const ElfSegment& segment : state_->program.segments()) {
        if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0 || file_offset < segment.offset)
            continue;
        const std::uint64_t within = file_offset - segment.offset;
        if (within < segment.file_bytes) return state_->frames_at(segment.address + within);
    }
    return {};
}

std::vector<SourceFrame> SourceLines::frames_at_address(std::uint64_t address) {
    return state_->frames_at(address);
}

}  // namespace lagtrap::binaries
