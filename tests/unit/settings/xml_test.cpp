#include "settings/xml.hpp"

#include <string>

#include <gtest/gtest.h>

#include "settings/schema.hpp"

namespace lagtrap::settings::xml_test {
namespace {

// "LINE:COLUMN FOUND|EXPECTED|HINT" of each problem, each on a line.
std::string problems_of(const std::string& text) {
    const LineIndex index(text);
    Diagnostics diagnostics;
    pugi::xml_document document;
    const bool good = parse_xml(index, document, diagnostics);
    std::string problems;
    for (const Diagnostic& error : diagnostics.take())
        problems += std::to_string(error.line) + ":" + std::to_string(error.column) + " " +
                    error.found + "|" + error.allowed + "|" + error.hint + "\n";
    EXPECT_EQ(good, problems.empty());
    return problems;
}

TEST(Xml, ScansAStartTagWithItsAttributes) {
    const std::string text = " <a b='1' c = \"x'y\"/>";
    const auto tag = scan_start_tag(text, 1);
    ASSERT_TRUE(tag);
    EXPECT_EQ(tag->name, "a");
    EXPECT_TRUE(tag->closes_itself);
    EXPECT_EQ(tag->end, text.size());
    ASSERT_EQ(tag->attributes.size(), 2U);
    EXPECT_EQ(tag->attributes[0].offset, 4U);
    EXPECT_EQ(tag->attributes[0].name, "b");
    EXPECT_EQ(tag->attributes[0].value, "1");
    EXPECT_EQ(tag->attributes[1].offset, 10U);
    EXPECT_EQ(tag->attributes[1].name, "c");
    EXPECT_EQ(tag->attributes[1].value, "x'y");
    const auto open = scan_start_tag("<ab\n>c", 0);
    ASSERT_TRUE(open);
    EXPECT_EQ(open->name, "ab");
    EXPECT_FALSE(open->closes_itself);
    EXPECT_EQ(open->end, 5U);
}

TEST(Xml, ScansNoMalformedStartTag) {
    for (const char* text : {"", "a", "<", "<>", "< a>", "</a>", "<a", "<a ", "<a b>", "<a b=1>",
                             "<a b='1>", "<a b=", "<a b='1'", "<a /", "<a/b>", "<a ='1'>"})
        EXPECT_FALSE(scan_start_tag(text, 0)) << text;
    EXPECT_FALSE(scan_start_tag("<a>", 1));
    EXPECT_FALSE(scan_start_tag("<a>", 3));
}

TEST(Xml, DropsOneByteOrderMark) {
    EXPECT_EQ(without_byte_order_mark("\xef\xbb\xbf<a/>"), "<a/>");
    EXPECT_EQ(without_byte_order_mark("\xef\xbb<a/>"), "\xef\xbb<a/>");
    EXPECT_EQ(without_byte_order_mark("<a/>"), "<a/>");
}

TEST(Xml, AcceptsOneElementWithCommentsAndADeclarationAtTheStart) {
    EXPECT_EQ(problems_of("<?xml version=\"1.0\"?>\n<!-- x --><a b=\"&amp;&lt;&gt;&quot;&apos;"
                          "&#65;&#x41;&#10;\">x<![CDATA[<]]><!-- y --></a>\n<!-- z -->\n"),
              "");
}

TEST(Xml, RefusesWhatIsOutsideTheOneElement) {
    EXPECT_EQ(problems_of(" <!-- x --> "),
              "0:0 the file has no elements|expected <lagtrap version=\"1\">|\n");
    EXPECT_EQ(problems_of("<a/><b/><c/>"), "1:5 a second root element <b>|expected one|\n");
    EXPECT_EQ(problems_of("<a/>\n  x"), "2:3 text outside the root element|expected none|\n");
    EXPECT_EQ(problems_of("<a/><?xml version='1.0'?>"),
              "1:5 an XML declaration|expected only at the very start of the file|\n");
    EXPECT_EQ(problems_of("<a><?pi x?></a>"),
              "1:4 a processing instruction <?pi?>|expected none|\n");
    EXPECT_EQ(problems_of("<!DOCTYPE a><a/>"),
              "1:1 a document type declaration|expected none: settings cannot have a DTD|\n");
}

TEST(Xml, RefusesElementsBeyondTheDepthLimitOnce) {
    const auto nested = [](std::size_t levels) {
        std::string text;
        for (std::size_t i = 0; i < levels; ++i) text += "<a>";
        for (std::size_t i = 0; i < levels; ++i) text += "</a>";
        return text;
    };
    EXPECT_EQ(problems_of(nested(depth_limit)), "");
    const std::string refused = "1:" + std::to_string(3 * depth_limit + 1) +
                                " <a> is nested too deep|expected at most 16 levels|\n";
    EXPECT_EQ(problems_of(nested(depth_limit + 1)), refused);
    EXPECT_EQ(problems_of(nested(depth_limit + 3)), refused);
}

TEST(Xml, RefusesUnknownReferencesAndOpeningBracketsInAttributes) {
    const std::string refused =
        "1:4 b contains an & that starts no known reference|expected &amp;, &lt;, &gt;, &quot; or "
        "&apos;|\n";
    for (const char* value : {"&foo;", "&", "& x;", "&amp", "&#0;", "&#xD800;", "&#x;", "&#;",
                              "&#6a;", "&#x110000;", "&amp;&foo;", "&AMP;", "&#-1;"})
        EXPECT_EQ(problems_of(std::string("<a b='") + value + "'/>"), refused) << value;
    EXPECT_EQ(problems_of("<a c='' b='<'/>"), "1:9 b contains a <|expected &lt;|\n");
}

TEST(Xml, SaysWhichElementIsNotClosed) {
    EXPECT_EQ(problems_of("<a>\n<b/><c x='<!--'></c>"), "1:1 <a> is not closed|expected </a>|\n");
    EXPECT_EQ(problems_of("<a><b></b>"), "1:1 <a> is not closed|expected </a>|\n");
    EXPECT_EQ(problems_of("<a><b>"), "1:4 <b> is not closed|expected </b>|\n");
    EXPECT_EQ(problems_of("<a></b>"),
              "1:4 </b> while <a> is open|expected </a>|<a> opens at line 1\n");
    EXPECT_EQ(problems_of("<a>\n <b>\n"), "2:2 <b> is not closed|expected </b>|\n");
    EXPECT_EQ(problems_of("<a>\n <b>\n</a>"),
              "3:1 </a> while <b> is open|expected </b>|<b> opens at line 2\n");
    EXPECT_EQ(problems_of("<a/>\n</b>"),
              "2:1 </b> has no start tag|expected the end tag of an open element|\n");
    EXPECT_EQ(problems_of("<a></a x>"), "1:4 malformed end tag </a>|expected </a>|\n");
}

TEST(Xml, SaysWhereAConstructBegan) {
    EXPECT_EQ(problems_of("<a>\n<!-- x </a>"), "2:1 unterminated comment|expected -->|\n");
    EXPECT_EQ(problems_of("<a>\n<![CDATA[x</a>"), "2:1 unterminated CDATA section|expected ]]>|\n");
    EXPECT_EQ(problems_of("<a>\n<b c=1/></a>"),
              "2:1 malformed start tag <b>|expected attributes such as threshold=\"50ms\", then > "
              "or />|the tag breaks off at line 2, column 6\n");
}

}  // namespace
}  // namespace lagtrap::settings::xml_test
