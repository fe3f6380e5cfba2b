// Dynamic segments built entry by entry.
#include "binaries/elf/needed_libraries.hpp"

#include <elf.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::needed_libraries_test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
constexpr std::uint64_t strings_address = 0x500000;

class DynamicFile {
  public:
    // Returns the text's place among the strings.
    std::uint64_t text(const std::string& text) {
        const std::uint64_t place = strings_.size();
        strings_ += text + '\0';
        return place;
    }
    void entry(std::int64_t tag, std::uint64_t value) { entries_.number(tag).u64(value); }
    void usual_strings() { entry(DT_STRTAB, strings_address); }
    [[nodiscard]] Result<NeededLibraries> needed(bool with_segment = true) const {
        TestFile file;
        file.sections = {{".dynstr", strings_, strings_address, SHF_ALLOC},
                         {".dynamic", entries_.text(), 0x600000, SHF_ALLOC}};
        std::string bytes = file.bytes();
        // The last segment becomes the dynamic one.
        Elf64_Ehdr header;
        std::memcpy(&header, bytes.data(), sizeof header);
        const std::size_t at = header.e_phoff + (header.e_phnum - 1U) * sizeof(Elf64_Phdr);
        const Elf64_Word type = PT_DYNAMIC;
        if (with_segment) std::memcpy(bytes.data() + at, &type, sizeof type);
        TRY_ASSIGN(const ElfImage image, ElfImage::from_bytes(std::move(bytes), "test file"));
        return needed_libraries(image);
    }

  private:
    std::string strings_ = std::string(1, '\0');
    Bytes entries_;
};

TEST(NeededLibrariesTest, AreNamedInTheirOrder) {
    DynamicFile file;
    file.entry(DT_NEEDED, file.text("libz.so.1"));
    file.entry(DT_SONAME, file.text("libself.so"));
    file.entry(DT_RUNPATH, file.text("/opt/lib:$ORIGIN/../lib"));
    file.entry(DT_NEEDED, file.text("libc.so.6"));
    file.entry(DT_RPATH, file.text(":/old::/older:"));
    file.usual_strings();
    file.entry(DT_NULL, 0);
    file.entry(DT_NEEDED, file.text("after.so"));
    const auto needed = file.needed();
    ASSERT_TRUE(needed) << needed.error().message;
    EXPECT_THAT(needed->names, ElementsAre("libz.so.1", "libc.so.6"));
    EXPECT_THAT(needed->folders, ElementsAre("/opt/lib", "$ORIGIN/../lib", "/old", "/older"));
}

TEST(NeededLibrariesTest, AreNoneOfAStaticProgram) {
    DynamicFile file;
    file.entry(DT_NEEDED, file.text("libz.so.1"));
    file.usual_strings();
    const auto needed = file.needed(false);
    ASSERT_TRUE(needed);
    EXPECT_THAT(needed->names, IsEmpty());
    EXPECT_THAT(DynamicFile().needed().value().names, IsEmpty());
}

TEST(NeededLibrariesTest, NeedAStringTable) {
    DynamicFile file;
    file.entry(DT_NEEDED, file.text("libz.so.1"));
    const auto needed = file.needed();
    ASSERT_FALSE(needed);
    EXPECT_EQ(needed.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(needed.error().message, EndsWith("needed libraries without a string table"));
}

TEST(NeededLibrariesTest, HaveNamesWithinTheLoadedSegments) {
    DynamicFile file;
    file.entry(DT_NEEDED, 0x100000);
    file.usual_strings();
    const auto needed = file.needed();
    ASSERT_FALSE(needed);
    EXPECT_EQ(needed.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(needed.error().message,
                EndsWith("the name of a needed library lies outside the loaded segments"));
    DynamicFile folder;
    folder.entry(DT_RUNPATH, 0x100000);
    folder.usual_strings();
    EXPECT_FALSE(folder.needed());
}

TEST(NeededLibrariesTest, HaveShortNames) {
    DynamicFile file;
    file.entry(DT_NEEDED, file.text(std::string(5000, 'x')));
    file.usual_strings();
    EXPECT_THAT(file.needed().value().names, ElementsAre(std::string(4096, 'x')));
}

TEST(NeededLibrariesTest, TooManyEntriesAreRefused) {
    DynamicFile file;
    for (int i = 0; i <= (1 << 20) / 16; ++i) file.entry(DT_DEBUG, 0);
    const auto needed = file.needed();
    ASSERT_FALSE(needed);
    EXPECT_EQ(needed.error().kind, ErrorKind::TooLarge);
}

}  // namespace
}  // namespace lagtrap::binaries::test::needed_libraries_test
