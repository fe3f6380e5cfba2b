#include "binaries/elf/elf_image.hpp"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/binaries/support.hpp"
#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::elf_image_test {
namespace {

using ::testing::StartsWith;

std::string problem(const std::string& bytes) {
    const auto image = ElfImage::from_bytes(bytes, "file");
    if (image) return "";
    EXPECT_EQ(image.error().kind, ErrorKind::Invalid);
    return image.error().message;
}

// The file with its header changed.
template <typename Change>
std::string changed(Change change, const TestFile& file = {}) {
    std::string bytes = file.bytes();
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    change(header);
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
}

TEST(ElfImageTest, SaysWhatAFileIsInstead) {
    EXPECT_EQ(problem("#!/bin/sh\n"),
              "file: is a script; name its interpreter, or mark the event "
              "with lagtrap.h");
    EXPECT_EQ(problem(""), "file: is not a program or library (ELF)");
    EXPECT_EQ(problem(std::string(100, 'x')), "file: is not a program or library (ELF)");
    EXPECT_EQ(problem(TestFile().bytes().substr(0, 63)), "file: is not a program or library (ELF)");
    EXPECT_EQ(problem(changed([](auto& header) { header.e_ident[EI_CLASS] = ELFCLASS32; })),
              "file: is a 32-bit program; only 64-bit programs can be watched");
    EXPECT_EQ(problem(changed([](auto& header) { header.e_ident[EI_DATA] = ELFDATA2MSB; })),
              "file: is a big-endian program; only little-endian programs can be watched");
    EXPECT_EQ(problem(changed([](auto& header) { header.e_type = ET_REL; })),
              "file: is an object file; name the program or library it was linked into");
    EXPECT_EQ(problem(changed([](auto& header) { header.e_type = ET_CORE; })),
              "file: is a core dump; name the program that wrote it");
    EXPECT_EQ(problem(changed([](auto& header) { header.e_type = 9; })),
              "file: is an ELF file of unknown type 9");
    for (const std::uint16_t type : {ET_EXEC, ET_DYN})
        EXPECT_EQ(problem(changed([&](auto& header) { header.e_type = type; })), "");
    EXPECT_EQ(problem(changed([](auto& header) { header.e_shentsize = 63; })),
              "file: damaged ELF file: section headers of an unknown size");
    EXPECT_EQ(problem(changed([](auto& header) { header.e_phentsize = 55; })),
              "file: damaged ELF file: program headers of an unknown size");
    EXPECT_THAT(problem(changed([](auto& header) { header.e_shoff = 1 << 30; })),
                StartsWith("file: damaged ELF file: 64 bytes at offset 1073741824, but the file "
                           "has "));
}

TEST(ElfImageTest, ObjectsAreReadIfWanted) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "object";
    write(path, changed([](auto& header) { header.e_type = ET_REL; }));
    EXPECT_TRUE(ElfImage::open(path, ElfKinds::AlsoObjects));
    EXPECT_FALSE(ElfImage::open(path));
    EXPECT_EQ(ElfImage::open(folder.path()).error().message,
              folder.path().string() + ": is a folder, not a program");
    EXPECT_EQ(ElfImage::open("/dev/null").error().message, "/dev/null: is not a regular file");
    EXPECT_EQ(ElfImage::open(folder.path() / "none").error().kind, ErrorKind::NotFound);
}

TEST(ElfImageTest, HasSectionsAndSegments) {
    TestFile file;
    file.entry = code_at + 4;
    file.sections = {{".one", "content", 0x500000, SHF_ALLOC},
                     {".nothing", "x", 0, 0, SHT_NOBITS},
                     {".nothing", "later", 0, 0},
                     {std::string(300, 'n'), "y"}};
    const auto image = ElfImage::from_bytes(file.bytes(), "file");
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_EQ(image->machine(), EM_X86_64);
    EXPECT_EQ(image->entry(), code_at + 4);
    EXPECT_EQ(image->name(), "file");
    EXPECT_EQ(image->size_bytes(), file.bytes().size());
    const ElfSection* const one = image->find_section(".one");
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(one->address, 0x500000U);
    EXPECT_EQ(one->size, 7U);
    EXPECT_EQ(one->flags, std::uint64_t{SHF_ALLOC});
    EXPECT_EQ(image->read(*one, 7).value(), "content");
    EXPECT_EQ(image->read(*image->find_section(".nothing"), 9).value(), "later");
    EXPECT_EQ(image->find_section(".two"), nullptr);
    EXPECT_NE(image->find_section(std::string(256, 'n')), nullptr);
    ASSERT_EQ(image->segments().size(), 2U);
    EXPECT_EQ(image->segments()[0].address, code_at);
    EXPECT_EQ(image->segments()[0].offset, code_file_offset);
    EXPECT_EQ(image->segments()[0].flags, std::uint32_t{PF_R | PF_X});
    EXPECT_EQ(image->segments()[1].file_bytes, 7U);
}

