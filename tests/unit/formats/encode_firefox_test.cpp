#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "formats/encoders.hpp"
#include "tests/unit/formats/made_profile.hpp"

namespace lagtrap::formats::encode_firefox_test {
namespace {

using analysis::TimeKind;
using test::made_profile;
using test::piece_of;
using test::thread_of;

std::string json_at(const StackProfile& profile, const std::string& pointer) {
    return boost::json::serialize(boost::json::parse(encode_firefox(profile)).at_pointer(pointer));
}

// A column of a table as the strings that it refers to.
std::vector<std::string> strings_at(const StackProfile& profile, const std::string& pointer) {
    const auto json = boost::json::parse(encode_firefox(profile));
    const auto& strings = json.at_pointer("/shared/stringArray").as_array();
    std::vector<std::string> found;
    for (const auto& number : json.at_pointer(pointer).as_array())
        found.emplace_back(strings.at(number.to_number<std::size_t>()).as_string());
    return found;
}

TEST(Firefox, SaysWhatAndWhenItRecorded) {
    StackProfile profile = made_profile({});
    profile.sample_interval_ns = 2'500'000;
    profile.realtime_ns = 1'700'000'000'123'456'789;
    EXPECT_EQ(boost::json::parse(encode_firefox(profile)).at_pointer("/meta/interval"), 2.5);
    EXPECT_NE(encode_firefox(profile).find("\"startTime\":1700000000123.456789,"),
              std::string::npos);
    EXPECT_EQ(json_at(profile, "/meta/product"), R"("lagtrap: query, delay 1")");
    EXPECT_EQ(json_at(profile, "/meta/oscpu"), R"("Debian, Linux 6.1")");
    EXPECT_EQ(json_at(profile, "/meta/importedFrom"), "\"lagtrap " LAGTRAP_VERSION "\"");
    EXPECT_EQ(json_at(profile, "/meta/preprocessedProfileVersion"), "60");
}

TEST(Firefox, PlacesHaveACategory) {
    const StackProfile profile = made_profile({{.function = "work"},
                                               {.function = "blocked_in_my_code"},
                                               {.function = "schedule", .kernel = true},
                                               {.function = "waits for a CPU", .state = true},
                                               {.function = "blocked: disk", .state = true},
                                               {.function = "unknown: lost", .state = true},
                                               {.function = "on CPU, not sampled", .state = true}});
    EXPECT_EQ(json_at(profile, "/shared/frameTable/category"), "[1,1,2,3,4,5,1]");
    const auto json = boost::json::parse(encode_firefox(profile));
    std::vector<std::string> names;
    for (const auto& category : json.at_pointer("/meta/categories").as_array())
        names.emplace_back(category.at("name").as_string());
    EXPECT_EQ(names, (std::vector<std::string>{"Other", "User", "Kernel", "Waiting for a CPU",
                                               "Blocked", "Unknown"}));
}

TEST(Firefox, AddressesFitIntoThirtyOneBits) {
    const StackProfile profile = made_profile({{.function = "a", .offset = 0},
                                               {.function = "b", .offset = 1},
                                               {.function = "c", .offset = 0x7fffffff},
                                               {.function = "d", .offset = 0x80000000}});
    EXPECT_EQ(json_at(profile, "/shared/frameTable/address"), "[-1,1,2147483647,-1]");
}

TEST(Firefox, FunctionsAreThoseOfAFileAndASource) {
    const StackProfile profile =
        made_profile({{.function = "init", .module = "/usr/bin/app", .line = 5, .offset = 1},
                      {.function = "init", .module = "/usr/bin/app", .offset = 2},
                      {.function = "init", .module = "/usr/lib/libz.so"},
                      {.function = "init", .module = "/usr/bin/app", .source = "/src/a.c"},
                      {.function = "blocked: disk", .state = true}});
    EXPECT_EQ(json_at(profile, "/shared/frameTable/func"), "[0,0,1,2,3]");
    EXPECT_EQ(json_at(profile, "/shared/frameTable/line"), "[5,null,null,null,null]");
    EXPECT_EQ(json_at(profile, "/shared/frameTable/length"), "5");
    EXPECT_EQ(strings_at(profile, "/shared/funcTable/name"),
              (std::vector<std::string>{"init", "init", "init", "blocked: disk"}));
    EXPECT_EQ(json_at(profile, "/shared/funcTable/resource"), "[0,1,0,-1]");
    EXPECT_EQ(json_at(profile, "/shared/funcTable/source"), "[null,null,0,null]");
    EXPECT_EQ(json_at(profile, "/shared/funcTable/length"), "4");
    EXPECT_EQ(strings_at(profile, "/shared/resourceTable/name"),
              (std::vector<std::string>{"app", "libz.so"}));
    EXPECT_EQ(json_at(profile, "/shared/resourceTable/lib"), "[0,1]");
    EXPECT_EQ(strings_at(profile, "/shared/sources/filename"),
              (std::vector<std::string>{"/src/a.c"}));
    // Each column is as long as its table.
    const auto json = boost::json::parse(encode_firefox(profile));
    for (const char* table :
         {"frameTable", "funcTable", "resourceTable", "sources", "stackTable"}) {
        const auto& columns = json.at_pointer("/shared/" + std::string(table)).as_object();
        for (const auto& [name, column] : columns)
            if (column.is_array()) {
                EXPECT_EQ(column.as_array().size(), columns.at("length").to_number<std::size_t>())
                    << table << " " << name;
            }
    }
}

TEST(Firefox, LibrariesHaveTheIdOfTheSymbolServer) {
    const std::string build_id = "0123456789abcdef0011223344556677aabbccdd";
    const StackProfile profile = made_profile(
        {{.function = "a", .module = "/usr/lib/libz.so", .build_id = build_id},
         {.function = "b", .module = "/usr/bin/app", .build_id = build_id.substr(0, 31)},
         {.function = "c", .module = "/usr/bin/none"}});
    EXPECT_EQ(json_at(profile, "/libs/0/name"), R"("libz.so")");
    EXPECT_EQ(json_at(profile, "/libs/0/path"), R"("/usr/lib/libz.so")");
    EXPECT_EQ(json_at(profile, "/libs/0/debugName"), R"("libz.so")");
    EXPECT_EQ(json_at(profile, "/libs/0/debugPath"), R"("/usr/lib/libz.so")");
    EXPECT_EQ(json_at(profile, "/libs/0/codeId"), "\"" + build_id + "\"");
    EXPECT_EQ(json_at(profile, "/libs/0/breakpadId"), R"("67452301AB89EFCD00112233445566770")");
    EXPECT_EQ(json_at(profile, "/libs/1/breakpadId"), R"("")");
    EXPECT_EQ(json_at(profile, "/libs/1/codeId"), "\"" + build_id.substr(0, 31) + "\"");
    EXPECT_EQ(json_at(profile, "/libs/2/codeId"), "null");
}

TEST(Firefox, StacksLeaveOutTheEmptyOne) {
    StackProfile profile = made_profile({{.function = "main"}, {.function = "work"}});
    profile.nodes.push_back({0, 1});
    EXPECT_EQ(json_at(profile, "/shared/stackTable/prefix"), "[null,0,null]");
    EXPECT_EQ(json_at(profile, "/shared/stackTable/frame"), "[0,1,1]");
    EXPECT_EQ(json_at(profile, "/shared/stackTable/length"), "3");
}

TEST(Firefox, SamplesAreInMilliseconds) {
    StackProfile profile = made_profile({{.function = "main"}, {.function = "work"}});
    Piece empty = piece_of(7'000'000, 1, 1), heavy = piece_of(9'500'000, 1, 2);
    empty.weight_ns = 0;
    heavy.weight_ns = 2'250'000;
    heavy.stack = 1;
    profile.threads = {
        thread_of(10, 10, "app", "main", {piece_of(500'000, 1'000'000, 1), empty, heavy}),
        thread_of(10, 11, "app", "worker", {})};
    EXPECT_EQ(json_at(profile, "/threads/0/samples/stack"), "[0,1]");
    EXPECT_NE(encode_firefox(profile).find("\"time\":[0.500000,9.500000],\"weight\":[1.000000,"
                                           "2.250000],\"weightType\":\"tracing-ms\",\"length\":2}"),
              std::string::npos);
    EXPECT_EQ(json_at(profile, "/threads/0/isMainThread"), "true");
    EXPECT_EQ(json_at(profile, "/threads/1/isMainThread"), "false");
    EXPECT_EQ(json_at(profile, "/threads/1/name"), R"("worker")");
    EXPECT_EQ(json_at(profile, "/threads/1/processName"), R"("app")");
    EXPECT_EQ(json_at(profile, "/threads/1/pid"), R"("10")");
    EXPECT_EQ(json_at(profile, "/threads/1/tid"), "11");
}

TEST(Firefox, RunsAreMarkersOfTheirThread) {
    StackProfile profile = made_profile({});
    profile.threads = {thread_of(10, 10, "app", "main", {}),
                       thread_of(10, 11, "app", "worker", {})};
    Span run, stage;
    run.name = run.event = "query";
    run.tid = 11;
    run.begin_ns = 1'500'000;
    run.length_ns = 2'000'000;
    run.delay = true;
    stage = run;
    stage.name = "parse";
    stage.delay = false;
    profile.spans = {run, stage};
    EXPECT_EQ(json_at(profile, "/threads/0/markers/length"), "0");
    EXPECT_EQ(json_at(profile, "/threads/1/markers/length"), "2");
    EXPECT_EQ(strings_at(profile, "/threads/1/markers/name"),
              (std::vector<std::string>{"query", "parse"}));
    EXPECT_EQ(json_at(profile, "/threads/1/markers/data"),
              R"([{"type":"Run","event":"query","delay":"yes"},)"
              R"({"type":"Run","event":"query","delay":"no"}])");
    EXPECT_NE(encode_firefox(profile).find("\"startTime\":[1.500000,1.500000],\"endTime\":["
                                           "3.500000,3.500000],\"phase\":[1,1],\"category\":[0,0]"),
              std::string::npos);
}

}  // namespace
}  // namespace lagtrap::formats::encode_firefox_test
