// Which database a path names.
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/store/store.hpp"

namespace lagtrap::server::open_store_test {
namespace {

namespace fs = std::filesystem;

TEST(OpenStore, AnythingElseIsAFile) {
    std::string pattern = fs::temp_directory_path() / "lagtrap-open-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    for (const char* name : {"store", "postgresql", "postgres:"}) {
        const auto opened = open_store(fs::path(pattern) / name);
        ASSERT_TRUE(opened.ok()) << opened.error().message;
        EXPECT_TRUE(fs::is_regular_file(fs::path(pattern) / name));
    }
    EXPECT_FALSE(open_store(fs::path(pattern) / "none" / "store").ok());
    fs::remove_all(pattern);
}

}  // namespace
}  // namespace lagtrap::server::open_store_test
