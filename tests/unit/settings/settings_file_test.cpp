#include "settings/settings_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "settings/schema.hpp"
#include "tests/unit/settings/files.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::settings::settings_file_test {
namespace {

class SettingsFile : public testing::Test {
  protected:
    [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "settings.xml"; }
    void write(const std::string& text) const { std::ofstream(path(), std::ios::binary) << text; }
    // "found; allowed", or the text.
    [[nodiscard]] std::string read(const std::string& what = "a settings file") const {
        const auto result = read_settings_file(path(), what);
        if (const auto* text = std::get_if<std::string>(&result)) return *text;
        const Diagnostic& problem = std::get<Diagnostic>(result);
        EXPECT_EQ(problem.line, 0U);
        EXPECT_EQ(problem.column, 0U);
        EXPECT_EQ(problem.hint, "");
        return problem.found + "; " + problem.allowed;
    }

    trace::TemporaryDirectory folder_;
};

TEST_F(SettingsFile, IsReadAsItIs) {
    const std::string text("\xef\xbb\xbf<lagtrap/>\r\n\0\xff", 17);
    write(text);
    EXPECT_EQ(read(), text);
    write("");
    EXPECT_EQ(read(), "");
}

TEST_F(SettingsFile, ThatIsMissingIsExplained) {
    EXPECT_EQ(read(),
              "the file cannot be opened (No such file or directory); expected a settings "
              "file");
    EXPECT_EQ(read("a preset"),
              "the file cannot be opened (No such file or directory); expected a preset");
}

TEST_F(SettingsFile, IsAPlainFile) {
    ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);  // nobody writes to it
    EXPECT_EQ(read(), "not a regular file; expected a settings file");
    std::filesystem::remove(path());
    std::filesystem::create_directory(path());
    EXPECT_EQ(read("a preset"), "not a regular file; expected a preset");
}

TEST_F(SettingsFile, IsReadThroughALink) {
    std::ofstream(folder_.path() / "other") << "text";
    std::filesystem::create_symlink("other", path());
    EXPECT_EQ(read(), "text");
}

TEST_F(SettingsFile, HasALimit) {
    write("");
    std::filesystem::resize_file(path(), 1 << 20);
    EXPECT_EQ(read(), std::string(1 << 20, '\0'));
    std::filesystem::resize_file(path(), (1 << 20) + 1);
    EXPECT_EQ(read(), "the file has 1048577 bytes; expected at most 1048576");
}

TEST_F(SettingsFile, TextsHaveTheSameLimit) {
    const Diagnostic problem = too_large(2'000'000);
    EXPECT_EQ(problem.found, "the file has 2000000 bytes");
    EXPECT_EQ(problem.allowed, "expected at most 1048576");
    EXPECT_EQ(problem.line, 0U);
    const auto large = parse_settings(std::string(file_bytes_limit + 1, ' '), BinaryCheck::Skip);
    ASSERT_EQ(large.diagnostics.size(), 1U);
    EXPECT_EQ(large.diagnostics[0].found, "the file has 1048577 bytes");
}

}  // namespace
}  // namespace lagtrap::settings::settings_file_test
