#include "settings/short_forms.hpp"

#include <gmock/gmock.h>

#include "settings/element_text.hpp"
#include "tests/unit/settings/files.hpp"

namespace lagtrap::settings::short_forms_test {
namespace {

using namespace testing_files;

// An event in its long form, and what was reported.
struct LongForm {
    std::string elements;
    std::string problems;
    Element event;
};

LongForm long_form(const std::string& body, const std::string& attributes = "") {
    const std::string text = event(body, attributes);
    const LineIndex index(text);
    Diagnostics diagnostics;
    const Element root = read_document(index, diagnostics).value();
    LongForm result{{}, {}, with_long_forms(*root.child("event"), diagnostics)};
    for (const Element& child : result.event.children) result.elements += element_text(child, 0);
    for (const Diagnostic& one : diagnostics.take())
        result.problems += std::to_string(one.line) + ":" + std::to_string(one.column) + ": " +
                           one.found + "; " + one.allowed + "\n";
    return result;
}

TEST(ShortFormsTest, APairBecomesBeginAndEnd) {
    const LongForm pair = long_form("<usdt provider='app' name='query'/>");
    EXPECT_EQ(pair.elements,
              "<begin usdt=\"app:query__start\"/>\n<end usdt=\"app:query__done\"/>\n");
    EXPECT_EQ(pair.problems, "");
    const Element* const begin = pair.event.child("begin");
    ASSERT_TRUE(begin);
    EXPECT_EQ(begin->place.line, 3U);
    EXPECT_EQ(begin->place.column, 1U);
    // Errors about the probe point at the name in the pair.
    EXPECT_EQ(begin->attribute("usdt")->place.column, 22U);
    EXPECT_TRUE(begin->attribute("usdt")->given);
    EXPECT_EQ(begin->text_of("side"), "entry");
    EXPECT_FALSE(begin->attribute("side")->given);
    EXPECT_TRUE(begin->attribute("side")->valid);
    EXPECT_EQ(pair.event.child("end")->text_of("as"), "done");
    EXPECT_EQ(begin->attribute("binary"), nullptr);
    EXPECT_EQ(begin->attribute("key"), nullptr);
}

TEST(ShortFormsTest, APairHasItsOwnEndingsBinaryAndKey) {
    const LongForm pair = long_form(
        "<usdt provider='p' name='n' begin='entry' end='return' binary='/bin/x' key='arg2'/>");
    EXPECT_EQ(pair.elements,
              "<begin usdt=\"p:n__entry\" binary=\"/bin/x\" key=\"arg2\"/>\n"
              "<end usdt=\"p:n__return\" binary=\"/bin/x\" key=\"arg2\"/>\n");
    EXPECT_EQ(pair.event.child("end")->attribute("key")->spec->name, "key");
    EXPECT_EQ(pair.event.child("end")->attribute("binary")->place.column, 56U);
}

TEST(ShortFormsTest, ThePairComesFirstAndOtherElementsStay) {
    EXPECT_EQ(long_form("<stage name='s' usdt='a:s'/><usdt provider='a' name='b'/>"
                        "<end usdt='a:failed' as='failed'/><scope pid='1'/>")
                  .elements,
              "<begin usdt=\"a:b__start\"/>\n<end usdt=\"a:b__done\"/>\n"
              "<stage name=\"s\" usdt=\"a:s\"/>\n<end usdt=\"a:failed\" as=\"failed\"/>\n"
              "<scope pid=\"1\"/>\n");
}

TEST(ShortFormsTest, AnInvalidPairHasNoProbe) {
    for (const char* pair : {"<usdt provider='a b' name='n'/>", "<usdt provider='a' name='n:'/>",
                             "<usdt provider='a' name='n' begin=''/>", "<usdt name='n'/>"}) {
        const LongForm form = long_form(pair);
        const Attribute* const probe = form.event.child("begin")->attribute("usdt");
        ASSERT_TRUE(probe) << pair;
        EXPECT_FALSE(probe->valid) << pair;
        EXPECT_EQ(probe->text, "") << pair;
    }
    // Only its own ending matters for a marker.
    const LongForm form = long_form("<usdt provider='a' name='n' begin=''/>");
    EXPECT_TRUE(form.event.child("end")->attribute("usdt")->valid);
    EXPECT_EQ(form.event.child("end")->text_of("usdt"), "a:n__done");
}

TEST(ShortFormsTest, HeaderMeansLibrary) {
    const LongForm form = long_form("<header event='job' binary='/b'><stage name='s'/></header>");
    EXPECT_EQ(form.problems, "");
    ASSERT_EQ(form.event.children.size(), 1U);
    EXPECT_EQ(form.event.child("header"), nullptr);
    ASSERT_TRUE(form.event.child("library"));
    EXPECT_EQ(form.event.child("library")->text_of("event"), "job");
    EXPECT_EQ(form.event.child("library")->children_of("stage").size(), 1U);
}

TEST(ShortFormsTest, HeaderAndLibraryExcludeEachOther) {
    const LongForm form = long_form("<library binary='/b'/><header binary='/b'/>");
    EXPECT_EQ(form.problems,
              "3:23: <header> and <library> in one event; expected one of them: they mean the "
              "same\n");
    EXPECT_EQ(form.event.children.size(), 1U);
}

TEST(ShortFormsTest, APairExcludesOtherForms) {
    const std::string pair = "<usdt provider='a' name='b'/>";
    const std::string expected =
        " and <usdt> in one event; expected <usdt>, which has both markers, or <begin> and <end>\n";
    for (const auto& [other, name] :
         {std::pair("<begin usdt='a:b'/>", "begin"), std::pair("<end usdt='a:b'/>", "end"),
          std::pair("<end usdt='a:b' as='done'/>", "end"),
          std::pair("<function name='f'/>", "function"), std::pair("<library/>", "library"),
          std::pair("<header/>", "header"), std::pair("<run-queue/>", "run-queue")}) {
        const LongForm form = long_form(pair + other);
        EXPECT_EQ(form.problems, "3:30: <" + std::string(name) + ">" + expected) << other;
        EXPECT_EQ(form.event.children.size(), 2U) << other;
    }
    EXPECT_EQ(long_form(pair + "<end usdt='a:c' as='cancelled'/><key/>").problems, "");
    EXPECT_EQ(long_form("<begin usdt='a:b'/><end usdt='a:c'/><function name='f'/>").problems, "");
}

TEST(ShortFormsTest, TheEventsOwnAttributesStay) {
    const LongForm form = long_form("<usdt provider='a' name='b'/>", "binary='/bin/a'");
    EXPECT_EQ(form.event.text_of("binary"), "/bin/a");
    EXPECT_EQ(form.event.text_of("name"), "a");
}

}  // namespace
}  // namespace lagtrap::settings::short_forms_test
