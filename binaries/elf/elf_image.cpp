#include "binaries/elf/elf_image.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>

#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::uint64_t max_sections = 200'000;
constexpr std::uint64_t max_build_id_bytes = 64;

static_assert(std::endian::native == std::endian::little, "ELF numbers are taken as they lie");

Status read_exactly(int fd, char* into, std::uint64_t size, std::uint64_t offset) {
    while (size > 0) {
        const ssize_t got = ::pread(fd, into, size, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error("read");
        if (got == 0) return make_error(ErrorKind::Invalid, "the file ended early");
        into += got;
        offset += static_cast<std::uint64_t>(got);
        size -= static_cast<std::uint64_t>(got);
    }
    return success();
}

// Why a file with these first bytes cannot be read; empty if it can.
std::string refusal(std::string_view head, ElfKinds kinds) {
    if (head.starts_with("#!"))
        return "is a script; name its interpreter, or mark the event with lagtrap.h";
    if (head.size() < sizeof(Elf64_Ehdr) || !head.starts_with(ELFMAG))
        return "is not a program or library (ELF)";
    if (head[EI_CLASS] != ELFCLASS64)
        return "is a 32-bit program; only 64-bit programs can be watched";
    if (head[EI_DATA] != ELFDATA2LSB)
        return "is a big-endian program; only little-endian programs can be watched";
    const auto type = number_at<Elf64_Ehdr>(head, 0).e_type;
    if (type == ET_REL && kinds == ElfKinds::AlsoObjects) return {};
    if (type == ET_REL) return "is an object file; name the program or library it was linked into";
    if (type == ET_CORE) return "is a core dump; name the program that wrote it";
    if (type != ET_EXEC && type != ET_DYN)
        return "is an ELF file of unknown type " + std::to_string(type);
    return {};
}

}  // namespace

std::string_view text_at(std::string_view table, std::uint64_t offset) {
    if (offset >= table.size()) return {};
    const std::size_t end = table.find('\0', offset);
    return end == std::string_view::npos ? std::string_view{} : table.substr(offset, end - offset);
}

std::string build_id_of_notes(std::string_view notes, std::uint64_t alignment) {
    std::string found;
    for_each_note(notes, alignment, [&](const ElfNote& note) {
        if (note.name != "GNU" || note.type != NT_GNU_BUILD_ID) return true;
        if (note.description.empty() || note.description.size() > max_build_id_bytes) return true;
        found = hexadecimal(note.description);
        return false;
    });
    return found;
}

Error ElfImage::damaged(std::string_view what) const {
    return make_error(ErrorKind::Invalid, name_ + ": damaged ELF file: " + std::string(what));
}

