// Notes of USDT probes built byte by byte.
#include "binaries/usdt/usdt_notes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/usdt/usdt_sites.hpp"
#include "tests/unit/binaries/support.hpp"
#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::usdt_notes_test {
namespace {

using namespace std::string_literals;
constexpr std::uint64_t semaphores_address = 0x700000;

struct Probe {
    std::uint64_t address = code_at + 0x10, base = 0, semaphore = 0;
    std::string texts = "shop\0order\0-4@%eax 8@-16(%rbp)\0"s;
};

std::string note(const std::string& description, std::uint32_t type = 3,
                 const std::string& name = "stapsdt") {
    Bytes bytes;
    bytes.u32(name.size() + 1).u32(description.size()).u32(type).raw(name).u8(0);
    const auto pad = [&] {
        while (bytes.size() % 4 != 0) bytes.u8(0);
    };
    pad();
    bytes.raw(description);
    pad();
    return bytes;
}

std::string note_of(const Probe& probe) {
    return note(Bytes().u64(probe.address).u64(probe.base).u64(probe.semaphore).raw(probe.texts));
}

TestFile file_of(const std::string& notes, std::optional<std::uint64_t> base = {},
                 std::uint32_t type = SHT_NOTE) {
    TestFile file;
    file.sections = {{".note.stapsdt", notes, 0, 0, type},
                     {".probes", std::string(64, '\0'), semaphores_address, SHF_ALLOC}};
    if (base) file.sections.push_back({".stapsdt.base", "\1", *base, SHF_ALLOC});
    return file;
}

Result<std::vector<UsdtProbe>> probes_of(const TestFile& file) {
    TRY_ASSIGN(const ElfImage image, ElfImage::from_bytes(file.bytes(), "test file"));
    return read_usdt_probes(image);
}

TEST(UsdtNotes, AProbeHasItsPlaceNameAndArguments) {
    const auto probes = probes_of(
        file_of(note_of({.semaphore = semaphores_address + 2}) + note_of({.texts = "a\0b\0\0"s})));
    ASSERT_TRUE(probes) << probes.error().message;
    ASSERT_EQ(probes->size(), 2U);
    const UsdtProbe& probe = probes->front();
    EXPECT_EQ(probe.provider, "shop");
    EXPECT_EQ(probe.name, "order");
    EXPECT_EQ(probe.address, code_at + 0x10);
    EXPECT_EQ(probe.semaphore, semaphores_address + 2);
    EXPECT_EQ(probe.arguments, "-4@%eax 8@-16(%rbp)");
    EXPECT_EQ(probe.argument_count, 2U);
    EXPECT_EQ(probe.places.size(), 2U);
    EXPECT_EQ(probes->back().provider, "a");
    EXPECT_EQ(probes->back().name, "b");
    EXPECT_EQ(probes->back().semaphore, 0U);
    EXPECT_EQ(probes->back().argument_count, 0U);
}

TEST(UsdtNotes, PrelinkingMovesTheAddresses) {
    const std::string notes = note_of({.base = 0x500000, .semaphore = semaphores_address});
    const auto moved = probes_of(file_of(notes, 0x501000));
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->front().address, code_at + 0x1010);
    EXPECT_EQ(moved->front().semaphore, semaphores_address + 0x1000);
    EXPECT_EQ(probes_of(file_of(notes)).value().front().address, code_at + 0x10);
    const auto without = probes_of(file_of(note_of({}), 0x501000));
    EXPECT_EQ(without.value().front().address, code_at + 0x10);
    EXPECT_EQ(without.value().front().semaphore, 0U);
    EXPECT_EQ(probes_of(file_of(note_of({.base = 0x500000}), 0x501000)).value().front().semaphore,
              0U);
}

TEST(UsdtNotes, OtherNotesAreNoProbes) {
    const std::string description = Bytes().u64(code_at).u64(0).u64(0).raw("a\0b\0\0"s);
    for (const std::string& notes :
         {note(description, 4), note(description, 3, "GNU"), note(description, 3, "stapsdt2")})
        EXPECT_TRUE(probes_of(file_of(notes)).value().empty());
    EXPECT_TRUE(probes_of(file_of(note_of({}), {}, SHT_PROGBITS)).value().empty());
    EXPECT_TRUE(probes_of(TestFile()).value().empty());
}

