#include "binaries/elf/mapped_sections.hpp"

#include <unistd.h>
#include <zlib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/binaries/support.hpp"
#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::mapped_sections_test {
namespace {

using ::testing::EndsWith;
constexpr MappedSectionLimits limits{1 << 20, 1 << 20};

TestSection packed(const std::string& name, const std::string& content, std::uint64_t claimed_bytes,
                   std::uint32_t type = ELFCOMPRESS_ZLIB) {
    std::string bytes(::compressBound(content.size()), '\0');
    uLongf size = bytes.size();
    ::compress(reinterpret_cast<Bytef*>(bytes.data()), &size,
               reinterpret_cast<const Bytef*>(content.data()), content.size());
    bytes.resize(size);
    return {name, Bytes().u32(type).u32(0).u64(claimed_bytes).u64(1).raw(bytes), 0, SHF_COMPRESSED};
}

class MappedSectionsOfAFile : public ::testing::Test {
  protected:
    void write_file(std::vector<TestSection> sections) {
        TestFile file;
        file.sections = std::move(sections);
        write(path_, file.bytes());
    }
    Result<MappedSections> open(const std::vector<std::string_view>& wanted,
                                const MappedSectionLimits& with = limits) {
        return MappedSections::open(path_, wanted, with);
    }
    Error error_of(const std::vector<std::string_view>& wanted,
                   const MappedSectionLimits& with = limits) {
        const auto sections = open(wanted, with);
        EXPECT_FALSE(sections);
        return sections ? Error{} : sections.error();
    }

    TemporaryFolder folder_;
    std::filesystem::path path_ = folder_.path() / "file";
};

TEST_F(MappedSectionsOfAFile, AreTheWantedOnesInTheirOrder) {
    const std::string large(10'000, 'x');
    write_file({{".first", "one"}, {".second", large}, {".third", "three"}, {".first", "again"}});
    const auto sections = open({".third", ".missing", ".first", ".second"});
    ASSERT_TRUE(sections) << sections.error().message;
    ASSERT_EQ(sections->sections().size(), 3U);
    EXPECT_EQ(sections->sections()[0].name, ".third");
    EXPECT_EQ(sections->section(".third"), "three");
    EXPECT_EQ(sections->section(".first"), "one") << "the first of that name";
    EXPECT_EQ(sections->section(".second"), large);
    EXPECT_EQ(sections->section(".missing"), "");
    EXPECT_EQ(sections->unpacked_bytes(), 0U);
    EXPECT_FALSE(sections->file_was_cut());
    const std::string_view region(sections->data(), sections->size());
    for (const MappedSection& section : sections->sections()) {
        EXPECT_GE(section.offset, MappedSections::header_bytes);
        EXPECT_EQ(region.substr(section.offset, section.size), sections->section(section.name));
    }
    sections->data()[0] = 'h';
    sections->data()[MappedSections::header_bytes - 1] = 'h';
    sections->release_pages();
    EXPECT_EQ(sections->section(".second"), large) << "read again";
}

TEST_F(MappedSectionsOfAFile, WithoutContentAreLeftOut) {
    write_file({{".empty", ""}, {".some", "some"}});
    const auto sections = open({".empty", ".some"});
    ASSERT_TRUE(sections) << sections.error().message;
    EXPECT_EQ(sections->sections().size(), 1U);
    EXPECT_TRUE(open({}).value().sections().empty());
}

TEST_F(MappedSectionsOfAFile, AreUnpacked) {
    const std::string content(5000, 'y');
    write_file({packed(".packed", content, content.size()),
                {".plain", "plain"},
                packed(".more", "more", 4)});
    const auto sections = open({".packed", ".plain", ".more"});
    ASSERT_TRUE(sections) << sections.error().message;
    EXPECT_EQ(sections->section(".packed"), content);
    EXPECT_EQ(sections->section(".plain"), "plain");
    EXPECT_EQ(sections->section(".more"), "more");
    EXPECT_EQ(sections->unpacked_bytes(), 5004U);
    sections->release_pages();
    EXPECT_EQ(sections->section(".packed"), content) << "it is nowhere else";
}

TEST_F(MappedSectionsOfAFile, HaveLimits) {
    const std::string content(5000, 'y');
    write_file({packed(".packed", content, content.size()), packed(".more", "more", 4)});
    const std::uint64_t file_bytes = std::filesystem::file_size(path_);
    EXPECT_TRUE(open({".packed", ".more"}, {file_bytes, 5004}));
    Error error = error_of({".packed", ".more"}, {file_bytes, 5003});
    EXPECT_EQ(error.kind, ErrorKind::TooLarge);
    EXPECT_THAT(error.message, EndsWith("file: its compressed debug information has more than 0 "
                                        "MiB, the limit"));
    error = error_of({}, {file_bytes - 1, 5004});
    EXPECT_EQ(error.kind, ErrorKind::TooLarge);
    EXPECT_THAT(error.message, EndsWith("file: has 0 MiB; at most 0 MiB are read"));
}

TEST_F(MappedSectionsOfAFile, DamageIsNamed) {
    write_file({packed(".packed", "content", 8)});
    Error error = error_of({".packed"});
    EXPECT_EQ(error.kind, ErrorKind::Invalid);
    EXPECT_THAT(error.message, EndsWith("file: section .packed: its compressed data is damaged"));
    write_file({packed(".packed", "content", 7, 9)});
    EXPECT_EQ(error_of({".packed"}).kind, ErrorKind::Unsupported);
    write_file({{".packed", std::string(sizeof(Elf64_Chdr) - 1, '\0'), 0, SHF_COMPRESSED}});
    error = error_of({".packed"});
    EXPECT_EQ(error.kind, ErrorKind::Invalid);
    EXPECT_THAT(error.message, EndsWith("file: damaged ELF file: section .packed is compressed, "
                                        "but has no header"));
    write(path_, "no program");
    EXPECT_EQ(error_of({}).kind, ErrorKind::Invalid);
    std::filesystem::remove(path_);
    EXPECT_EQ(error_of({}).kind, ErrorKind::NotFound);
}

TEST_F(MappedSectionsOfAFile, OfAFileThatIsCutReadAsZeros) {
    write_file({{".some", std::string(100'000, 'x')}});
    const auto sections = open({".some"});
    ASSERT_TRUE(sections) << sections.error().message;
    ASSERT_EQ(::truncate(path_.c_str(), 64), 0);
    EXPECT_EQ(sections->section(".some").back(), '\0');
    EXPECT_TRUE(sections->file_was_cut());
}

TEST_F(MappedSectionsOfAFile, CanBeMoved) {
    write_file({{".some", "some"}});
    auto first = open({".some"}), second = open({".some"});
    ASSERT_TRUE(first && second);
    const char* const place = first->data();
    MappedSections moved(std::move(first).value());
    EXPECT_EQ(moved.data(), place);
    EXPECT_EQ(moved.section(".some"), "some");
    moved = std::move(second).value();
    EXPECT_EQ(moved.section(".some"), "some");
    EXPECT_GT(moved.size(), MappedSections::header_bytes);
}

}  // namespace
}  // namespace lagtrap::binaries::test::mapped_sections_test
