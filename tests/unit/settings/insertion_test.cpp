// Adds elements to settings without changing anything else.
#include "settings/insertion.hpp"

#include <gmock/gmock.h>

#include "settings/parser.hpp"

namespace lagtrap::settings::insertion_test {
namespace {

using testing::HasSubstr;

constexpr const char* event =
    "  <event name=\"a\" threshold=\"1s\" trace-length=\"2s\"><function name=\"f\" "
    "binary=\"/f\"/></event>\n";

std::string added(std::string_view text, std::string_view elements = event) {
    const auto result = with_elements(text, elements, "settings.xml");
    return result ? *result : "error: " + result.error().message;
}

TEST(Insertion, StandsBeforeTheEndTag) {
    EXPECT_EQ(added("<lagtrap version='1'>\n  <!-- kept -->\n</lagtrap>\n"),
              std::string("<lagtrap version='1'>\n  <!-- kept -->\n") + event + "</lagtrap>\n");
    EXPECT_EQ(added("<lagtrap version='1'><recording/></lagtrap>"),
              std::string("<lagtrap version='1'><recording/>\n") + event + "</lagtrap>");
    EXPECT_EQ(added("<lagtrap version='1'>\n  </lagtrap >"),
              std::string("<lagtrap version='1'>\n") + event + "  </lagtrap >");
}

TEST(Insertion, OpensAnElementThatClosesItself) {
    EXPECT_EQ(added("<lagtrap version='1'/>\n"),
              std::string("<lagtrap version='1'>\n") + event + "</lagtrap>\n");
}

TEST(Insertion, IsNotMisledByComments) {
    const std::string text =
        "<lagtrap version='1'>\n<!-- </lagtrap> -->\n</lagtrap>\n<!-- </lagtrap> -->\n<!-- b/> "
        "-->\n";
    EXPECT_EQ(added(text), std::string("<lagtrap version='1'>\n<!-- </lagtrap> -->\n") + event +
                               "</lagtrap>\n<!-- </lagtrap> -->\n<!-- b/> -->\n");
    // A comment after a self-closing element does not end it.
    const std::string closed = added("<lagtrap version='1'/>\n<!-- b/> -->\n");
    EXPECT_TRUE(closed.starts_with("error: ") ||
                parse_settings(closed, BinaryCheck::Skip).settings.events.size() == 1);
}

TEST(Insertion, RefusesWhatWouldBeWrong) {
    EXPECT_THAT(
        added("<lagtrap version='1'>\n<evnt/>\n</lagtrap>\n"),
        HasSubstr("the settings already have errors:\nsettings.xml:2:1: unknown element <evnt>"));
    const std::string once = added("<lagtrap version='1'>\n</lagtrap>\n");
    EXPECT_THAT(added(once), HasSubstr("settings.xml:3:10: a second event \"a\""));
    EXPECT_THAT(added("<lagtrap version='1'/>", "<event/>"), HasSubstr("would have errors"));
}

}  // namespace
}  // namespace lagtrap::settings::insertion_test
