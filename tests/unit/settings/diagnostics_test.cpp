#include "settings/diagnostics.hpp"

#include <gtest/gtest.h>

namespace lagtrap::settings::diagnostics_test {
namespace {

std::vector<std::string> found_in(Diagnostics& diagnostics) {
    std::vector<std::string> found;
    for (const Diagnostic& diagnostic : diagnostics.take()) found.push_back(diagnostic.found);
    return found;
}

TEST(Diagnostics, TwoErrorsAtOnePlaceAreTwoAndTheSameErrorIsOne) {
    Diagnostics diagnostics;
    diagnostics.add({3, 5}, "later", "");
    diagnostics.add({1, 2}, "first", "");
    diagnostics.add({1, 2}, "second", "");
    diagnostics.add({1, 2}, "first", "");
    diagnostics.add({1, 3}, "first", "");
    EXPECT_EQ(found_in(diagnostics),
              (std::vector<std::string>{"first", "second", "first", "later"}));
    EXPECT_TRUE(diagnostics.empty());
}

TEST(Diagnostics, ErrorsBeyondTheLimitAreCounted) {
    Diagnostics diagnostics;
    for (std::size_t i = 0; i <= diagnostics_limit; ++i)
        diagnostics.add({static_cast<std::uint32_t>(i + 1), 1}, "wrong", "");
    const auto all = diagnostics.take();
    ASSERT_EQ(all.size(), diagnostics_limit + 1);
    EXPECT_EQ(all.back().found, "1 more errors");
    EXPECT_EQ(all.back().line, 0U);
}

TEST(Diagnostics, AWarningIsSaidOnceAndEachNoteWhereItIs) {
    Diagnostics diagnostics;
    diagnostics.warn({2, 1}, "unsafe");
    diagnostics.warn({1, 1}, "unsafe");
    diagnostics.warn({1, 1}, "partly");
    const auto warnings = diagnostics.take_warnings();
    ASSERT_EQ(warnings.size(), 2U);
    EXPECT_EQ(warnings[0].text, "partly");
    EXPECT_EQ(warnings[1].text, "unsafe");
    diagnostics.note({4, 1}, "/bin/app", make_error(ErrorKind::Denied, "/bin/app: not readable"));
    diagnostics.note({3, 1}, "in two places");
    const auto notes = diagnostics.take_notes();
    ASSERT_EQ(notes.size(), 2U);
    EXPECT_EQ(notes[0].text, "in two places");
    EXPECT_EQ(notes[1].text, "/bin/app could not be checked: not readable; run as root");
}

}  // namespace
}  // namespace lagtrap::settings::diagnostics_test
