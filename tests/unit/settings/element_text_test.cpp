#include "settings/element_text.hpp"

#include <gmock/gmock.h>

#include "settings/document.hpp"
#include "tests/unit/settings/files.hpp"

namespace lagtrap::settings::element_text_test {
namespace {

using namespace testing_files;

std::string text_of(const std::string& event, std::size_t indent = 0) {
    const std::string text = "<lagtrap version='1'>" + event + "</lagtrap>";
    const LineIndex index(text);
    Diagnostics diagnostics;
    const Element root = read_document(index, diagnostics).value();
    EXPECT_TRUE(diagnostics.empty());
    return element_text(*root.child("event"), indent);
}

TEST(ElementText, HasItsAttributesInTheOrderOfTheReferenceWithoutDefaults) {
    EXPECT_EQ(text_of("<event breach='deadline' binary='/b' threshold='1s' name='a'>"
                      "<function name='f'/></event>",
                      2),
              "  <event name=\"a\" threshold=\"1s\" binary=\"/b\">\n"
              "    <function name=\"f\"/>\n"
              "  </event>\n");
}

TEST(ElementText, BreaksLinesAt80Columns) {
    const auto second = [](std::size_t bytes) {
        return text_of("<event name='a' threshold='1s' binary='/" + std::string(bytes - 1, 'b') +
                       "'><run-queue/></event>");
    };
    // "<event name="a" threshold="1s" binary="...">" of 80 columns, with room for "/>".
    const std::size_t fits = 80 - 31 - 9 - 2;
    EXPECT_EQ(second(fits).substr(0, second(fits).find('\n')).size(), 79U);
    EXPECT_THAT(second(fits + 1), testing::StartsWith("<event name=\"a\" threshold=\"1s\"\n"
                                                      "       binary=\"/"));
}

TEST(ElementText, EscapesWhatXmlNeeds) {
    EXPECT_EQ(attribute_text("a<b>&\"c'\xc3\xa4"), "a&lt;b&gt;&amp;&quot;c'\xc3\xa4");
    EXPECT_THAT(text_of("<event name='a' threshold='1s' binary='/b'>"
                        "<function name='S&lt;int&gt;::f'/></event>"),
                testing::HasSubstr("<function name=\"S&lt;int&gt;::f\"/>"));
}

TEST(SuccessLine, CountsEventsAndWhatCouldNotBeChecked) {
    ParseOutcome outcome;
    EXPECT_EQ(success_line("a\n.xml", outcome), "a\\x0a.xml: 0 events, no errors\n");
    outcome.settings.events.resize(1);
    outcome.notes.resize(1);
    EXPECT_EQ(success_line("a.xml", outcome),
              "a.xml: 1 event, no errors; 1 marker or file could not be checked\n");
    outcome.settings.events.resize(3);
    outcome.notes.clear();
    outcome.warnings.resize(1);
    EXPECT_EQ(success_line("a.xml", outcome), "a.xml: 3 events, no errors\n");
    outcome.notes.resize(2);
    EXPECT_EQ(success_line("a.xml", outcome),
              "a.xml: 3 events, no errors; 2 markers or files could not be checked\n");
}

}  // namespace
}  // namespace lagtrap::settings::element_text_test
