#include "settings/values.hpp"

#include <gtest/gtest.h>

namespace lagtrap::settings::values_test {
namespace {

TEST(Values, OnlyThisMachineIsLoopback) {
    for (const char* const host : {"localhost", "::1", "127.0.0.1", "127.1.2.3"})
        EXPECT_TRUE(is_loopback(host)) << host;
    for (const char* const host : {"127.0.example.com", "127.example.com", "10.127.0.1", "127.0.0", "", "example.com"})
        EXPECT_FALSE(is_loopback(host)) << host;
}

}  // namespace
}  // namespace lagtrap::settings::values_test
