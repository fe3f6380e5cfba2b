#include "binaries/unwind/call_frame_sections.hpp"

#include <zlib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::call_frame_sections_test {
namespace {

using ::testing::StartsWith;

Result<std::vector<CallFrameSection>> read(const TestFile& file) {
    TRY_ASSIGN(const ElfImage image, ElfImage::from_bytes(file.bytes(), "test file"));
    return read_call_frame_sections(image);
}

TestFile with(std::vector<TestSection> sections) {
    TestFile file;
    file.sections = std::move(sections);
    return file;
}

const TestSection eh_frame{".eh_frame", "eh frames", frames_address, SHF_ALLOC};
const TestSection debug_frame{".debug_frame", "debug frames"};

TEST(CallFrameSections, EhFrameComesBeforeDebugFrame) {
    const auto sections = read(with({debug_frame, eh_frame}));
    ASSERT_TRUE(sections) << sections.error().message;
    ASSERT_EQ(sections->size(), 2U);
    EXPECT_EQ((*sections)[0].bytes, "eh frames");
    EXPECT_EQ((*sections)[0].address, frames_address);
    EXPECT_FALSE((*sections)[0].is_debug_frame || (*sections)[0].ends_at_zero);
    EXPECT_EQ((*sections)[0].data_base, std::nullopt);
    EXPECT_EQ((*sections)[1].bytes, "debug frames");
    EXPECT_TRUE((*sections)[1].is_debug_frame);
    EXPECT_FALSE((*sections)[1].ends_at_zero);
    EXPECT_TRUE(read(TestFile()).value().empty());
}

TEST(CallFrameSections, DataIsRelativeToTheGlobalOffsetTable) {
    const TestSection plt{".got.plt", "x", 0x600000, SHF_ALLOC},
        got{".got", "x", 0x610000, SHF_ALLOC};
    EXPECT_EQ(read(with({eh_frame, got, plt})).value()[0].data_base, 0x600000U);
    EXPECT_EQ(read(with({eh_frame, got})).value()[0].data_base, 0x610000U);
}

// Version 1, a pointer relative to itself, which lies 0x1000 before the frames.
std::string index_of(std::uint32_t distance, unsigned version = 1, unsigned encoding = 0x1b) {
    return Bytes().u8(version).u8(encoding).u8(0xff).u8(0xff).u32(distance);
}

TEST(CallFrameSections, AnIndexLeadsToEhFrameWithoutSectionHeaders) {
    TestFile file = with({eh_frame});
    file.section_headers = false;
    EXPECT_TRUE(read(file).value().empty());
    file.eh_frame_hdr = index_of(0x1000 - 4);
    auto sections = read(file);
    ASSERT_TRUE(sections) << sections.error().message;
    ASSERT_EQ(sections->size(), 1U);
    EXPECT_EQ((*sections)[0].bytes, "eh frames");
    EXPECT_EQ((*sections)[0].address, frames_address);
    EXPECT_TRUE((*sections)[0].ends_at_zero);
    file.eh_frame_hdr = index_of(0x1000 - 4 + 3);
    sections = read(file);
    ASSERT_TRUE(sections);
    EXPECT_EQ((*sections)[0].bytes, "frames");
    EXPECT_EQ((*sections)[0].address, frames_address + 3);
    // With headers, the section counts.
    file.section_headers = true;
    EXPECT_EQ(read(file).value().size(), 1U);
    EXPECT_EQ(read(file).value()[0].bytes, "eh frames");
}

TEST(CallFrameSections, ADamagedIndexIsAnErrorIfThereIsNothingElse) {
    const auto problem = [](const std::string& index) {
        TestFile file = with({eh_frame});
        file.section_headers = false;
        file.eh_frame_hdr = index;
        const auto sections = read(file);
        EXPECT_FALSE(sections);
        if (sections) return std::string();
        EXPECT_EQ(sections.error().kind, ErrorKind::Invalid);
        return sections.error().message;
    };
    const std::string unknown =
        "test file: damaged unwind information: its index (.eh_frame_hdr) has an unknown form";
    EXPECT_EQ(problem(index_of(0x1000 - 4, 2)), unknown);
    EXPECT_EQ(problem(index_of(0x1000 - 4, 1, 0xff)), unknown);
    EXPECT_EQ(problem(index_of(0).substr(0, 7)), unknown);
    const std::string outside =
        "test file: damaged unwind information: its index (.eh_frame_hdr) says that it lies "
        "outside the file";
    EXPECT_EQ(problem(index_of(0x10000000)), outside);
    EXPECT_EQ(problem(index_of(0x1000 - 4 + 9)), outside);
    TestFile file = with({debug_frame});
    file.eh_frame_hdr = index_of(0x10000000);
    EXPECT_EQ(read(file).value().size(), 1U);
}

TestSection packed(const std::string& content, std::uint64_t claimed_bytes,
                   std::uint32_t method = ELFCOMPRESS_ZLIB) {
    std::string bytes(::compressBound(content.size()), '\0');
    uLongf size = bytes.size();
    ::compress(reinterpret_cast<Bytef*>(bytes.data()), &size,
               reinterpret_cast<const Bytef*>(content.data()), content.size());
    bytes.resize(size);
    return {".debug_frame", Bytes().u32(method).u32(0).u64(claimed_bytes).u64(1).raw(bytes), 0,
            SHF_COMPRESSED};
}

TEST(CallFrameSections, DebugFrameIsUnpacked) {
    EXPECT_EQ(read(with({packed("debug frames", 12)})).value()[0].bytes, "debug frames");
    EXPECT_TRUE(read(with({packed("debug frames", 12)})).value()[0].is_debug_frame);
    const auto problem = [](const TestSection& section) {
        const auto sections = read(with({section}));
        EXPECT_FALSE(sections);
        return sections ? Error{} : sections.error();
    };
    for (const std::uint64_t claimed : {11U, 13U}) {
        EXPECT_EQ(problem(packed("debug frames", claimed)).kind, ErrorKind::Invalid);
        EXPECT_EQ(problem(packed("debug frames", claimed)).message,
                  "test file: damaged unwind information: section .debug_frame cannot be unpacked");
    }
    EXPECT_EQ(problem(packed("debug frames", 12, 2)).kind, ErrorKind::Unsupported);
    EXPECT_EQ(problem(packed("debug frames", 12, 2)).message,
              "test file: section .debug_frame is packed by method 2; only zlib's (1) is known");
    TestSection short_header{".debug_frame", std::string(sizeof(Elf64_Chdr) - 1, '\0'), 0,
                             SHF_COMPRESSED};
    EXPECT_EQ(problem(short_header).message,
              "test file: damaged unwind information: a packed section without its header");
}

TEST(CallFrameSections, WhatWouldUnpackToMuchMoreIsRefused) {
    const TestSection section = packed("debug frames", 12);
    const std::uint64_t most = section.content.size() * 64;
    const auto error = [](std::uint64_t claimed) {
        return read(with({packed("debug frames", claimed)})).error();
    };
    EXPECT_EQ(error(most).kind, ErrorKind::Invalid) << "but not too large";
    EXPECT_EQ(error(most + 1).kind, ErrorKind::TooLarge);
    EXPECT_EQ(error(most + 1).message, "test file: section .debug_frame would unpack to " +
                                           std::to_string(most + 1) + " bytes from " +
                                           std::to_string(section.content.size()));
    EXPECT_EQ(error(max_call_frame_bytes + 1).kind, ErrorKind::TooLarge);
}

}  // namespace
}  // namespace lagtrap::binaries::test::call_frame_sections_test