// Counts that exceed 16 bits are in the first section header.
TEST(ElfImageTest, CountsMayBeInTheFirstSection) {
    TestFile file;
    file.sections = {{".one", "content"}};
    std::string bytes = file.bytes();
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    Elf64_Shdr first{};
    first.sh_size = header.e_shnum;
    first.sh_link = header.e_shstrndx;
    first.sh_info = header.e_phnum;
    header.e_shnum = 0;
    header.e_shstrndx = SHN_XINDEX;
    header.e_phnum = PN_XNUM;
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + header.e_shoff, &first, sizeof first);
    const auto image = ElfImage::from_bytes(bytes, "file");
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_NE(image->find_section(".one"), nullptr);
    EXPECT_EQ(image->segments().size(), 1U);
    first.sh_info = max_segments + 1;
    std::memcpy(bytes.data() + header.e_shoff, &first, sizeof first);
    EXPECT_EQ(problem(bytes), "file: damaged ELF file: 4097 program headers");
}

TEST(ElfImageTest, ReadsWithinItsFileAndLimits) {
    const std::string bytes = TestFile().bytes();
    const TemporaryFolder folder;
    write(folder.path() / "file", bytes);
    const auto in_memory = ElfImage::from_bytes(bytes, "file");
    const auto on_disk = ElfImage::open(folder.path() / "file");
    ASSERT_TRUE(in_memory && on_disk);
    for (const ElfImage* image : {&*in_memory, &*on_disk}) {
        const std::uint64_t size = bytes.size();
        EXPECT_EQ(image->read(4, 8, 8).value(), bytes.substr(4, 8));
        EXPECT_EQ(image->read(size - 4, 4, 8).value(), bytes.substr(size - 4));
        EXPECT_EQ(image->read(size, 0, 8).value(), "");
        EXPECT_EQ(image->read(0, 9, 8).error().kind, ErrorKind::TooLarge);
        EXPECT_EQ(image->read(size - 4, 5, 8).error().kind, ErrorKind::Invalid);
        EXPECT_EQ(image->read(size + 1, 0, 8).error().kind, ErrorKind::Invalid);
        EXPECT_EQ(image->read(4, UINT64_MAX, UINT64_MAX).error().kind, ErrorKind::Invalid);
    }
    ASSERT_EQ(::truncate((folder.path() / "file").c_str(), 8), 0);
    EXPECT_EQ(on_disk->read(4, 8, 8).error().message,
              (folder.path() / "file").string() + ": the file ended early");
    ElfSection packed;
    packed.name = ".packed";
    packed.flags = SHF_COMPRESSED;
    EXPECT_EQ(in_memory->read(packed, 8).error().message, "file: section .packed is compressed");
    EXPECT_EQ(in_memory->read(packed, 8).error().kind, ErrorKind::Unsupported);
}

std::string note(const std::string& name, std::uint32_t type, const std::string& description) {
    Bytes bytes;
    bytes.u32(name.size() + 1).u32(description.size()).u32(type).raw(name).u8(0);
    while (bytes.size() % 4 != 0) bytes.u8(0);
    bytes.raw(description);
    while (bytes.size() % 4 != 0) bytes.u8(0);
    return bytes;
}

TEST(ElfImageTest, TheBuildIdIsInANoteOfGnu) {
    const std::string wanted = note("GNU", NT_GNU_BUILD_ID, "\x01\xab");
    EXPECT_EQ(build_id_of_notes(wanted, 4), "01ab");
    EXPECT_EQ(build_id_of_notes(note("GNU", 1, "x") + note("GNX", 3, "y") + wanted, 4), "01ab");
    EXPECT_EQ(build_id_of_notes(note("GNU", NT_GNU_BUILD_ID, "") + wanted, 4), "01ab");
    EXPECT_EQ(build_id_of_notes(wanted + note("GNU", NT_GNU_BUILD_ID, "z"), 4), "01ab");
    EXPECT_EQ(build_id_of_notes("", 4), "");
    EXPECT_EQ(build_id_of_notes(wanted.substr(0, wanted.size() - 4), 4), "");
    TestFile file;
    file.sections = {{".note.gnu.build-id", wanted, 0, 0, SHT_NOTE}};
    EXPECT_EQ(ElfImage::from_bytes(file.bytes(), "file")->build_id(), "01ab");
    file.sections[0].type = SHT_PROGBITS;
    EXPECT_EQ(ElfImage::from_bytes(file.bytes(), "file")->build_id(), "");
}

TEST(ElfImageTest, TextsEndAtTheirNul) {
    const std::string table("\0one\0two", 8);
    EXPECT_EQ(text_at(table, 1), "one");
    EXPECT_EQ(text_at(table, 2), "ne");
    EXPECT_EQ(text_at(table, 0), "");
    EXPECT_EQ(text_at(table, 5), "") << "it has no end";
    EXPECT_EQ(text_at(table, 8), "");
    EXPECT_EQ(text_at(table, 9), "");
}

}  // namespace
}  // namespace lagtrap::binaries::test::elf_image_test
