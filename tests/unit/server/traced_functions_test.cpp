#include "server/ingest/traced_functions.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace lagtrap::server::traced_functions_test {
namespace {

trace::SystemFile traced(std::size_t functions) {
    trace::SystemFile system;
    system.breach_boottime_ns = 5'000;
    trace::FunctionCounts& counts = system.functions.emplace();
    counts.pid = 7;
    counts.from_ns = 2'000;
    counts.length_ns = 9'000;
    counts.others = 3;
    counts.others_own_ns = 10;
    for (std::size_t number = 0; number < functions; ++number)
        counts.functions.push_back(
            {"f" + std::to_string(number), "/bin/app", "/src/f.c", 12, 5, 0, 100, 50, {"main"}});
    return system;
}

trace::Delay delay_of(std::uint32_t pid) {
    trace::Delay delay;
    delay.begin_pid = pid;
    return delay;
}

TEST(TracedFunctionsTest, ThoseWithTheMostTimeAreToldWithThePathToTheirLongestCall) {
    const auto reported = traced_functions_json(traced(30), delay_of(7)).as_object();
    const auto& rows = reported.at("functions").as_array();
    ASSERT_EQ(rows.size(), traced_functions_limit);
    EXPECT_EQ(rows[0].at("name"), "f0");
    EXPECT_EQ(rows[0].at("source"), "/src/f.c:12");
    EXPECT_EQ(rows[0].at("path").as_array().at(0), "main");
    EXPECT_EQ(reported.at("called").to_number<int>(), 33);
    EXPECT_EQ(reported.at("own_ns").to_number<int>(), 3'010) << "of all";
    EXPECT_EQ(reported.at("before_breach_ns").to_number<int>(), 3'000);
}

TEST(TracedFunctionsTest, OtherProcessesAndTracesThatWereCutShortHaveNone) {
    EXPECT_TRUE(traced_functions_json(traced(3), delay_of(8)).is_null());
    trace::SystemFile cut = traced(3);
    cut.functions->length_ns = 0;
    EXPECT_TRUE(traced_functions_json(cut, delay_of(7)).is_null());
    EXPECT_TRUE(traced_functions_json(trace::SystemFile(), delay_of(7)).is_null());
}

}  // namespace
}  // namespace lagtrap::server::traced_functions_test
