#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/encoders.hpp"

namespace lagtrap::formats::encode_chrome_test {
namespace {

Piece piece_at(std::uint64_t begin_ns, std::uint64_t length_ns, std::uint32_t stack) {
    Piece piece;
    piece.begin_ns = begin_ns;
    piece.length_ns = piece.weight_ns = length_ns;
    piece.stack = piece.leaf = stack;
    piece.kind = analysis::TimeKind::OnCpu;
    return piece;
}

// The slices of calls: "main 0+30", in microseconds.
std::vector<std::string> slices_of(const StackProfile& profile) {
    static const std::regex slice(
        R"re("ph":"X","name":"(\w+)".*"ts":(\d+)\.000,"dur":(\d+)\.000)re");
    const std::string text = encode_chrome(profile);
    std::vector<std::string> slices;
    for (std::sregex_iterator found(text.begin(), text.end(), slice), end; found != end; ++found)
        slices.push_back((*found)[1].str() + " " + (*found)[2].str() + "+" + (*found)[3].str());
    return slices;
}

TEST(Chrome, ACallLastsAsLongAsNothingIsMissing) {
    StackProfile profile;
    profile.places = {{.function = "main"}, {.function = "work"}, {.function = "rest"}};
    profile.nodes = {{}, {0, 0}, {1, 1}, {1, 2}};
    profile.threads = {
        {10, 11, "app", "app", {piece_at(0, 10'000, 2), piece_at(10'000, 20'000, 3)}}};
    EXPECT_THAT(slices_of(profile),
                testing::UnorderedElementsAre("main 0+30", "work 0+10", "rest 10+20"));
    profile.threads[0].pieces[1].begin_ns = 15'000;
    EXPECT_THAT(slices_of(profile), testing::UnorderedElementsAre("main 0+10", "work 0+10",
                                                                  "main 15+20", "rest 15+20"));
}

// The events as JSON, one a line.
std::vector<std::string> events_of(const StackProfile& profile) {
    std::vector<std::string> lines;
    std::istringstream text(encode_chrome(profile));
    for (std::string line; std::getline(text, line);)
        if (line.starts_with("{\"ph\"")) lines.push_back(line.substr(0, line.rfind('}') + 1));
    return lines;
}

TEST(Chrome, ThreadsHaveNamesAndCallsTheirKind) {
    StackProfile profile;
    profile.title = "query";
    profile.host = "db1";
    profile.places = {{.function = "main", .module = "/usr/bin/app"},
                      {.function = "read", .kernel = true},
                      {.function = "blocked: disk", .state = true}};
    profile.nodes = {{}, {0, 0}, {1, 1}, {2, 2}};
    Piece piece = piece_at(1'500, 2'250, 2);
    piece.leaf = 3;
    profile.threads = {{10, 11, "app", "worker", {piece}}};
    EXPECT_THAT(
        events_of(profile),
        testing::ElementsAre(
            R"({"ph":"M","name":"process_name","pid":10,"tid":11,"args":{"name":"app"}})",
            R"({"ph":"M","name":"thread_name","pid":10,"tid":11,"args":{"name":"worker"}})",
            R"({"ph":"X","name":"blocked: disk","cat":"state","pid":10,"tid":11,)"
            R"("ts":1.500,"dur":2.250})",
            R"({"ph":"X","name":"read","cat":"kernel","pid":10,"tid":11,"ts":1.500,"dur":2.250})",
            R"({"ph":"X","name":"main","cat":"user","pid":10,"tid":11,"ts":1.500,)"
            R"("dur":2.250,"args":{"module":"/usr/bin/app"}})"));
    EXPECT_THAT(encode_chrome(profile),
                testing::StartsWith("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"title\":"
                                    "\"query\",\"host\":\"db1\",\"version\":\"lagtrap "));
}

TEST(Chrome, RunsBeginAndEnd) {
    StackProfile profile;
    Span span;
    span.name = "parse";
    span.event = "query";
    span.run = 7;
    span.pid = 10;
    span.tid = 11;
    span.begin_ns = 1'000;
    span.length_ns = 2'500;
    profile.spans = {span, span};
    profile.spans[1].delay = true;
    EXPECT_THAT(
        events_of(profile),
        testing::ElementsAre(
            R"({"ph":"b","name":"parse","cat":"run","id":"7","pid":10,"tid":11,"ts":1.000,)"
            R"("args":{"event":"query","delay":false}})",
            R"({"ph":"e","name":"parse","cat":"run","id":"7","pid":10,"tid":11,"ts":3.500})",
            testing::HasSubstr("\"delay\":true"), testing::HasSubstr("\"ph\":\"e\"")));
}

}  // namespace
}  // namespace lagtrap::formats::encode_chrome_test
