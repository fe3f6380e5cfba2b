// Sections and segments of an ELF file; every offset and count is checked against the file's size.
// Internal to binaries/; other code uses program_file.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::binaries {

inline constexpr std::uint64_t max_file_bytes = 4ULL << 30;
inline constexpr std::uint64_t max_symbols = 4'000'000;
inline constexpr std::uint64_t max_string_table_bytes = 512ULL << 20;
inline constexpr std::uint64_t max_notes_bytes = 64ULL << 20;

struct ElfSection {
    std::string name;
    std::uint32_t type = 0;  // SHT_*
    std::uint64_t flags = 0;
    std::uint64_t address = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint32_t link = 0;
    std::uint64_t alignment = 0;
};

struct ElfSegment {
    std::uint32_t type = 0;   // PT_*
    std::uint32_t flags = 0;  // PF_*
    std::uint64_t offset = 0;
    std::uint64_t address = 0;
    std::uint64_t file_bytes = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t alignment = 0;
};

// A note; points into the parsed bytes.
struct ElfNote {
    std::string_view name;  // without its terminating NUL
    std::uint32_t type = 0;
    std::string_view description;
};

// Calls `visit(ElfNote)` for each note until it returns false. Returns false if the notes are
// damaged; those before the damage were visited.
template <typename Visit>
bool for_each_note(std::string_view notes, std::uint64_t alignment, Visit&& visit);

// Maximum number of segments.
inline constexpr std::uint32_t max_segments = 4'096;

// Whether to accept object files (ET_REL), the form of dwz's common debug files.
enum class ElfKinds { Programs, AlsoObjects };

// A 64-bit little-endian program, library or separate debug file. Reads with pread rather than a
// mapping, so that a file that shrinks causes an error instead of SIGBUS. Not thread-safe.
class ElfImage {
  public:
    // Takes ownership of the file. `name` is for errors. ErrorKind::Invalid, TooLarge, System.
    [[nodiscard]] static Result<ElfImage> from_file(UniqueFd fd, std::string name,
                                                    ElfKinds kinds = ElfKinds::Programs);
    // The same for the file at `path`, whatever its type; does not block on a pipe.
    [[nodiscard]] static Result<ElfImage> open(const std::filesystem::path& path,
                                               ElfKinds kinds = ElfKinds::Programs);
    // The same for bytes in memory (an ELF file inside another).
    [[nodiscard]] static Result<ElfImage> from_bytes(std::string bytes, std::string name);

    // EM_*
    [[nodiscard]] std::uint16_t machine() const { return machine_; }
    // The entry address as linked; 0 if there is none.
    [[nodiscard]] std::uint64_t entry() const { return entry_; }
    [[nodiscard]] const std::vector<ElfSection>& sections() const { return sections_; }
    [[nodiscard]] const std::vector<ElfSegment>& segments() const { return segments_; }
    // The first section with this name and content in the file; nullptr if there is none.
    [[nodiscard]] const ElfSection* find_section(std::string_view name) const;
    // Reads `size` bytes at `offset`. ErrorKind::Invalid if the file ends before, TooLarge if it
    // exceeds `limit_bytes`.
    [[nodiscard]] Result<std::string> read(std::uint64_t offset, std::uint64_t size,
                                           std::uint64_t limit_bytes) const;
    [[nodiscard]] Result<std::string> read(const ElfSection& section,
                                           std::uint64_t limit_bytes) const;
    // The GNU build id in lower-case hexadecimal; empty if there is none.
    [[nodiscard]] std::string build_id() const;
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
    // ErrorKind::Invalid, with the file's name.
    [[nodiscard]] Error damaged(std::string_view what) const;

  private:
    [[nodiscard]] static Result<ElfImage> parse(ElfImage image, ElfKinds kinds);
    [[nodiscard]] Status parse_header(ElfKinds kinds);
    [[nodiscard]] Status parse_segments(std::uint64_t offset, std::uint64_t count);
    [[nodiscard]] Status parse_sections(std::uint64_t offset, std::uint64_t count,
                                        std::uint64_t names_index);

    UniqueFd fd_;
    std::string bytes_;  // used instead of fd_
    std::string name_;
    std::uint64_t size_bytes_ = 0;
    std::uint16_t machine_ = 0;
    std::uint64_t entry_ = 0;
    std::vector<ElfSection> sections_;
    std::vector<ElfSegment> segments_;
};

// The GNU build id in these notes, in hexadecimal; empty if there is none.
[[nodiscard]] std::string build_id_of_notes(std::string_view notes, std::uint64_t alignment);

// The little-endian number at `offset` of `bytes`, which must be large enough.
template <typename Number>
[[nodiscard]] Number number_at(std::string_view bytes, std::size_t offset) {
    Number number{};
    bytes.copy(reinterpret_cast<char*>(&number), sizeof number, offset);
    return number;
}

// The text at `offset` of a string table, up to its NUL; empty if it is outside the table.
[[nodiscard]] std::string_view text_at(std::string_view table, std::uint64_t offset);

template <typename Visit>
bool for_each_note(std::string_view notes, std::uint64_t alignment, Visit&& visit) {
    constexpr std::uint64_t header_bytes = 12;
    const std::uint64_t step = alignment == 8 ? 8 : 4;
    const auto padded = [step](std::uint64_t size) { return (size + step - 1) / step * step; };
    std::uint64_t position = 0;
    while (notes.size() - position >= header_bytes) {
        const std::uint64_t name_bytes = number_at<std::uint32_t>(notes, position);
        const std::uint64_t description_bytes = number_at<std::uint32_t>(notes, position + 4);
        const std::uint64_t name_start = position + header_bytes;
        const std::uint64_t description_start = position + padded(header_bytes + name_bytes);
        if (description_start + description_bytes > notes.size()) return false;
        ElfNote note;
        note.name = notes.substr(name_start, name_bytes);
        note.name = note.name.substr(0, note.name.find('\0'));
        note.type = number_at<std::uint32_t>(notes, position + 8);
        note.description = notes.substr(description_start, description_bytes);
        if (!visit(note)) return true;
        position = description_start + padded(description_bytes);
        if (position > notes.size()) return true;
    }
    return true;
}

}  // namespace lagtrap::binaries
