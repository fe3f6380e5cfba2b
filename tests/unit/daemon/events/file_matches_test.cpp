#include "daemon/events/file_matches.hpp"

#include <gmock/gmock.h>

namespace lagtrap::daemon::file_matches_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string build_id = "0123456789abcdef0123456789abcdef01234567";

settings::Event event_of(const std::string& begin, const std::string& end, bool copies = true) {
    settings::Event event;
    event.begin.binary = begin;
    event.end.binary = end;
    event.copies = copies;
    return event;
}

TEST(FileMatchesTest, APathMeansTheFileThatAProcessSeesThere) {
    const FileMatches matches(
        {event_of("/usr/bin/shop", "/usr/bin/shop"), event_of("/usr/bin/other", "/usr/bin/other")});
    EXPECT_THAT(matches.events({"/usr/bin/shop"}, ""), ElementsAre(0));
    EXPECT_THAT(matches.events({"/usr/bin/other", true}, ""), ElementsAre(1));
    EXPECT_THAT(matches.events({"/opt/usr/bin/shop"}, ""), IsEmpty());
}

TEST(FileMatchesTest, AnEventHasTheFilesOfItsBeginItsEndAndItsStages) {
    settings::Event event = event_of("/begin", "/end");
    event.stages.emplace_back().marker.binary = "/stage";
    const FileMatches matches({event});
    for (const std::string path : {"/begin", "/end", "/stage"})
        EXPECT_THAT(matches.names(0, {path}, ""), ElementsAre(path));
}

TEST(FileMatchesTest, SeveralEventsMayMeanOneFile) {
    const FileMatches matches({event_of("/a", "/a"), event_of("/b", "/a"), event_of("/b", "/b")});
    EXPECT_THAT(matches.events({"/a"}, ""), ElementsAre(0, 1));
    EXPECT_THAT(matches.events({"/b"}, ""), ElementsAre(1, 2));
}

TEST(FileMatchesTest, WithoutCopiesAPathMeansOnlyFollowedFilesOfTheMachine) {
    FileMatches matches({event_of("/usr/bin/shop", "/usr/bin/shop", false)});
    EXPECT_THAT(matches.events({"/usr/bin/shop", true}, ""), IsEmpty());
    matches.use({{}, {{"/usr/bin/shop", "/disk/shop"}}});
    EXPECT_THAT(matches.events({"/usr/bin/shop", true}, ""), ElementsAre(0));
    EXPECT_THAT(matches.events({"/disk/shop", true}, ""), ElementsAre(0));
    EXPECT_THAT(matches.events({"/usr/bin/shop", false}, ""), IsEmpty());
    EXPECT_THAT(matches.events({"/disk/shop", false}, ""), IsEmpty());
}

TEST(FileMatchesTest, TheTargetsOfLinksAndFollowedPathsMeanTheSame) {
    FileMatches matches({event_of("/usr/bin/shop", "/usr/bin/shop"), event_of("/b", "/b")});
    matches.use({{{"/usr/bin/shop", "/opt/shop-1"}}, {{"/b", "/disk/b"}}});
    EXPECT_THAT(matches.names(0, {"/opt/shop-1"}, ""), ElementsAre("/usr/bin/shop"));
    EXPECT_THAT(matches.names(1, {"/disk/b"}, ""), ElementsAre("/b"));
    EXPECT_THAT(matches.names(0, {"/disk/b"}, ""), IsEmpty());
    matches.use({});
    EXPECT_THAT(matches.events({"/opt/shop-1"}, ""), IsEmpty());
}

TEST(FileMatchesTest, ABuildIdMeansEachFileThatHasIt) {
    const std::string name = "build-id:" + build_id;
    const FileMatches matches({event_of(name, name, false)});
    EXPECT_TRUE(matches.wants_build_ids());
    EXPECT_THAT(matches.names(0, {"/anywhere"}, build_id), ElementsAre(name));
    EXPECT_THAT(matches.events({"/anywhere"}, ""), IsEmpty());
    EXPECT_THAT(matches.events({"/anywhere"}, build_id.substr(1) + "0"), IsEmpty());
    EXPECT_FALSE(FileMatches({event_of("/a", "/a")}).wants_build_ids());
}

TEST(FileMatchesTest, ListsPathsWhereNothingIs) {
    FileMatches matches({event_of("/z", "/a"), event_of("/other", "/other")});
    EXPECT_THAT(matches.absent(0), IsEmpty());
    matches.use({{}, {{"/z", ""}, {"/a", ""}, {"/other", "/disk/other"}}});
    EXPECT_THAT(matches.absent(0), ElementsAre("/a", "/z"));
    EXPECT_THAT(matches.absent(1), IsEmpty());
}

}  // namespace
}  // namespace lagtrap::daemon::file_matches_test
