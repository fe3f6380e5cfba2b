#include "binaries/unwind/call_frame_entries.hpp"

#include <algorithm>
#include <limits>

namespace lagtrap::binaries {
namespace {

constexpr std::uint32_t extended_length = 0xffffffff;
constexpr std::uint8_t pointer_omitted = 0xff;
constexpr std::uint8_t pointer_form_mask = 0x0f;
// Linkers merge equal ones, so large programs have dozens. The limit bounds memory.
constexpr std::size_t max_cies = 65'536;

bool is_zero(std::string_view bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

// The position and kind of an entry.
struct EntryHeader {
    std::uint32_t offset = 0;   // of the entry
    std::uint32_t content = 0;  // of the data after the CIE pointer
    std::uint32_t end = 0;
    bool is_cie = false;
    bool has_cie_offset = false;
    std::uint64_t cie_offset = 0;
};

class SectionReader {
  public:
    SectionReader(const CallFrameSection& section, std::uint32_t number, CallFrameEntries& entries)
        : section_(section), number_(number), entries_(entries), first_cie_(entries.cies.size()) {}

    void read() {
        // CIEs first: in .debug_frame they may follow the functions that refer to them.
        std::size_t functions = 0;
        for_each_entry([&](const EntryHeader& header) {
            if (!header.is_cie) {
                ++functions;
            } else if (!add_cie(header)) {
                entries_.damaged = true;
            }
        });
        entries_.functions.reserve(entries_.functions.size() + functions);
        for_each_entry([this](const EntryHeader& header) {
            if (header.is_cie) return;
            if (!add_function(header)) entries_.damaged = true;
        });
    }

  private:
    template <typename Visit>
    void for_each_entry(Visit&& visit);
    bool add_cie(const EntryHeader& header);
    bool read_augmentation(ByteCursor& cursor, std::string_view augmentation,
                           CallFrameCie& cie) const;
    bool add_function(const EntryHeader& header);
    // The CIE at this offset; nullptr if there is no usable one.
    [[nodiscard]] const CallFrameCie* find_cie(std::uint64_t offset);
    [[nodiscard]] ByteCursor cursor_of(const EntryHeader& header) const {
        return ByteCursor(std::string_view(section_.bytes).substr(0, header.end), header.content);
    }
    [[nodiscard]] PointerBases bases() const { return {section_.address, section_.data_base}; }

    const CallFrameSection& section_;
    std::uint32_t number_;
    CallFrameEntries& entries_;
    std::size_t first_cie_;
    std::size_t last_found_ = 0;
};

template <typename Visit>
void SectionReader::for_each_entry(Visit&& visit) {
    ByteCursor cursor(section_.bytes);
    while (!cursor.at_end()) {
        EntryHeader header;
        header.offset = static_cast<std::uint32_t>(cursor.position());
        std::uint64_t length = cursor.number<std::uint32_t>();
        const bool extended = length == extended_length;
        if (extended) length = cursor.number<std::uint64_t>();
        // Linkers also leave empty entries in the middle, if the object file with the terminator
        // was not last.
        if (cursor.ok() && length == 0 && !section_.ends_at_zero) continue;
        const std::size_t pointer_at = cursor.position();
        const std::string_view entry = cursor.take(length);
        if (!cursor.ok()) entries_.damaged = true;
        if (!cursor.ok() || length == 0) return;
        header.end = static_cast<std::uint32_t>(cursor.position());
        ByteCursor content(entry);
        if (section_.is_debug_frame) {
            const std::uint64_t id =
                extended ? content.number<std::uint64_t>() : content.number<std::uint32_t>();
            header.is_cie =
                id == (extended ? std::numeric_limits<std::uint64_t>::max() : extended_length);
            header.cie_offset = id;
            header.has_cie_offset = true;
        } else {
            const std::uint32_t distance = content.number<std::uint32_t>();
            header.is_cie = distance == 0;
            header.has_cie_offset = distance <= pointer_at;
            header.cie_offset = pointer_at - distance;
        }
        header.content = static_cast<std::uint32_t>(pointer_at + content.position());
        if (content.ok()) {
            visit(header);
        } else {
            entries_.damaged = true;
        }
    }
}

bool SectionReader::read_augmentation(ByteCursor& cursor, std::string_view augmentation,
                                      CallFrameCie& cie) const {
    if (augmentation.empty() || augmentation == "eh") return true;
    if (augmentation.front() != 'z') return false;
    cie.has_augmentation_data = true;
    const std::size_t size = cursor.unsigned_leb128();
    const std::size_t start = cursor.position();
    ByteCursor data(cursor.take(size));
    if (!cursor.ok()) return false;
    for (const char letter : augmentation.substr(1)) {
        switch (letter) {
            case 'L':
                cie.names_landing_pads = data.number<std::uint8_t>() != pointer_omitted;
                break;
            case 'R': cie.address_encoding = data.number<std::uint8_t>(); break;
            case 'S': cie.signal_frame = true; break;
            case 'P': {
                const auto encoding = data.number<std::uint8_t>();
                if (encoding == pointer_omitted) break;
                // The size of an aligned pointer depends on its position.
                if (encoding == 0x50)
                    static_cast<void>(data.take((8 - (start + data.position()) % 8) % 8));
                if (!read_unbased_pointer(data, encoding & pointer_form_mask)) return false;
                break;
            }
            default: return false;
        }
    }
    return data.ok();
}

bool SectionReader::add_cie(const EntryHeader& header) {
    if (entries_.cies.size() - first_cie_ >= max_cies) return false;
    ByteCursor cursor = cursor_of(header);
    CallFrameCie cie;
    cie.offset = header.offset;
    cie.section = number_;
    const auto version = cursor.number<std::uint8_t>();
    if (version != 1 && version != 3 && version != 4) return false;
    const std::string_view augmentation = cursor.text();
    if (augmentation == "eh") static_cast<void>(cursor.take(8));
    if (version == 4) {
        const auto address_bytes = cursor.number<std::uint8_t>();
        const auto segment_bytes = cursor.number<std::uint8_t>();
        if (address_bytes != 8 || segment_bytes != 0) return false;
    }
    cie.code_alignment = cursor.unsigned_leb128();
    cie.data_alignment = cursor.signed_leb128();
    const std::uint64_t return_register =
        version == 1 ? cursor.number<std::uint8_t>() : cursor.unsigned_leb128();
    if (return_register != register_return_address) return false;
    if (!read_augmentation(cursor, augmentation, cie) || !cursor.ok()) return false;
    const auto code = code_of(section_, static_cast<std::uint32_t>(cursor.position()), header.end);
    if (!run_initial_program(code, cie)) return false;
    entries_.cies.push_back(cie);
    return true;
}

const CallFrameCie* SectionReader::find_cie(std::uint64_t offset) {
    const auto& cies = entries_.cies;
    if (last_found_ >= first_cie_ && last_found_ < cies.size() &&
        cies[last_found_].offset == offset)
        return &cies[last_found_];
    const auto found = std::lower_bound(
        cies.begin() + static_cast<std::ptrdiff_t>(first_cie_), cies.end(), offset,
        [](const CallFrameCie& cie, std::uint64_t wanted) { return cie.offset < wanted; });
    if (found == cies.end() || found->offset != offset) return nullptr;
    last_found_ = static_cast<std::size_t>(found - cies.begin());
    return &*found;
}

bool SectionReader::add_function(const EntryHeader& header) {
    const CallFrameCie* cie = header.has_cie_offset ? find_cie(header.cie_offset) : nullptr;
    if (cie == nullptr) return false;
    ByteCursor cursor = cursor_of(header);
    const auto begin = read_pointer(cursor, cie->address_encoding, bases());
    const auto size = read_unbased_pointer(cursor, cie->address_encoding & pointer_form_mask);
    if (!begin || !size) return false;
    std::string_view augmentation;
    if (cie->has_augmentation_data) augmentation = cursor.take(cursor.unsigned_leb128());
    if (!cursor.ok() || *size > std::numeric_limits<std::uint32_t>::max()) return false;
    if (*size == 0) return true;
    entries_.functions.push_back(
        CallFrameFunction{*begin, static_cast<std::uint32_t>(*size),
                          static_cast<std::uint32_t>(cie - entries_.cies.data()),
                          static_cast<std::uint32_t>(cursor.position()), header.end,
                          cie->names_landing_pads && !is_zero(augmentation)});
    return true;
}

}  // namespace

void read_call_frame_entries(const CallFrameSection& section, std::uint32_t number,
                             CallFrameEntries& entries) {
    SectionReader(section, number, entries).read();
}

}  // namespace lagtrap::binaries
