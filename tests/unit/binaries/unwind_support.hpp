// Shared by tests of unwind tables: files with unwind information built byte by byte, and a reader
// of a table's pages that does not use the code under test.
#pragma once

#include <elf.h>
#include <fcntl.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "binaries/unwind/unwind_table.hpp"
#include "core/files.hpp"

namespace lagtrap::binaries::test {

inline Result<ElfImage> open_image(const std::filesystem::path& path) {
    TRY_ASSIGN(UniqueFd fd, open_file(path, O_RDONLY));
    return ElfImage::from_file(std::move(fd), path.string());
}

inline Result<UnwindTable> table_of_file(const std::filesystem::path& path) {
    TRY_ASSIGN(const ElfImage image, open_image(path));
    return make_unwind_table(image);
}

// A rule as the builder writes it.
inline lagtrap_unwind_rule rule(lagtrap_unwind_kind kind, std::uint8_t cfa_register = 0,
                                std::int32_t cfa_offset = 0,
                                lagtrap_unwind_rbp rbp = LAGTRAP_UNWIND_RBP_SAME,
                                std::int16_t rbp_offset = 0, unsigned added_words = 0) {
    return {cfa_offset, 0, rbp_offset, static_cast<__u8>(kind | rbp << 4),
            static_cast<__u8>(cfa_register | added_words << 4)};
}
inline lagtrap_unwind_rule at_rsp(std::int32_t offset) {
    return rule(LAGTRAP_UNWIND_REGISTER, 7, offset);
}

inline constexpr std::uint8_t define_cfa_offset = 0x0e;  // DW_CFA_def_cfa_offset

// A row of a table: this rule applies from `address` on.
struct TableRow {
    std::uint64_t address = 0;
    lagtrap_unwind_rule rule{};
};

MATCHER_P(IsRule, expected,
          "is kind " + std::to_string(expected.kind_and_rbp) + ", CFA offset " +
              std::to_string(expected.cfa_offset) + ", rbp offset " +
              std::to_string(expected.rbp_offset) + ", register and addend " +
              std::to_string(expected.register_and_add)) {
    *result_listener << "kind " << int{arg.kind_and_rbp} << ", CFA offset " << arg.cfa_offset
                     << ", rbp offset " << arg.rbp_offset << ", register and addend "
                     << int{arg.register_and_add};
    return std::memcmp(&arg, &expected, sizeof arg) == 0;
}

inline lagtrap_unwind_kind kind_of(const lagtrap_unwind_rule& rule) {
    return static_cast<lagtrap_unwind_kind>(rule.kind_and_rbp & 15);
}
inline lagtrap_unwind_rbp rbp_of(const lagtrap_unwind_rule& rule) {
    return static_cast<lagtrap_unwind_rbp>(rule.kind_and_rbp >> 4);
}
inline bool operator==(const TableRow& a, const TableRow& b) {
    return a.address == b.address && std::memcmp(&a.rule, &b.rule, sizeof a.rule) == 0;
}

// The rows of a table, read as bpf/unwind.h describes; `problem` if the layout differs.
struct TableRows {
    std::vector<TableRow> rows;
    std::string problem;
};

inline TableRows rows_of(const UnwindTable& table) {
    TableRows result;
    const auto fail = [&](std::string problem) {
        result.problem = std::move(problem);
        return result;
    };
    if (table.pages.size() != table.size_bytes() / 8) return fail("size of the pages");
    if (table.size_bytes() > max_unwind_table_bytes) return fail("too large");
    if (table.base_address % 1024 != 0) return fail("base address");
    if (table.bucket_count == 0 || table.segments.empty()) return fail("empty");
    if (table.rule_page != (table.bucket_count + 511) / 512) return fail("rule page");
    if (table.row_page <= table.rule_page || table.page_count < table.row_page)
        return fail("order of the pages");
    const std::string bytes(reinterpret_cast<const char*>(table.pages.data()), table.size_bytes());
    std::uint64_t unsupported = 0;
    for (std::uint64_t number = 0; number < table.bucket_count; ++number) {
        const auto bucket = number_at<lagtrap_unwind_bucket>(bytes, number * 8);
        std::int64_t last = -1;
        std::int64_t last_rule = -1;
        if (bucket.row_count == 0) {
            result.rows.push_back({table.base_address + number * 1024, {}});
            continue;
        }
        if (bucket.first_row / 1024 < table.row_page || bucket.first_row / 1024 >= table.page_count)
            return fail("first row outside the pages of rows");
        if (bucket.first_row % 1024 + std::uint64_t{bucket.row_count} > 1024)
            return fail("rows in two pages");
        for (std::uint64_t index = 0; index < bucket.row_count; ++index) {
            const auto row = number_at<std::uint32_t>(bytes, (bucket.first_row + index) * 4);
            const std::uint32_t offset = row >> 22;
            const std::uint32_t rule_number = row & 0x3fffff;
            if (index == 0 && offset != 0) return fail("first row not at offset 0");
            if (offset <= last) return fail("rows do not ascend");
            if (rule_number == last_rule) return fail("equal rows not merged");
            if (rule_number >= (table.row_page - table.rule_page) * 512)
                return fail("number of a rule");
            last = offset;
            last_rule = rule_number;
            const auto rule = number_at<lagtrap_unwind_rule>(
                bytes, std::uint64_t{table.rule_page} * 4096 + rule_number * 8);
            if (kind_of(rule) > LAGTRAP_UNWIND_UNSUPPORTED ||
                rbp_of(rule) > LAGTRAP_UNWIND_RBP_UNDEFINED)
                return fail("kind of a rule");
            if (kind_of(rule) == LAGTRAP_UNWIND_UNSUPPORTED) ++unsupported;
            result.rows.push_back({table.base_address + number * 1024 + offset, rule});
        }
        if (bucket.row_count == 1 && last_rule == 0) return fail("a gap with a row");
    }
    if (unsupported != table.unsupported_rows) return fail("count of unsupported rows");
    return result;
}

// Builds bytes of unwind information.
class Bytes {
  public:
    template <typename Number>
    Bytes& number(Number value) {
        text_.append(reinterpret_cast<const char*>(&value), sizeof value);
        return *this;
    }
    Bytes& u8(std::uint64_t value) { return number(static_cast<std::uint8_t>(value)); }
    Bytes& u16(std::uint64_t value) { return number(static_cast<std::uint16_t>(value)); }
    Bytes& u32(std::uint64_t value) { return number(static_cast<std::uint32_t>(value)); }
    Bytes& u64(std::uint64_t value) { return number(value); }
    Bytes& uleb(std::uint64_t value) {
        while (value >= 0x80) {
            u8(value | 0x80);
            value >>= 7;
        }
        return u8(value);
    }
    Bytes& sleb(std::int64_t value) {
        while (value < -0x40 || value >= 0x40) {
            u8(static_cast<std::uint64_t>(value) | 0x80);
            value >>= 7;
        }
        return u8(static_cast<std::uint64_t>(value) & 0x7f);
    }
    Bytes& raw(const std::string& bytes) {
        text_ += bytes;
        return *this;
    }
    // Prefixed by its length.
    Bytes& block(const std::string& bytes) { return uleb(bytes.size()).raw(bytes); }
    [[nodiscard]] std::size_t size() const { return text_.size(); }
    [[nodiscard]] const std::string& text() const { return text_; }
    operator const std::string&() const { return text_; }

