#include "uploader/command_line.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::uploader::command_line_test {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;

class UploaderCommandLine : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = fs::temp_directory_path() / "lagtrap-uploader-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        root_ = pattern;
    }
    void TearDown() override { fs::remove_all(root_); }
    // Arguments with a settings file of these elements.
    Arguments with(const std::string& elements) const {
        std::ofstream(root_ / "settings.xml")
            << "<lagtrap version=\"1\">" << elements << "</lagtrap>";
        Arguments arguments;
        arguments.settings_file = root_ / "settings.xml";
        return arguments;
    }

    fs::path root_;
};

TEST_F(UploaderCommandLine, EachOptionHasItsPlace) {
    CLI::App app;
    Arguments arguments;
    add_options(app, arguments);
    EXPECT_FALSE(arguments.allow_http);
    EXPECT_FALSE(arguments.once);
    std::vector<std::string> line{"--settings", "/s",        "--spool",      "/p",
                                  "--url",      "https://u", "--token-file", "/t",
                                  "--ca-file",  "/c",        "--allow-http", "--once"};
    std::reverse(line.begin(), line.end());
    app.parse(line);
    EXPECT_EQ(arguments.settings_file, "/s");
    EXPECT_EQ(arguments.spool, "/p");
    EXPECT_EQ(arguments.url, "https://u");
    EXPECT_EQ(arguments.token_file, "/t");
    EXPECT_EQ(arguments.ca_file, "/c");
    EXPECT_TRUE(arguments.allow_http);
    EXPECT_TRUE(arguments.once);
}

TEST_F(UploaderCommandLine, WithSpoolAndAddressNoSettingsAreNeeded) {
    Arguments arguments;
    arguments.spool = "/elsewhere";
    arguments.url = "https://server.example/";
    arguments.token_file = "/token";
    arguments.ca_file = "/ca";
    const auto effective = effective_settings(arguments);
    ASSERT_TRUE(effective.ok()) << effective.error().message;
    EXPECT_EQ(effective->spool_path, "/elsewhere");
    ASSERT_TRUE(effective->target);
    EXPECT_EQ(effective->target->url, "https://server.example");
    EXPECT_EQ(effective->target->token_file, "/token");
    EXPECT_EQ(effective->target->ca_file, "/ca");
    EXPECT_FALSE(effective->collector);
    EXPECT_EQ(effective->lagtrap_program, "");
}

TEST_F(UploaderCommandLine, PlainHttpToAnotherMachineMustBeAllowed) {
    Arguments arguments;
    arguments.spool = "/elsewhere";
    arguments.url = "http://server.example";
    EXPECT_FALSE(effective_settings(arguments).ok());
    arguments.allow_http = true;
    EXPECT_TRUE(effective_settings(arguments).ok());
    arguments.allow_http = false;
    arguments.url = "http://localhost:1";
    EXPECT_TRUE(effective_settings(arguments).ok());
}

TEST_F(UploaderCommandLine, SettingsHoldUnlessTheCommandLineSaysOtherwise) {
    Arguments arguments = with(
        "<spool path=\"/from/settings\" size-limit=\"64MB\" age-limit=\"12h\"/>"
        "<upload url=\"https://from.settings\" token-file=\"/token\" ca-file=\"/ca\"/>");
    auto effective = effective_settings(arguments);
    ASSERT_TRUE(effective.ok()) << effective.error().message;
    EXPECT_EQ(effective->spool_path, "/from/settings");
    EXPECT_EQ(effective->retention.size_bytes, 64'000'000U);
    EXPECT_EQ(effective->retention.age, std::chrono::hours(12));
    ASSERT_TRUE(effective->target);
    EXPECT_EQ(effective->target->url, "https://from.settings");
    EXPECT_EQ(effective->target->token_file, "/token");
    EXPECT_EQ(effective->target->ca_file, "/ca");
    arguments.spool = "/spool";
    arguments.token_file = "/other-token";
    arguments.ca_file = "/other-ca";
    effective = effective_settings(arguments);
    ASSERT_TRUE(effective.ok()) << effective.error().message;
    EXPECT_EQ(effective->spool_path, "/spool");
    EXPECT_EQ(effective->target->url, "https://from.settings");
    EXPECT_EQ(effective->target->token_file, "/other-token");
    EXPECT_EQ(effective->target->ca_file, "/other-ca");
    arguments.url = "https://other";
    EXPECT_EQ(effective_settings(arguments)->target->url, "https://other");
    arguments.url = "http://other";
    EXPECT_FALSE(effective_settings(arguments).ok());
}

