#include "cli/add/event_names.hpp"

#include <gtest/gtest.h>

namespace lagtrap::cli::event_names_test {
namespace {

TEST(EventNames, AreNamesOfTheSettings) {
    EXPECT_EQ(event_name("/usr/bin/shop", "app::Shop::buy(int, char)"), "shop-buy");
    EXPECT_EQ(event_name("/usr/bin/shop", "(anonymous namespace)::buy(int)"), "shop-buy");
    EXPECT_EQ(event_name("/usr/bin/shop", "list<int>::push(int)"), "shop-list");
    EXPECT_EQ(event_name("/opt/7zip", "run"), "e7zip-run");
    EXPECT_EQ(event_name("/opt/.hidden", "run"), "e-hidden-run");
    EXPECT_EQ(event_name("/opt/a_B-9", "\xc3\xa4.z"), "a_B-9----z");
    EXPECT_EQ(setting_name("app::Shop::~Shop()"), "f-Shop");
    EXPECT_EQ(setting_name("7up"), "f7up");
    EXPECT_EQ(setting_name(""), "f");
    EXPECT_EQ(setting_name(std::string(100, 'a')).size(), 59);
    EXPECT_EQ(event_name("/opt/x", std::string(100, 'a')).size(), 63);
    EXPECT_EQ(without_parameters("a::(anonymous namespace)::b(c(*)(d))"),
              "a::(anonymous namespace)::b");
}

}  // namespace
}  // namespace lagtrap::cli::event_names_test
