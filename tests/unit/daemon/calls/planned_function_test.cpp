#include "daemon/calls/planned_function.hpp"

#include <gtest/gtest.h>

#include "daemon/calls/name_expressions.hpp"

namespace lagtrap::daemon::planned_function_test {
namespace {

TEST(PlannedFunctionTest, HasWhatWasFoundInItsCode) {
    binaries::FunctionCalls found;
    found.first_code = "\x55";
    found.exits.resize(2);
    found.return_probe = true;
    const PlannedFunction planned = planned_function({3, 0x40}, "work", 2, found);
    EXPECT_EQ(planned.file, 3U);
    EXPECT_EQ(planned.entry, 0x40U);
    EXPECT_EQ(planned.name, "work");
    EXPECT_EQ(planned.level, 2U);
    EXPECT_EQ(planned.first_code, "\x55");
    EXPECT_EQ(planned.exits.size(), 2U);
    EXPECT_TRUE(planned.return_probe);
    EXPECT_EQ(planned.probed_entry, 0U);
    EXPECT_FALSE(planned.ends_elsewhere);
    const std::string longest(max_name_bytes, 'x');
    EXPECT_EQ(planned_function({0, 0}, longest + "y", 1, found).name, longest);
}

TEST(PlannedFunctionTest, IsReportedInPrintableText) {
    PlannedFunction planned;
    planned.file = 1;
    planned.entry = 0x40;
    planned.name = "a\x1b[2J";
    planned.level = 2;
    const calls::Function reported =
        reported_function(planned, {{"/opt/shop", {}}, {"/opt/lib\n.so", {}}}, {5, 6});
    EXPECT_EQ(reported.name, "a\\x1b[2J");
    EXPECT_EQ(reported.module, "/opt/lib\\x0a.so");
    EXPECT_EQ(reported.level, 2U);
    EXPECT_EQ(reported.entry, 0x40U);
    EXPECT_EQ(reported.cost.inside_ns, 5U);
    EXPECT_EQ(reported.cost.around_ns, 6U);
    EXPECT_FALSE(reported.seen);
    EXPECT_EQ(reported.line, 0U);
}

}  // namespace
}  // namespace lagtrap::daemon::planned_function_test
