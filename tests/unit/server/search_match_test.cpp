#include "server/api/search_match.hpp"

#include <gmock/gmock.h>

namespace lagtrap::server::search_match_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SearchMatch, AllWordsOccurInAnyOrderAndCase) {
    EXPECT_THAT(words_of_search("  PRICE  Lock "), ElementsAre("price", "lock"));
    EXPECT_THAT(words_of_search(" "), IsEmpty());
    EXPECT_TRUE(has_words("Waits for a Lock held by price-refresher", {"price", "lock"}));
    EXPECT_FALSE(has_words("Waits for a lock", {"lock", "disk"}));
}

TEST(SearchMatch, WhatBeginsWithTheQueryComesFirstThenTheShortest) {
    EXPECT_THAT(best_matches({"recheck", "checkout", "", "Check", "list"}, {"check"}, 10),
                ElementsAre("Check", "checkout", "recheck"));
    EXPECT_THAT(best_matches({"b", "a", "c"}, {}, 2), ElementsAre("a", "b"));
}

TEST(SearchMatch, FunctionsAreFoundByNameAndThenByLibrary) {
    const std::string frames = R"([{"function":"[lock (futex)]","module":""},
        {"function":"deflate_fast","module":"/usr/lib/libz.so.1"},{"function":"compress",
        "module":"/opt/zip/shop"}])";
    EXPECT_EQ(match_frames(frames, {"deflate"}).function, "deflate_fast");
    EXPECT_FALSE(match_frames(frames, {"deflate"}).by_library);
    EXPECT_EQ(match_frames(frames, {"libz"}).library, "/usr/lib/libz.so.1");
    EXPECT_TRUE(match_frames(frames, {"libz"}).by_library);
    // Neither states nor folders nor the names of JSON members.
    for (const char* word : {"futex", "opt", "function", "deflate compress"})
        EXPECT_EQ(match_frames(frames, {word}).library, "") << word;
    for (const char* damaged : {"", "{", "{}", "[1]", "[{}]"})
        EXPECT_EQ(match_frames(damaged, {"a"}).library, "");
}

}  // namespace
}  // namespace lagtrap::server::search_match_test
