#include "settings/checked_files.hpp"

#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/unit/settings/marker_sources.hpp"

namespace lagtrap::settings::checked_files_test {
namespace {

namespace fs = std::filesystem;
using namespace testing_sources;
using testing::ElementsAre;
using testing::IsEmpty;

// Its folder is in a sticky one, so that nobody else can write above its files.
class CheckedFilesTest : public testing::Test {
  protected:
    CheckedFilesTest() {
        std::array<char, 32> name{"/dev/shm/checked-files-XXXXXX"};
        if (::mkdtemp(name.data()) == nullptr) std::abort();
        folder_ = name.data();
        fs::copy_file(marked_library, program());
        ::chmod(program().c_str(), 0755);
    }
    ~CheckedFilesTest() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string program() const { return folder_ / "program"; }
    static MarkerSource source(const std::string& path, std::uint32_t line = 2) {
        MarkerSource made = source_of(MarkerKind::Function, "f", path);
        made.binary_place = {line, 7};
        return made;
    }

    fs::path folder_;
    Diagnostics diagnostics_;
    CheckedFiles files_{diagnostics_};
};

TEST_F(CheckedFilesTest, AreOpenedOnce) {
    const auto* const first = files_.open(source(program()));
    ASSERT_NE(first, nullptr);
    fs::remove(program());
    EXPECT_EQ(files_.open(source(program(), 3)), first);
    EXPECT_TRUE(diagnostics_.empty());
    EXPECT_THAT(diagnostics_.take_warnings(), IsEmpty());
}

TEST_F(CheckedFilesTest, ThatOthersCanReplaceAreWarnedOfOnce) {
    ::chmod(program().c_str(), 0777);
    EXPECT_NE(files_.open(source(program())), nullptr);
    EXPECT_NE(files_.open(source(program(), 3)), nullptr);
    EXPECT_THAT(texts_of(diagnostics_.take_warnings()),
                ElementsAre("2: " + program() +
                            " is writable by everyone; expected only root and the owner: whoever "
                            "can replace the file chooses what is watched"));
    EXPECT_TRUE(diagnostics_.empty());
}

TEST_F(CheckedFilesTest, ThatAreMissingMayComeLater) {
    const std::string missing = folder_ / "later";
    EXPECT_EQ(files_.open(source(missing)), nullptr);
    EXPECT_EQ(files_.open(source(missing)), nullptr);  // inherited by another marker
    EXPECT_TRUE(diagnostics_.empty());
    EXPECT_THAT(texts_of(diagnostics_.take_warnings()),
                ElementsAre("2: \"" + missing +
                            "\" does not exist yet; it will be watched once a process runs it, "
                            "including in a container (binary=\"*/later\" matches every file of "
                            "that name)"));
}

TEST_F(CheckedFilesTest, ThatAreNoProgramsAreRefusedWhereTheyAreNamed) {
    const std::string text = folder_ / "text";
    std::ofstream(text) << "text";
    for (const std::uint32_t line : {2, 2, 3}) EXPECT_EQ(files_.open(source(text, line)), nullptr);
    const std::string refused = text +
                                ": is not a program or library (ELF); expected a program or "
                                "library (64-bit ELF)";
    EXPECT_THAT(problems_in(diagnostics_), ElementsAre("2: " + refused, "3: " + refused));
    EXPECT_THAT(diagnostics_.take_warnings(), IsEmpty());
}

TEST_F(CheckedFilesTest, AreRefusedByWhatCanBeKnown) {
    const Error denied = make_error(ErrorKind::Denied, "/a: Permission denied");
    for (int time = 0; time < 2; ++time) files_.refuse(source("/a"), denied);
    const Error damaged = make_error(ErrorKind::Invalid, "/b: damaged\x1b");
    files_.refuse(source("/b"), damaged);
    const std::string allowed = "; expected a program or library (64-bit ELF)";
    const auto notes = texts_of(diagnostics_.take_notes());
    if (root_may_know(denied)) {
        EXPECT_THAT(notes,
                    ElementsAre("2: /a could not be checked: Permission denied; run as root"));
        EXPECT_THAT(problems_in(diagnostics_), ElementsAre("2: /b: damaged\\x1b" + allowed));
    } else {
        EXPECT_THAT(notes, IsEmpty());
        EXPECT_THAT(problems_in(diagnostics_), ElementsAre("2: /a: Permission denied" + allowed,
                                                           "2: /b: damaged\\x1b" + allowed));
    }
}

}  // namespace
}  // namespace lagtrap::settings::checked_files_test
