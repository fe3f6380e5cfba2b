#include "server/store/object_figures.hpp"

#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "calls/object_stream.hpp"

namespace lagtrap::server::object_figures_test {
namespace {

template <typename T>
std::string line_of(const T& one) {
    return boost::json::serialize(calls::to_json(one)) + "\n";
}

std::vector<calls::ClassCounts> with_failures(const std::vector<std::uint64_t>& failures) {
    std::vector<calls::ClassCounts> classes;
    for (const std::uint64_t count : failures) classes.emplace_back().failures = count;
    return classes;
}

TEST(ObjectFigures, OfNothingAreNone) {
    for (const char* lines : {"", "\n\n", "no line of a trace\n{}"}) {
        const ObjectFigures figures = figures_of_objects(lines);
        EXPECT_EQ(figures.began_realtime_ns, std::nullopt);
        EXPECT_EQ(figures.classes, "");
        EXPECT_EQ(figures.class_count + figures.calls + figures.failures + figures.not_reported,
                  0U);
    }
}

TEST(ObjectFigures, OfTheFirstLineHaveTwentyNames) {
    calls::ObjectsStarted started;
    started.began_realtime_ns = 7;
    std::string names;
    for (int i = 0; i < 21; ++i) {
        started.classes.push_back("class" + std::to_string(i));
        if (i < 20) names += (i == 0 ? "" : "\n") + started.classes.back();
    }
    const ObjectFigures figures = figures_of_objects(line_of(started));
    EXPECT_EQ(figures.began_realtime_ns, 7U);
    EXPECT_EQ(figures.class_count, 21U);
    EXPECT_EQ(figures.classes, names);
    started.began_realtime_ns = UINT64_MAX;
    EXPECT_EQ(figures_of_objects(line_of(started)).began_realtime_ns,
              static_cast<std::uint64_t>(INT64_MAX));
}

TEST(ObjectFigures, CallsAddUpAndTheLastFailuresCount) {
    const std::vector<calls::ObjectCall> two(2), three(3);
    calls::ObjectCounts early, late;
    early.classes = with_failures({1, 2});
    late.classes = with_failures({3, 4});
    std::string lines = line_of(two) + "broken\n" + line_of(early) + line_of(three);
    EXPECT_EQ(figures_of_objects(lines).calls, 5U);
    EXPECT_EQ(figures_of_objects(lines).failures, 3U);
    lines += line_of(late);
    EXPECT_EQ(figures_of_objects(lines).failures, 7U);
    calls::ObjectsEnded ended;
    ended.classes = with_failures({5, 6});
    ended.not_sent = 8;
    lines += line_of(ended);
    lines.pop_back();  // the last line may lack its end
    const ObjectFigures figures = figures_of_objects(lines);
    EXPECT_EQ(figures.failures, 11U);
    EXPECT_EQ(figures.not_reported, 8U);
    EXPECT_EQ(figures.calls, 5U);
}

TEST(ObjectFigures, FitSignedColumns) {
    constexpr std::uint64_t most = INT64_MAX;
    calls::ObjectsEnded ended;
    ended.classes = with_failures({most - 1, 1});
    EXPECT_EQ(figures_of_objects(line_of(ended)).failures, most);
    ended.classes = with_failures({most, 1, UINT64_MAX});
    ended.not_sent = UINT64_MAX;
    EXPECT_EQ(figures_of_objects(line_of(ended)).failures, most);
    EXPECT_EQ(figures_of_objects(line_of(ended)).not_reported, most);
}

}  // namespace
}  // namespace lagtrap::server::object_figures_test