  private:
    std::string text_;
};

inline constexpr std::uint64_t code_at = 0x401000;
inline constexpr std::uint64_t code_bytes = 0x4000;
inline constexpr std::uint64_t code_file_offset = 0x1000;
inline constexpr std::uint64_t frames_address = 0x500000;
inline constexpr std::uint64_t global_offset_table = 0x600000;

// The initial instructions that all compilers write: CFA = rsp + 8, return address at CFA - 8.
inline std::string usual_start() { return Bytes().u8(0x0c).uleb(7).uleb(8).u8(0x80 | 16).uleb(1); }

// A section of CIEs and FDEs at address frames_address.
class Frames {
  public:
    explicit Frames(bool debug_frame = false) : debug_frame_(debug_frame) {}

    // Returns its offset, for function(). `data` is the augmentation data; its length is added.
    std::size_t cie(const std::string& augmentation, const std::string& data,
                    const std::string& instructions, unsigned version = 1,
                    unsigned return_register = 16) {
        Bytes content;
        content.u8(version).raw(augmentation).u8(0);
        if (augmentation == "eh") content.u64(0x1234);
        if (version >= 4) content.u8(8).u8(0);
        content.uleb(1).sleb(-8).u8(return_register);
        if (!augmentation.empty() && augmentation[0] == 'z') content.block(data);
        return entry(debug_frame_ ? 0xffffffff : 0, content.raw(instructions));
    }
    std::size_t usual_cie() { return cie("zR", Bytes().u8(0x1b), usual_start()); }

