#include "daemon/runs/kept_count.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace lagtrap::daemon::kept_count_test {
namespace {

TEST(KeptCount, OutlivesItsOwnerAndTakesNothingElseForANumber) {
    const auto path =
        std::filesystem::temp_directory_path() / ("lagtrap-count-" + std::to_string(::getpid()));
    const auto reopened = [&] {
        const auto count = KeptCount::open(path);
        EXPECT_TRUE(count.ok()) << count.error().message;
        return count.ok() ? count->value() : 0;
    };
    {
        auto count = KeptCount::open(path);
        ASSERT_TRUE(count.ok()) << count.error().message;
        EXPECT_EQ(count->value(), 0U);
        for (const std::uint64_t value : {std::uint64_t{UINT64_MAX}, std::uint64_t{12}}) {
            ASSERT_TRUE(count->set(value).ok());
            EXPECT_EQ(reopened(), value);
        }
    }
    for (const char* text : {"", "12", "00000000000000000x12\n", "00000000000000000012\n1",
                             "99999999999999999999\n"}) {
        std::ofstream(path) << text;
        EXPECT_EQ(reopened(), 0U) << text;
    }
    std::filesystem::remove(path);
    std::filesystem::create_symlink("/dev/null", path);
    EXPECT_FALSE(KeptCount::open(path).ok()) << "a link";
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace lagtrap::daemon::kept_count_test
