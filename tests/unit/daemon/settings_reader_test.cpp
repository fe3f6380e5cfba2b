#include "daemon/settings_reader.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace lagtrap::daemon::settings_reader_test {
namespace {

class ASettingsReader : public testing::Test {
  protected:
    ASettingsReader() {
        std::array<char, 32> name{"/tmp/settings-reader-XXXXXX"};
        folder_ = ::mkdtemp(name.data());
        std::ofstream(folder_ / "settings.xml") << "<lagtrap";
    }
    ~ASettingsReader() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path folder_;
    boost::asio::io_context context_;
    int outcomes_ = 0;
    SettingsReader reader_{context_, folder_ / "settings.xml",
                           [this](const settings::ParseOutcome& outcome) {
                               EXPECT_FALSE(outcome.ok());
                               ++outcomes_;
                           }};
};

TEST_F(ASettingsReader, ReadsTheFileAndReportsInTheContext) {
    ASSERT_TRUE(reader_.begin(true));
    EXPECT_FALSE(reader_.take_wish());
    const auto work = boost::asio::make_work_guard(context_);
    context_.run_one();
    EXPECT_EQ(outcomes_, 1);
    EXPECT_TRUE(reader_.begin(true)) << "it is not reading any more";
    context_.run_one();
    EXPECT_EQ(outcomes_, 2);
}

TEST_F(ASettingsReader, RemembersAWishThatCameTooEarly) {
    EXPECT_FALSE(reader_.begin(false));
    EXPECT_TRUE(reader_.take_wish());
    EXPECT_FALSE(reader_.take_wish());
    ASSERT_TRUE(reader_.begin(true));
    EXPECT_FALSE(reader_.begin(true)) << "it has not reported yet";
    EXPECT_TRUE(reader_.take_wish());
}

}  // namespace
}  // namespace lagtrap::daemon::settings_reader_test
