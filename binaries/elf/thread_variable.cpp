#include "binaries/elf/thread_variable.hpp"

#include <elf.h>

#include <algorithm>

#include "binaries/elf/elf_table.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::uint64_t max_relocations = 16'000'000;
constexpr std::uint64_t max_thread_block_bytes = 1ULL << 30;
// A descriptor's argument is an offset up to here, and an address beyond. On x86-64, offsets are
// negative.
constexpr std::int64_t max_descriptor_offset = 4 << 20;
constexpr std::uint64_t max_blocks = 65'536;

struct Machine {
    std::uint32_t offset_relocation, descriptor_relocation, block_relocation;
};

std::optional<Machine> machine_of(const ElfImage& image) {
    if (image.machine() == EM_X86_64)
        return Machine{R_X86_64_TPOFF64, R_X86_64_TLSDESC, R_X86_64_DTPMOD64};
    if (image.machine() == EM_AARCH64)
        return Machine{R_AARCH64_TLS_TPREL, R_AARCH64_TLSDESC, R_AARCH64_TLS_DTPMOD};
    return std::nullopt;
}

struct FoundSymbol {
    std::uint64_t number = 0;  // in its table
    std::uint64_t value = 0;   // offset in the file's block
};

Result<std::optional<FoundSymbol>> find_in(const ElfImage& image, const ElfSection& section,
                                           std::string_view name) {
    if (section.link >= image.sections().size())
        return image.damaged(section.name + " names a missing string table");
    TRY_ASSIGN(const std::string names,
               image.read(image.sections()[section.link], max_string_table_bytes));
    std::optional<FoundSymbol> found;
    TRY(for_each_entry<Elf64_Sym>(
        image, section, max_symbols, [&](const Elf64_Sym& symbol, std::uint64_t number) {
            if (ELF64_ST_TYPE(symbol.st_info) == STT_TLS && symbol.st_shndx != SHN_UNDEF &&
                text_at(names, symbol.st_name) == name)
                found = FoundSymbol{number, symbol.st_value};
            return !found;
        }));
    return found;
}

const ElfSegment* segment_of(const ElfImage& image, std::uint32_t type, std::uint32_t flags) {
    const auto found = std::find_if(
        image.segments().begin(), image.segments().end(), [&](const ElfSegment& segment) {
            return segment.type == type && (segment.flags & flags) == flags;
        });
    return found == image.segments().end() ? nullptr : &*found;
}

// A program rather than a library: it has an interpreter, no dynamic section, or says so (static
// programs at random addresses).
bool is_program(const ElfImage& image) {
    if (segment_of(image, PT_INTERP, 0) != nullptr) return true;
    const ElfSegment* const dynamic = segment_of(image, PT_DYNAMIC, 0);
    if (dynamic == nullptr) return true;
    constexpr std::uint64_t max_flags_bytes = 1 << 20;
    const auto entries = image.read(dynamic->offset, dynamic->file_bytes, max_flags_bytes);
    if (!entries) return false;
    for (std::size_t at = 0; at + sizeof(Elf64_Dyn) <= entries->size(); at += sizeof(Elf64_Dyn)) {
        const auto entry = number_at<Elf64_Dyn>(*entries, at);
        if (entry.d_tag == DT_FLAGS_1) return (entry.d_un.d_val & DF_1_PIE) != 0;
    }
    return false;
}

// The program's block is next to the thread pointer: below it on x86-64; on aarch64 above it, after
// two words.
Result<std::int64_t> offset_in_program(const ElfImage& image, std::uint64_t value) {
    const ElfSegment* const block = segment_of(image, PT_TLS, 0);
    if (block == nullptr) return image.damaged("a thread-local symbol without such a segment");
    const std::uint64_t alignment = std::max<std::uint64_t>(block->alignment, 1);
    if ((alignment & (alignment - 1)) != 0 || alignment > max_thread_block_bytes ||
        block->memory_bytes > max_thread_block_bytes || value > block->memory_bytes)
        return image.damaged("a thread-local segment of this size");
    if (image.machine() == EM_X86_64) {
        const std::uint64_t padding = (0 - block->address - block->memory_bytes) & (alignment - 1);
        return static_cast<std::int64_t>(value - block->memory_bytes - padding);
    }
    constexpr std::uint64_t head_bytes = 16;
    return static_cast<std::int64_t>(value + head_bytes +
                                     ((block->address - head_bytes) & (alignment - 1)));
}