TEST(UsdtNotes, DamageIsNumbered) {
    const auto problem = [](const std::string& damaged) {
        const auto probes = probes_of(file_of(note_of({}) + damaged));
        EXPECT_FALSE(probes);
        if (probes) return std::string();
        EXPECT_EQ(probes.error().kind, ErrorKind::Invalid);
        return probes.error().message;
    };
    const std::string text =
        "test file: damaged .note.stapsdt: probe 2 has no addresses, provider or name";
    EXPECT_EQ(problem(note(std::string(23, '\0'))), text);
    for (const std::string& texts :
         {""s, "shop"s, "shop\0order"s, "shop\0order\0-4@%eax"s, "\0order\0\0"s, "shop\0\0\0"s})
        EXPECT_EQ(problem(note_of({.texts = texts})), text) << texts;
    std::string longer = note_of({});
    longer[4] = '\x7f';
    EXPECT_EQ(problem(longer),
              "test file: damaged .note.stapsdt: a note is longer than its section");
}

TEST(UsdtNotes, LargeNotesAreRefused) {
    const auto with_arguments = [](std::size_t size) {
        return probes_of(
            file_of(note_of({.texts = "a\0b\0"s + std::string(size - 29, 'x') + '\0'})));
    };
    EXPECT_TRUE(with_arguments(65'536));
    const auto larger = with_arguments(65'537);
    ASSERT_FALSE(larger);
    EXPECT_EQ(larger.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(larger.error().message,
              "test file: a USDT note of 65537 bytes; at most 65536 are read");
}

TEST(UsdtNotes, TooManyProbesAreRefused) {
    std::string notes;
    const std::string one = note_of({.texts = "a\0b\0\0"s});
    for (std::size_t i = 0; i < max_usdt_probes; ++i) notes += one;
    EXPECT_EQ(probes_of(file_of(notes)).value().size(), 100'000U);
    const auto more = probes_of(file_of(notes + one));
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(more.error().message, "test file: has more than 100000 USDT probes");
}

class UsdtSites : public ::testing::Test {
  protected:
    Result<std::vector<UsdtSite>> sites(const std::string& notes, const char* provider = "shop",
                                        const char* name = "order") {
        const auto path = folder_.path() / "program";
        write(path, file_of(notes).bytes());
        TRY_ASSIGN(const ProgramFile file, ProgramFile::open(path));
        return usdt_sites(file, provider, name);
    }
    TemporaryFolder folder_;
};

TEST_F(UsdtSites, AreAllOfThatName) {
    const std::string notes =
        note_of({.semaphore = semaphores_address + 2}) + note_of({.address = code_at + 0x20}) +
        note_of({.texts = "shop\0other\0\0"s}) + note_of({.texts = "bank\0order\0\0"s});
    const auto found = sites(notes);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->size(), 2U);
    EXPECT_EQ((*found)[0].file_offset, code_file_offset + 0x10);
    EXPECT_NE((*found)[0].semaphore_offset, 0U);
    EXPECT_EQ((*found)[0].semaphore_offset % 16, 2U) << "within its section";
    EXPECT_EQ((*found)[0].probe.name, "order");
    EXPECT_EQ((*found)[1].file_offset, code_file_offset + 0x20);
    EXPECT_EQ((*found)[1].semaphore_offset, 0U);
    for (const auto& [provider, name] : {std::pair{"shop", "none"}, {"none", "order"}}) {
        const auto none = sites(notes, provider, name);
        ASSERT_FALSE(none);
        EXPECT_EQ(none.error().kind, ErrorKind::NotFound);
        EXPECT_EQ(none.error().message, "no such probe");
    }
}

TEST_F(UsdtSites, AreWithinTheFile) {
    const auto outside = sites(note_of({.address = 0x100}));
    ASSERT_FALSE(outside);
    EXPECT_EQ(outside.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(outside.error().message, "a probe address is outside the file's segments");
    const auto semaphore = sites(note_of({.semaphore = 0x100}));
    ASSERT_FALSE(semaphore);
    EXPECT_EQ(semaphore.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(semaphore.error().message, "a semaphore is outside the file's segments");
    EXPECT_TRUE(sites(note_of({}) + note_of({.address = 0x100, .texts = "a\0b\0\0"s})));
}

}  // namespace
}  // namespace lagtrap::binaries::test::usdt_notes_test
