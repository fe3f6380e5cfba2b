// Files that nobody would write: huge, damaged, odd.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>

#include <gmock/gmock.h>

#include "core/files.hpp"
#include "settings/diagnostics.hpp"
#include "settings/schema.hpp"
#include "tests/unit/settings/files.hpp"

namespace lagtrap::settings::hostile_files_test {
namespace {

using namespace testing_files;

// A folder that is removed with the test.
class TemporaryFolder {
  public:
    TemporaryFolder()
        : path_((std::filesystem::temp_directory_path() / "lagtrap-settings-XXXXXX").string()) {
        if (!mkdtemp(path_.data())) throw std::runtime_error("no temporary folder");
    }
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
        return std::filesystem::path(path_) / name;
    }

  private:
    std::string path_;
};

std::string load_and_format(const std::filesystem::path& path) {
    const ParseOutcome outcome = load_settings(path, BinaryCheck::Skip);
    EXPECT_FALSE(outcome.ok());
    return format_diagnostics(path.filename(), outcome.settings.source_text, outcome.diagnostics);
}

TEST(HostileFiles, AHundredMegabytesAreRefusedUnread) {
    const TemporaryFolder folder;
    const auto path = folder / "large.xml";
    const auto fd = open_file(path, O_CREAT | O_WRONLY, 0600);
    ASSERT_TRUE(fd);
    ASSERT_EQ(ftruncate(fd->get(), 100'000'000), 0);
    EXPECT_EQ(load_and_format(path),
              "large.xml: the file has 100000000 bytes; expected at most 1048576\n");
}

TEST(HostileFiles, TheLimitOfTheSizeIsExact) {
    std::string text = "<lagtrap version='1'/>";
    text.resize(file_bytes_limit, ' ');
    EXPECT_TRUE(parse_settings(text, BinaryCheck::Skip).ok());
    text += ' ';
    EXPECT_EQ(check(text, BinaryCheck::Skip),
              "settings.xml: the file has 1048577 bytes; expected at most 1048576\n");
}

TEST(HostileFiles, PipesFoldersAndNothing) {
    const TemporaryFolder folder;
    const auto pipe = folder / "pipe.xml";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(load_and_format(pipe), "pipe.xml: not a regular file; expected a settings file\n");
    EXPECT_EQ(load_and_format("/etc"), "etc: not a regular file; expected a settings file\n");
    EXPECT_EQ(load_and_format("/dev/zero"), "zero: not a regular file; expected a settings file\n");
    EXPECT_EQ(load_and_format(folder / "absent.xml"),
              "absent.xml: the file cannot be opened (No such file or directory); expected a "
              "settings file\n");
}

// Every outcome is either settings or at least one error, with a position inside the text and all
// its parts.
void expect_sound(const std::string& text) {
    const ParseOutcome outcome = parse_settings(text, BinaryCheck::Skip);
    const LineIndex index(text);
    for (const Diagnostic& diagnostic : outcome.diagnostics) {
        EXPECT_FALSE(diagnostic.found.empty());
        EXPECT_FALSE(diagnostic.allowed.empty());
        EXPECT_LE(Place({diagnostic.line, 0}), index.place_of(text.size()));
    }
    for (const char c : format_diagnostics("f", text, outcome.diagnostics))
        ASSERT_TRUE(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
}

TEST(HostileFiles, MutatedBytesNeverCrash) {
    const std::string good = content(data_folder / "good" / "everything.xml");
    std::mt19937 random(20240501);
    const std::string interesting = "<>&\"'=/!?-[] \t\nx#;:%\xc3\xff" + std::string(1, '\0');
    int bad = 0;
    for (int round = 0; round < 4000; ++round) {
        std::string text = good;
        for (int change = 1 + static_cast<int>(random() % 4); change > 0; --change) {
            const std::size_t at = random() % text.size();
            switch (random() % 5) {
                case 0: text[at] = static_cast<char>(random()); break;
                case 1: text[at] = interesting[random() % interesting.size()]; break;
                case 2: text.erase(at, 1 + random() % 20); break;
                case 3: text.insert(at, text.substr(random() % text.size(), random() % 60)); break;
                default: text.insert(at, 1, interesting[random() % interesting.size()]); break;
            }
        }
        expect_sound(text);
        if (!parse_settings(text, BinaryCheck::Skip).ok()) ++bad;
    }
    EXPECT_GT(bad, 2000);
}

TEST(HostileFiles, EveryTruncationIsAnErrorUntilTheEnd) {
    std::string good = content(data_folder / "good" / "everything.xml");
    good.erase(good.find_last_not_of('\n') + 1);
    for (std::size_t length = 0; length < good.size(); ++length) {
        const std::string text = good.substr(0, length);
        EXPECT_FALSE(parse_settings(text, BinaryCheck::Skip).ok()) << length;
        expect_sound(text);
    }
}

TEST(HostileFiles, ManyErrorsAreBounded) {
    std::string text = "<lagtrap version='1'>";
    while (text.size() < file_bytes_limit - 100) text += "<a b='c'/>";
    text += "</lagtrap>";
    const ParseOutcome outcome = parse_settings(text, BinaryCheck::Skip);
    ASSERT_EQ(outcome.diagnostics.size(), diagnostics_limit + 1);
    EXPECT_THAT(outcome.diagnostics.back().found, testing::EndsWith(" more errors"));
    EXPECT_LT(format_diagnostics("f", text, outcome.diagnostics).size(), 1'000'000);
}

TEST(HostileFiles, AnErrorFarOutInALongLineIsShownWithItsSurroundings) {
    const std::string before = "<lagtrap version='1'>" + std::string(500'000, ' ');
    for (const std::string& letter :
         {std::string("a"), std::string("\xc3\xa4"), std::string("\xf0\x9f\x90\x8c")}) {
        std::string letters;
        for (int i = 0; i < 100; ++i) letters += letter;
        const std::string text =
            before + "<!--" + letters + "--><x/>" + std::string(100, ' ') + "</lagtrap>";
        const std::string shown = "..." + letters.substr(0, 77 * letter.size()) + "--><x/>" +
                                  std::string(56, ' ') + "...\n  " + std::string(83, ' ') + "^\n";
        EXPECT_THAT(check(text, BinaryCheck::Skip), testing::HasSubstr(shown)) << letter;
    }
}

TEST(HostileFiles, PlacesLeadBackToTheirCharacters) {
    const std::string text =
        "ab\n\n\xc3\xa4\xc3\xb6\n" + std::string(1000, 'x') + "\xf0\x9f\x90\x8c\n\xc3\xa4";
    const LineIndex index(text);
    for (std::size_t offset = 0; offset < text.size(); ++offset) {
        const bool continues = (static_cast<unsigned char>(text[offset]) & 0xc0) == 0x80;
        if (!continues) {
            EXPECT_EQ(index.offset_of(index.place_of(offset)), offset);
        }
    }
    EXPECT_EQ(index.offset_of({1, 99}), 2U);
    EXPECT_EQ(index.offset_of({2, 99}), 3U);
    EXPECT_EQ(index.offset_of({9, 1}), text.size());
}

TEST(HostileFiles, OneTagOfAMegabyte) {
    std::string text = "<lagtrap version='1'><spool ";
    while (text.size() < file_bytes_limit - 100) text += "path='/x' ";
    text += "/></lagtrap>";
    EXPECT_EQ(parse_settings(text, BinaryCheck::Skip).diagnostics.size(), diagnostics_limit + 1);
}

TEST(HostileFiles, DepthIsBounded) {
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += "<a>";
    EXPECT_FALSE(parse_settings(text, BinaryCheck::Skip).ok());
    text = "<lagtrap version='1'>";
    for (int i = 0; i < 100'000; ++i) text += "<a>";
    for (int i = 0; i < 100'000; ++i) text += "</a>";
    EXPECT_THAT(check(text + "</lagtrap>", BinaryCheck::Skip),
                testing::HasSubstr("expected at most 16 levels"));
}

TEST(HostileFiles, ControlCharactersOfThePathAreShownNotSent) {
    const ParseOutcome outcome = parse_settings("<a/>", BinaryCheck::Skip);
    const std::string text =
        format_diagnostics("/etc/\x1b[31mred.xml", "<a/>", outcome.diagnostics);
    EXPECT_THAT(text, testing::StartsWith("/etc/\\x1b[31mred.xml:1:1: "));
}

}  // namespace
}  // namespace lagtrap::settings::hostile_files_test
