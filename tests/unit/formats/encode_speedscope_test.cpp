#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "formats/encoders.hpp"
#include "tests/unit/formats/made_profile.hpp"

namespace lagtrap::formats::encode_speedscope_test {
namespace {

using test::made_profile;
using test::piece_of;
using test::thread_of;

boost::json::value encoded(const StackProfile& profile) {
    return boost::json::parse(encode_speedscope(profile));
}

std::string json_at(const StackProfile& profile, const std::string& pointer) {
    return boost::json::serialize(encoded(profile).at_pointer(pointer));
}

TEST(Speedscope, SaysWhatItIsAndWhoWroteIt) {
    const StackProfile profile = made_profile({});
    EXPECT_EQ(json_at(profile, "/$schema"),
              R"("https://www.speedscope.app/file-format-schema.json")");
    EXPECT_EQ(json_at(profile, "/exporter"), "\"lagtrap " LAGTRAP_VERSION "\"");
    EXPECT_EQ(json_at(profile, "/name"), R"("query, delay 1")");
    EXPECT_EQ(json_at(profile, "/activeProfileIndex"), "0");
    EXPECT_EQ(json_at(profile, "/profiles"), "[]");
}

TEST(Speedscope, AFrameHasItsSourceOrElseItsModule) {
    EXPECT_EQ(json_at(made_profile({{.function = "a"},
                                    {.function = "b", .module = "/usr/bin/app", .line = 5},
                                    {.function = "c", .module = "/m", .source = "/c.c", .line = 5},
                                    {.function = "d", .source = "/d.c"}}),
                      "/shared/frames"),
              R"([{"name":"a"},{"name":"b","file":"/usr/bin/app"},)"
              R"({"name":"c","file":"/c.c","line":5},{"name":"d","file":"/d.c"}])");
}

TEST(Speedscope, AThreadHasItsStacksAndWeights) {
    StackProfile profile = made_profile({{.function = "main"}, {.function = "work"}});
    Piece empty = piece_of(30, 5, 1), heavy = piece_of(40, 5, 2);
    empty.weight_ns = 0;
    heavy.weight_ns = 9;
    heavy.stack = 1;
    profile.threads = {
        thread_of(10, 11, "app", "worker", {piece_of(0, 30, 1), empty, heavy}),
        thread_of(20, 21, "other", "reader", {piece_of(0, 7, 0)}),
    };
    EXPECT_EQ(json_at(profile, "/profiles"),
              R"--([{"type":"sampled","name":"app / worker (11)","unit":"nanoseconds",)--"
              R"--("startValue":0,"endValue":39,"samples":[[0],[0,1]],"weights":[30,9]},)--"
              R"--({"type":"sampled","name":"other / reader (21)","unit":"nanoseconds",)--"
              R"--("startValue":0,"endValue":7,"samples":[[]],"weights":[7]}])--");
}

}  // namespace
}  // namespace lagtrap::formats::encode_speedscope_test