    // With pointers encoded as pcrel|sdata4.
    void function(std::size_t cie, std::uint64_t begin, std::uint64_t size,
                  const std::string& instructions) {
        const std::uint64_t place = frames_address + bytes_.size() + 8;
        function_with(cie, Bytes().u32(begin - place).u32(size).uleb(0), instructions);
    }
    // `head` is begin and size in the CIE's encoding, and the length of the augmentation data.
    void function_with(std::size_t cie, const std::string& head, const std::string& instructions) {
        const std::uint64_t pointer = debug_frame_ ? cie : bytes_.size() + 4 - cie;
        entry(static_cast<std::uint32_t>(pointer), Bytes().raw(head).raw(instructions));
    }
    std::size_t entry(std::uint32_t id, const std::string& content) {
        const std::size_t offset = bytes_.size();
        bytes_.u32(4 + content.size()).u32(id).raw(content);
        return offset;
    }
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }
    Bytes& bytes() { return bytes_; }
    [[nodiscard]] const std::string& text() const { return bytes_.text(); }

  private:
    bool debug_frame_;
    Bytes bytes_;
};

struct TestSection {
    std::string name;
    std::string content;
    std::uint64_t address = 0;
    std::uint64_t flags = 0;
    std::uint32_t type = SHT_PROGBITS;
    std::uint32_t link = 0;
};

struct TestFile {
    std::vector<TestSection> sections;
    std::uint16_t machine = EM_X86_64;
    std::uint64_t entry = 0;
    bool section_headers = true;
    // at address frames_address - 0x1000, with PT_GNU_EH_FRAME
    std::string eh_frame_hdr;
    std::optional<std::uint64_t> second_code;  // address of another code segment
    std::uint64_t code_flags = PF_R | PF_X;

    // An ELF file with code from code_at on and these sections; each section with an address has
    // its own segment.
    [[nodiscard]] std::string bytes() const {
        std::string file(code_file_offset + code_bytes, '\0');
        std::vector<Elf64_Phdr> segments{
            segment(PT_LOAD, code_flags, code_file_offset, code_at, code_bytes)};
        if (second_code)
            segments.push_back(segment(PT_LOAD, code_flags, 0, *second_code, code_bytes));
        const auto append = [&file](const std::string& content) {
            const std::uint64_t offset = file.size();
            file += content;
            file.resize((file.size() + 15) / 16 * 16);
            return offset;
        };
        std::vector<Elf64_Shdr> headers{Elf64_Shdr{}};
        std::string names(1, '\0');
        for (const auto& section : sections) {
            const auto offset = append(section.content);
            Elf64_Shdr header{};
            header.sh_name = static_cast<Elf64_Word>(names.size());
            names += section.name + '\0';
            header.sh_type = section.type;
            header.sh_flags = section.flags;
            header.sh_addr = section.address;
            header.sh_offset = offset;
            header.sh_size = section.content.size();
            header.sh_link = section.link;
            headers.push_back(header);
            if (section.address != 0)
                segments.push_back(
                    segment(PT_LOAD, PF_R, offset, section.address, section.content.size()));
        }
        if (!eh_frame_hdr.empty())
            segments.push_back(segment(PT_GNU_EH_FRAME, PF_R, append(eh_frame_hdr),
                                       frames_address - 0x1000, eh_frame_hdr.size()));
        Elf64_Ehdr header{};
        std::memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_type = ET_EXEC;
        header.e_machine = machine;
        header.e_entry = entry;
        header.e_phentsize = sizeof(Elf64_Phdr);
        header.e_shentsize = sizeof(Elf64_Shdr);
        header.e_phnum = static_cast<Elf64_Half>(segments.size());
        header.e_phoff = append(std::string(reinterpret_cast<char*>(segments.data()),
                                            segments.size() * sizeof segments[0]));
        if (section_headers) {
            Elf64_Shdr name_header{};
            name_header.sh_type = SHT_STRTAB;
            name_header.sh_offset = append(names);
            name_header.sh_size = names.size();
            headers.push_back(name_header);
            header.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
            header.e_shnum = static_cast<Elf64_Half>(headers.size());
            header.e_shoff = append(std::string(reinterpret_cast<char*>(headers.data()),
                                                headers.size() * sizeof headers[0]));
        }
        std::memcpy(file.data(), &header, sizeof header);
        return file;
    }

  private:
    static Elf64_Phdr segment(std::uint32_t type, std::uint64_t flags, std::uint64_t offset,
                              std::uint64_t address, std::uint64_t size) {
        Elf64_Phdr header{};
        header.p_type = type;
        header.p_flags = static_cast<Elf64_Word>(flags);
        header.p_offset = offset;
        header.p_vaddr = address;
        header.p_filesz = size;
        header.p_memsz = size;
        return header;
    }
};

inline Result<UnwindTable> table_of(const TestFile& file) {
    TRY_ASSIGN(const ElfImage image, ElfImage::from_bytes(file.bytes(), "test file"));
    return make_unwind_table(image);
}

inline Result<UnwindTable> table_of(const Frames& frames) {
    TestFile file;
    file.sections.push_back({".eh_frame", frames.text(), frames_address, SHF_ALLOC});
    return table_of(file);
}

}  // namespace lagtrap::binaries::test
