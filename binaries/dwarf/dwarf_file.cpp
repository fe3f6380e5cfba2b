#include "binaries/dwarf/dwarf_file.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace lagtrap::binaries {
namespace {

constexpr std::string_view info = ".debug_info";
// Without .gnu_debugaltlink, because libdw would open the file it names.
const std::vector<std::string_view> section_names = {info,
                                                     ".debug_abbrev",
                                                     ".debug_line",
                                                     ".debug_line_str",
                                                     ".debug_str",
                                                     ".debug_str_offsets",
                                                     ".debug_addr",
                                                     ".debug_ranges",
                                                     ".debug_rnglists"};

// Upper bounds of libdw's memory: per unit, and per byte of an abbreviation table (an abbreviation
// has at least 3 bytes, and takes about 50 plus a slot in a half-empty hash table).
constexpr std::uint64_t bytes_of_unit = 1'200;
constexpr std::uint64_t bytes_of_abbreviation_byte = 24;
// A unit whose table would take more than 1/this of the memory counts as damaged.
constexpr std::uint64_t abbreviations_share = 2;
// For abbreviations that libdw reads again for each unit.
constexpr std::uint64_t max_abbreviations_read = 4ULL << 30;

}  // namespace

Result<DwarfFile> DwarfFile::open(const std::filesystem::path& path, const Limits& limits) {
    TRY_ASSIGN(MappedSections sections,
               MappedSections::open(path, section_names,
                                    MappedSectionLimits{limits.file_bytes, limits.memory_bytes}));
    if (sections.section(info).empty())
        return make_error(ErrorKind::NotFound,
                          path.string() + ": has no debug information (DWARF)");
    DwarfFile file(std::move(sections));
    const std::uint64_t memory_left = limits.memory_bytes - file.unpacked_bytes();
    const std::uint64_t max_units = memory_left / abbreviations_share / bytes_of_unit;
    file.units_ = read_dwarf_units(file.section(info), file.section(".debug_abbrev"), max_units,
                                   memory_left / abbreviations_share / bytes_of_abbreviation_byte);
    if (file.units().empty() || file.units().size() == max_units) {
        if (file.units_.beyond_limits)
            return make_error(ErrorKind::TooLarge,
                              path.string() +
                                  ": its debug information exceeds the memory limit of " +
                                  std::to_string(limits.memory_bytes) + " bytes lets it");
    }
    if (file.units().empty())
        return make_error(
            ErrorKind::Invalid,
            path.string() + ": its debug information is damaged or of an unknown kind");
    file.touched_.resize(file.units().size());
    file.abbreviations_left_ = max_abbreviations_read;
    file.write_header();
    return file;
}

// Writes the section headers and names before the sections.
void DwarfFile::write_header() {
    std::vector<Elf64_Shdr> headers(1);
    std::string names(1, '\0');
    const auto add_name = [&](std::string_view name) {
        const auto offset = static_cast<Elf64_Word>(names.size());
        names.append(name).push_back('\0');
        return offset;
    };
    for (const MappedSection& section : sections_.sections()) {
        Elf64_Shdr header{};
        header.sh_name = add_name(section.name);
        header.sh_type = SHT_PROGBITS;
        header.sh_offset = section.offset;
        header.sh_size = section.name == info ? units_.checked_bytes : section.size;
        header.sh_addralign = 1;
        headers.push_back(header);
    }
    Elf64_Shdr names_header{};
    names_header.sh_name = add_name(".shstrtab");
    names_header.sh_type = SHT_STRTAB;
    names_header.sh_offset = sizeof(Elf64_Ehdr) + (headers.size() + 1) * sizeof(Elf64_Shdr);
    names_header.sh_size = names.size();
    names_header.sh_addralign = 1;
    headers.push_back(names_header);

    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_shoff = sizeof header;
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(headers.size());
    header.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
    char* place = sections_.data();
    std::memcpy(place, &header, sizeof header);
    std::memcpy(place + sizeof header, headers.data(), headers.size() * sizeof(Elf64_Shdr));
    std::copy(names.begin(), names.end(), place + names_header.sh_offset);
}

Dwarf* DwarfFile::dwarf(Dwarf* alternate) {
    if (dwarf_) return dwarf_.get();
    if (!elf_) {
        ::elf_version(EV_CURRENT);
        elf_.reset(::elf_memory(sections_.data(), sections_.size()));
    }
    if (elf_) dwarf_.reset(::dwarf_begin_elf(elf_.get(), DWARF_C_READ, nullptr));
    if (dwarf_ && alternate != nullptr) ::dwarf_setalt(dwarf_.get(), alternate);
    return dwarf_.get();
}

void DwarfFile::forget() {
    dwarf_.reset();
    held_bytes_ = 0;
    std::fill(touched_.begin(), touched_.end(), false);
}

std::optional<std::size_t> DwarfFile::unit_at(std::uint64_t offset) const {
    const auto after = std::upper_bound(
        units().begin(), units().end(), offset,
        [](std::uint64_t value, const DwarfUnit& unit) { return value < unit.start; });
    if (after == units().begin() || offset >= std::prev(after)->end) return std::nullopt;
    return static_cast<std::size_t>(std::prev(after) - units().begin());
}

bool DwarfFile::touch(std::size_t unit) {
    if (touched_[unit]) return true;
    const std::uint64_t bytes = units()[unit].abbreviations_bytes;
    if (bytes > abbreviations_left_) return false;
    abbreviations_left_ -= bytes;
    touched_[unit] = true;
    held_bytes_ += bytes * bytes_of_abbreviation_byte;
    return true;
}

}  // namespace lagtrap::binaries