Result<ElfImage> ElfImage::open(const std::filesystem::path& path, ElfKinds kinds) {
    TRY_ASSIGN(UniqueFd fd, open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
    return from_file(std::move(fd), path.string(), kinds);
}

Result<ElfImage> ElfImage::from_file(UniqueFd fd, std::string name, ElfKinds kinds) {
    struct stat facts {};
    if (::fstat(fd.get(), &facts) != 0) return system_error(name);
    if (S_ISDIR(facts.st_mode))
        return make_error(ErrorKind::Invalid, name + ": is a folder, not a program");
    if (!S_ISREG(facts.st_mode))
        return make_error(ErrorKind::Invalid, name + ": is not a regular file");
    ElfImage image;
    image.fd_ = std::move(fd);
    image.name_ = std::move(name);
    image.size_bytes_ = static_cast<std::uint64_t>(facts.st_size);
    return parse(std::move(image), kinds);
}

Result<ElfImage> ElfImage::from_bytes(std::string bytes, std::string name) {
    ElfImage image;
    image.name_ = std::move(name);
    image.size_bytes_ = bytes.size();
    image.bytes_ = std::move(bytes);
    return parse(std::move(image), ElfKinds::Programs);
}

Result<ElfImage> ElfImage::parse(ElfImage image, ElfKinds kinds) {
    if (image.size_bytes_ > max_file_bytes)
        return make_error(ErrorKind::TooLarge, image.name_ + ": has " +
                                                   std::to_string(image.size_bytes_) +
                                                   " bytes; at most 4 GiB are read");
    TRY(image.parse_header(kinds));
    return image;
}

Status ElfImage::parse_header(ElfKinds kinds) {
    TRY_ASSIGN(const std::string head,
               read(0, std::min<std::uint64_t>(sizeof(Elf64_Ehdr), size_bytes_), 64));
    if (const std::string why = refusal(head, kinds); !why.empty())
        return make_error(ErrorKind::Invalid, name_ + ": " + why);
    const auto header = number_at<Elf64_Ehdr>(head, 0);
    machine_ = header.e_machine;
    entry_ = header.e_entry;
    std::uint64_t section_count = header.e_shnum;
    std::uint64_t names_index = header.e_shstrndx;
    std::uint64_t segment_count = header.e_phnum;
    if (header.e_shoff != 0) {
        if (header.e_shentsize != sizeof(Elf64_Shdr))
            return damaged("section headers of an unknown size");
        // Counts that exceed 16 bits are in the first section header.
        TRY_ASSIGN(const std::string first,
                   read(header.e_shoff, sizeof(Elf64_Shdr), sizeof(Elf64_Shdr)));
        const auto extension = number_at<Elf64_Shdr>(first, 0);
        if (section_count == 0) section_count = extension.sh_size;
        if (names_index == SHN_XINDEX) names_index = extension.sh_link;
        if (segment_count == PN_XNUM) segment_count = extension.sh_info;
    } else {
        section_count = 0;
    }
    if (segment_count != 0) {
        if (header.e_phentsize != sizeof(Elf64_Phdr))
            return damaged("program headers of an unknown size");
        TRY(parse_segments(header.e_phoff, segment_count));
    }
    return section_count == 0 ? success()
                              : parse_sections(header.e_shoff, section_count, names_index);
}

Status ElfImage::parse_segments(std::uint64_t offset, std::uint64_t count) {
    if (count > max_segments) return damaged(std::to_string(count) + " program headers");
    TRY_ASSIGN(const std::string table,
               read(offset, count * sizeof(Elf64_Phdr), max_segments * sizeof(Elf64_Phdr)));
    segments_.reserve(count);
    for (std::uint64_t index = 0; index < count; ++index) {
        const auto raw = number_at<Elf64_Phdr>(table, index * sizeof(Elf64_Phdr));
        segments_.push_back(ElfSegment{raw.p_type, raw.p_flags, raw.p_offset, raw.p_vaddr,
                                       raw.p_filesz, raw.p_memsz, raw.p_align});
    }
    return success();
}

Status ElfImage::parse_sections(std::uint64_t offset, std::uint64_t count,
                                std::uint64_t names_index) {
    if (count > max_sections) return damaged(std::to_string(count) + " sections");
    TRY_ASSIGN(const std::string table,
               read(offset, count * sizeof(Elf64_Shdr), max_sections * sizeof(Elf64_Shdr)));
    std::string names;
    if (names_index < count) {
        const auto raw = number_at<Elf64_Shdr>(table, names_index * sizeof(Elf64_Shdr));
        TRY_ASSIGN(names, read(raw.sh_offset, raw.sh_size, max_notes_bytes));
    }
    sections_.reserve(count);
    for (std::uint64_t index = 0; index < count; ++index) {
        const auto raw = number_at<Elf64_Shdr>(table, index * sizeof(Elf64_Shdr));
        // Real section names are short; the limit bounds memory if names overlap.
        std::string section_name(text_at(names, raw.sh_name).substr(0, 256));
        sections_.push_back(ElfSection{std::move(section_name), raw.sh_type, raw.sh_flags,
                                       raw.sh_addr, raw.sh_offset, raw.sh_size, raw.sh_link,
                                       raw.sh_addralign});
    }
    return success();
}

const ElfSection* ElfImage::find_section(std::string_view wanted) const {
    const auto found =
        std::find_if(sections_.begin(), sections_.end(), [&](const ElfSection& section) {
            return section.name == wanted && section.type != SHT_NOBITS;
        });
    return found == sections_.end() ? nullptr : &*found;
}

Result<std::string> ElfImage::read(std::uint64_t offset, std::uint64_t size,
                                   std::uint64_t limit_bytes) const {
    if (offset > size_bytes_ || size > size_bytes_ - offset)
        return damaged(std::to_string(size) + " bytes at offset " + std::to_string(offset) +
                       ", but the file has " + std::to_string(size_bytes_));
    if (size > limit_bytes)
        return make_error(ErrorKind::TooLarge, name_ + ": a table of " + std::to_string(size) +
                                                   " bytes; at most " +
                                                   std::to_string(limit_bytes) + " are read");
    if (!fd_.valid()) return bytes_.substr(offset, size);
    std::string content(size, '\0');
    if (auto status = read_exactly(fd_.get(), content.data(), size, offset); !status)
        return status.error().within(name_);
    return content;
}

Result<std::string> ElfImage::read(const ElfSection& section, std::uint64_t limit_bytes) const {
    if ((section.flags & SHF_COMPRESSED) != 0)
        return make_error(ErrorKind::Unsupported,
                          name_ + ": section " + section.name + " is compressed");
    return read(section.offset, section.size, limit_bytes);
}

std::string ElfImage::build_id() const {
    // Sections first: in a separate debug file, the program headers have the program's offsets.
    for (const auto& section : sections_) {
        if (section.type != SHT_NOTE) continue;
        const auto notes = read(section, max_notes_bytes);
        if (!notes) continue;
        if (auto id = build_id_of_notes(*notes, section.alignment); !id.empty()) return id;
    }
    for (const auto& segment : segments_) {
        if (segment.type != PT_NOTE) continue;
        const auto notes = read(segment.offset, segment.file_bytes, max_notes_bytes);
        if (!notes) continue;
        if (auto id = build_id_of_notes(*notes, segment.alignment); !id.empty()) return id;
    }
    return {};
}

}  // namespace lagtrap::binaries
