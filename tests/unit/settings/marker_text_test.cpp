// Markers as spelled in the settings.
#include "settings/marker_text.hpp"

#include <gmock/gmock.h>

#include "settings/parser.hpp"

namespace lagtrap::settings::marker_text_test {
namespace {

using testing::Eq;
using testing::Optional;

TEST(MarkerText, IsWhatTheParserReads) {
    for (const std::string name :
         {"app::Shop<int>::buy(int&&)", "operator\"\" _ms(unsigned long long)",
          "a::operator<=>(a const&)", "f'g", "Größe"}) {
        const auto element = function_element(name, "/opt/a & b/\"c\"");
        ASSERT_TRUE(element) << name;
        const auto outcome = parse_settings(
            "<lagtrap version='1'><event name='a' threshold='1s' trace-length='1s'>" + *element +
                "</event></lagtrap>",
            BinaryCheck::Skip);
        ASSERT_TRUE(outcome.ok()) << *element;
        EXPECT_EQ(outcome.settings.events.at(0).begin.name, name);
        EXPECT_EQ(outcome.settings.events.at(0).begin.binary, "/opt/a & b/\"c\"");
    }
}

TEST(MarkerText, HasTheElementThatTheNameTells) {
    EXPECT_THAT(usdt_element("shop", "buy__start", "/shop"),
                Optional(Eq(R"(<begin usdt="shop:buy__start" binary="/shop"/>)")));
    EXPECT_THAT(usdt_element("shop", "buy__done", "/shop"),
                Optional(Eq(R"(<end usdt="shop:buy__done" binary="/shop"/>)")));
    EXPECT_THAT(tracepoint_element("syscalls", "sys_enter_read"),
                Optional(Eq(R"(<begin tracepoint="syscalls:sys_enter_read"/>)")));
    EXPECT_THAT(tracepoint_element("syscalls", "sys_exit_read"),
                Optional(Eq(R"(<end tracepoint="syscalls:sys_exit_read"/>)")));
}

TEST(MarkerText, IsNoneWhereTheSettingsCanNotSayIt) {
    EXPECT_FALSE(function_element("", "/shop"));
    EXPECT_FALSE(function_element("a\nb", "/shop"));
    EXPECT_FALSE(function_element("a\xff", "/shop"));
    EXPECT_FALSE(function_element(" a", "/shop"));
    EXPECT_FALSE(function_element(std::string(5000, 'a'), "/shop"));
    EXPECT_FALSE(function_element("a", "shop"));
    EXPECT_FALSE(usdt_element("shop", "buy now", "/shop"));
}

TEST(MarkerText, CommentsEndWhereTheyEnd) {
    EXPECT_EQ(xml_comment("operator--() --> x"), "<!-- operator- -() - -> x -->");
    EXPECT_EQ(xml_comment("a---"), "<!-- a- - - -->");
    EXPECT_EQ(xml_comment("a\x01"), "<!-- a\\x01 -->");
}

}  // namespace
}  // namespace lagtrap::settings::marker_text_test