TEST_F(UploaderCommandLine, WithoutAServerBundlesWait) {
    const auto effective = effective_settings(with("<spool path=\"/from/settings\"/>"));
    ASSERT_TRUE(effective.ok()) << effective.error().message;
    EXPECT_FALSE(effective->target);
    EXPECT_FALSE(effective->collector);
}

TEST_F(UploaderCommandLine, ACollectorGetsSpansThatLagtrapMakes) {
    const auto effective = effective_settings(with("<otlp url=\"https://collector.example\"/>"));
    ASSERT_TRUE(effective.ok()) << effective.error().message;
    ASSERT_TRUE(effective->collector);
    EXPECT_EQ(effective->collector->url, "https://collector.example");
    EXPECT_THAT(effective->lagtrap_program, EndsWith("/lagtrap"));
    EXPECT_FALSE(effective->target);
}

TEST_F(UploaderCommandLine, WrongSettingsAreShownWithTheirPlace) {
    const auto wrong = effective_settings(with("<nonsense/>"));
    ASSERT_FALSE(wrong.ok());
    EXPECT_EQ(wrong.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(wrong.error().message, HasSubstr("settings.xml:1:"));
    EXPECT_THAT(wrong.error().message, HasSubstr("<nonsense/>"));
    Arguments missing;
    missing.settings_file = root_ / "missing.xml";
    EXPECT_FALSE(effective_settings(missing).ok());
    missing.spool = "/spool";
    missing.url = "https://server.example";
    EXPECT_FALSE(effective_settings(missing).ok()) << "a file that is named must be there";
}

TEST_F(UploaderCommandLine, TheRestOfTheSettingsHoldsToo) {
    const auto effective = effective_settings(
        with("<spool path=\"/from/settings\" keep-sent-runs=\"2h\"/>"
             "<upload url=\"https://from.settings\" proxy=\"http://proxy:3128\" timeout=\"90s\"/>"
             "<otlp url=\"https://collector\" ca-file=\"/ca\" token-file=\"/token\"/>"));
    ASSERT_TRUE(effective.ok()) << effective.error().message;
    EXPECT_EQ(effective->retention.sent_batch_age, std::chrono::hours(2));
    EXPECT_EQ(effective->retention.shortage_bytes, 0U);
    ASSERT_TRUE(effective->target && effective->collector);
    EXPECT_EQ(effective->target->proxy, "http://proxy:3128");
    EXPECT_EQ(effective->target->timeout, std::chrono::seconds(90));
    EXPECT_EQ(effective->collector->ca_file, "/ca");
    EXPECT_EQ(effective->collector->token_file, "/token");
    EXPECT_EQ(effective->target->token_file, "");
}

TEST_F(UploaderCommandLine, SpoolOrAddressAloneNeedTheSettings) {
    Arguments arguments = with("<spool path=\"/from/settings\"/>");
    arguments.url = "https://server.example";
    const auto effective = effective_settings(arguments);
    ASSERT_TRUE(effective.ok()) << effective.error().message;
    EXPECT_EQ(effective->spool_path, "/from/settings");
    EXPECT_EQ(effective->target->url, "https://server.example");
    CLI::App app;
    add_options(app, arguments);
    for (const char* text : {"Settings file; default: /etc/lagtrap/settings.xml",
                             "Spool folder to use instead of <spool> in the settings",
                             "Server address to use instead of <upload> in the settings",
                             "File with the token; must not be readable by others",
                             "Certificates to trust instead of the system's",
                             "Allow --url to be plain HTTP to another machine",
                             "Try each ready bundle once, print one line for each, and exit"})
        EXPECT_THAT(app.help("", CLI::AppFormatMode::Normal), HasSubstr(text));
}

}  // namespace
}  // namespace lagtrap::uploader::command_line_test
