#include "binaries/unwind/call_frame_sections.hpp"

#include <elf.h>
#include <zlib.h>

#include <algorithm>

namespace lagtrap::binaries {
namespace {

Error damaged(const ElfImage& image, std::string_view what) {
    return make_error(ErrorKind::Invalid,
                      image.name() + ": damaged unwind information: " + std::string(what));
}

// The base of data-relative pointers: the global offset table, which unwinders find by DT_PLTGOT.
std::optional<std::uint64_t> data_base_of(const ElfImage& image) {
    for (const char* name : {".got.plt", ".got"}) {
        if (const ElfSection* section = image.find_section(name)) return section->address;
    }
    return std::nullopt;
}

Result<CallFrameSection> read_eh_frame(const ElfImage& image, const ElfSection& found) {
    CallFrameSection section;
    TRY_ASSIGN(section.bytes, image.read(found, max_call_frame_bytes));
    section.address = found.address;
    section.data_base = data_base_of(image);
    return section;
}

// The start of .eh_frame, from its index (LSB Core, 10.6.2).
Result<std::uint64_t> indexed_address(const ElfImage& image, const ElfSegment& index) {
    constexpr std::uint64_t max_header_bytes = 16;
    TRY_ASSIGN(
        const std::string header,
        image.read(index.offset, std::min(index.file_bytes, max_header_bytes), max_header_bytes));
    ByteCursor cursor(header);
    const auto version = cursor.number<std::uint8_t>();
    const auto encoding = cursor.number<std::uint8_t>();
    static_cast<void>(cursor.number<std::uint16_t>());  // encodings of the following fields
    const auto address = read_pointer(cursor, encoding, PointerBases{index.address, index.address});
    if (version != 1 || !address || !cursor.ok())
        return damaged(image, "its index (.eh_frame_hdr) has an unknown form");
    return *address;
}

Result<CallFrameSection> read_indexed_eh_frame(const ElfImage& image, const ElfSegment& index) {
    TRY_ASSIGN(const std::uint64_t address, indexed_address(image, index));
    for (const ElfSegment& segment : image.segments()) {
        if (segment.type != PT_LOAD || address < segment.address) continue;
        const std::uint64_t skipped = address - segment.address;
        if (skipped >= segment.file_bytes) continue;
        CallFrameSection section;
        const std::uint64_t size = std::min(segment.file_bytes - skipped, max_call_frame_bytes);
        TRY_ASSIGN(section.bytes, image.read(segment.offset + skipped, size, max_call_frame_bytes));
        section.address = address;
        section.ends_at_zero = true;
        return section;
    }
    return damaged(image, "its index (.eh_frame_hdr) says that it lies outside the file");
}

// Unpacks a section with SHF_COMPRESSED (gABI, "Section compression").
Result<std::string> unpack(const ElfImage& image, const ElfSection& found) {
    // Compiler output shrinks to about a quarter; a much larger ratio is an attempt to exhaust
    // memory.
    constexpr std::uint64_t max_ratio = 64;
    TRY_ASSIGN(const std::string packed,
               image.read(found.offset, found.size, max_call_frame_bytes));
    if (packed.size() < sizeof(Elf64_Chdr))
        return damaged(image, "a packed section without its header");
    const auto header = number_at<Elf64_Chdr>(packed, 0);
    if (header.ch_type != ELFCOMPRESS_ZLIB)
        return make_error(ErrorKind::Unsupported,
                          image.name() + ": section " + found.name + " is packed by method " +
                              std::to_string(header.ch_type) + "; only zlib's (1) is known");
    if (header.ch_size > max_call_frame_bytes || header.ch_size > packed.size() * max_ratio)
        return make_error(ErrorKind::TooLarge, image.name() + ": section " + found.name +
                                                   " would unpack to " +
                                                   std::to_string(header.ch_size) + " bytes from " +
                                                   std::to_string(packed.size()));
    std::string content(header.ch_size, '\0');
    uLongf size = content.size();
    const int status =
        ::uncompress(reinterpret_cast<Bytef*>(content.data()), &size,
                     reinterpret_cast<const Bytef*>(packed.data() + sizeof(Elf64_Chdr)),
                     static_cast<uLong>(packed.size() - sizeof(Elf64_Chdr)));
    if (status != Z_OK || size != content.size())
        return damaged(image, "section " + found.name + " cannot be unpacked");
    return content;
}

Result<CallFrameSection> read_debug_frame(const ElfImage& image, const ElfSection& found) {
    CallFrameSection section;
    if ((found.flags & SHF_COMPRESSED) != 0) {
        TRY_ASSIGN(section.bytes, unpack(image, found));
    } else {
        TRY_ASSIGN(section.bytes, image.read(found, max_call_frame_bytes));
    }
    section.is_debug_frame = true;
    return section;
}

}  // namespace

Result<std::vector<CallFrameSection>> read_call_frame_sections(const ElfImage& image) {
    std::vector<CallFrameSection> sections;
    std::optional<Error> problem;
    const auto take = [&](Result<CallFrameSection> section) {
        if (section) {
            sections.push_back(std::move(section).value());
        } else {
            problem = section.error();
        }
    };
    if (const ElfSection* found = image.find_section(".eh_frame"))
        take(read_eh_frame(image, *found));
    const auto& segments = image.segments();
    const auto index =
        std::find_if(segments.begin(), segments.end(),
                     [](const ElfSegment& segment) { return segment.type == PT_GNU_EH_FRAME; });
    if (sections.empty() && index != segments.end()) take(read_indexed_eh_frame(image, *index));
    if (const ElfSection* found = image.find_section(".debug_frame"))
        take(read_debug_frame(image, *found));
    if (sections.empty() && problem) return *problem;
    return sections;
}

}  // namespace lagtrap::binaries