// A relocation through which code of the file accesses the variable.
std::optional<ThreadAccess> access_by(const Machine& machine, const Elf64_Rela& relocation,
                                      const FoundSymbol& symbol) {
    const std::uint64_t named = ELF64_R_SYM(relocation.r_info);
    const std::uint64_t type = ELF64_R_TYPE(relocation.r_info);
    const bool is_of_symbol =
        named == symbol.number
            ? relocation.r_addend == 0
            : named == 0 && static_cast<std::uint64_t>(relocation.r_addend) == symbol.value;
    if (type == machine.block_relocation && (named == symbol.number || named == 0))
        return ThreadAccess::Block;
    if (!is_of_symbol) return std::nullopt;
    if (type == machine.offset_relocation) return ThreadAccess::Offset;
    if (type == machine.descriptor_relocation) return ThreadAccess::Descriptor;
    return std::nullopt;
}

struct FoundWords {
    ThreadAccess access{};
    std::uint64_t address = 0;  // as linked
};

Result<std::optional<FoundWords>> find_words(const ElfImage& image, const Machine& machine,
                                             const FoundSymbol& symbol) {
    std::optional<FoundWords> found;
    for (const ElfSection& section : image.sections()) {
        if (section.type != SHT_RELA || (section.flags & SHF_ALLOC) == 0) continue;
        TRY(for_each_entry<Elf64_Rela>(
            image, section, max_relocations, [&](const Elf64_Rela& relocation, std::uint64_t) {
                const auto access = access_by(machine, relocation, symbol);
                // The block's number needs more reading than the other two.
                if (access && (!found || found->access == ThreadAccess::Block))
                    found = FoundWords{*access, relocation.r_offset};
                return true;
            }));
    }
    return found;
}

}  // namespace

Result<ThreadVariable> find_thread_variable(const ElfImage& image, std::string_view name) {
    for (const std::uint32_t type : {SHT_DYNSYM, SHT_SYMTAB}) {
        for (const ElfSection& section : image.sections()) {
            if (section.type != type) continue;
            TRY_ASSIGN(const auto symbol, find_in(image, section, name));
            if (!symbol) continue;
            const auto machine = machine_of(image);
            const ElfSegment* const code = segment_of(image, PT_LOAD, PF_X);
            if (!machine || code == nullptr)
                return make_error(ErrorKind::Unsupported, image.name() + ": not for this machine");
            std::optional<FoundWords> words;
            if (type == SHT_DYNSYM) {
                TRY_ASSIGN(words, find_words(image, *machine, *symbol));
            }
            if (words)
                return ThreadVariable{words->access, static_cast<std::int64_t>(symbol->value),
                                      words->address - code->address + code->offset};
            if (!is_program(image))
                return make_error(ErrorKind::Unsupported,
                                  image.name() + ": nothing says how the variable is accessed");
            TRY_ASSIGN(const std::int64_t offset, offset_in_program(image, symbol->value));
            return ThreadVariable{ThreadAccess::Fixed, offset, 0};
        }
    }
    return make_error(ErrorKind::NotFound, image.name() + ": no such variable");
}

std::optional<ThreadPlace> thread_place(const ThreadVariable& variable,
                                        const std::array<std::uint64_t, 2>& words) {
    const auto signed_first = static_cast<std::int64_t>(words[0]);
    switch (variable.access) {
        case ThreadAccess::Fixed: return ThreadPlace{variable.offset, 0};
        case ThreadAccess::Offset:
            if (signed_first == 0) return std::nullopt;
            return ThreadPlace{signed_first, 0};
        case ThreadAccess::Descriptor:
            if (words[0] == 0 || dynamic_block_at(variable, words)) return std::nullopt;
            return ThreadPlace{static_cast<std::int64_t>(words[1]), 0};
        case ThreadAccess::Block:
            return dynamic_thread_place({words[0], static_cast<std::uint64_t>(variable.offset)});
    }
    return std::nullopt;
}

std::optional<std::uint64_t> dynamic_block_at(const ThreadVariable& variable,
                                              const std::array<std::uint64_t, 2>& words) {
    if (variable.access != ThreadAccess::Descriptor) return std::nullopt;
    if (static_cast<std::int64_t>(words[1]) <= max_descriptor_offset) return std::nullopt;
    return words[1];
}

std::optional<ThreadPlace> dynamic_thread_place(const std::array<std::uint64_t, 2>& words) {
    if (words[0] == 0 || words[0] > max_blocks || words[1] > max_thread_block_bytes)
        return std::nullopt;
    return ThreadPlace{static_cast<std::int64_t>(words[1]), static_cast<std::uint32_t>(words[0])};
}

}  // namespace lagtrap::binaries
