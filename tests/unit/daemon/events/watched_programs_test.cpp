#include "daemon/events/watched_programs.hpp"

#include <unistd.h>

#include <filesystem>

#include <gmock/gmock.h>

#include "daemon/events/copy_names.hpp"

namespace lagtrap::daemon::watched_programs_test {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(WatchedPrograms, AreThoseOfMarkersStagesAndScopes) {
    settings::Settings settings;
    EXPECT_THAT(watched_programs(settings), IsEmpty());
    settings.events.resize(2);
    settings.events[0].begin.binary = "/bin/begin";
    settings.events[0].end.binary = "/bin/end";
    settings.events[0].scope.binary = "/bin/scope";
    settings.events[0].stages.resize(2);
    settings.events[0].stages[1].marker.binary = "/bin/stage";
    settings.events[1].end.binary = "/bin/end";
    EXPECT_THAT(watched_programs(settings),
                UnorderedElementsAre("/bin/begin", "/bin/end", "/bin/scope", "/bin/stage"));
}

TEST(ProgramsToFind, AreAlsoTheTargetsOfLinks) {
    settings::Settings settings;
    settings.events.resize(1);
    settings.events[0].begin.binary = "/proc/self/exe";
    settings.events[0].end.binary = "/nonexistent/program";
    const std::string own = std::filesystem::read_symlink("/proc/self/exe").string();
    auto paths = programs_to_find(settings);
    // On a busy machine, a link may not be read within its second.
    for (int i = 0; i < 60 && !paths.contains(own); ++i) paths = programs_to_find(settings);
    EXPECT_TRUE(paths.contains("/proc/self/exe"));
    EXPECT_TRUE(paths.contains("/nonexistent/program"));
    EXPECT_TRUE(paths.contains(own));
    EXPECT_EQ(paths.size(), 3U);
}

TEST(CopyNames, TellCopiesApart) {
    EXPECT_EQ(name_of_copy("/bin/a", {42, 8U << 20 | 0xfffff}),
              "/bin/a (inode 42 of device 8:1048575)");
    EXPECT_EQ(name_of_copy("/bin/a", {42, 0x12345678}), "/bin/a (inode 42 of device 291:284280)");
    EXPECT_EQ(folder_of(12), "/proc/12");
    EXPECT_NE(mounts_of("/proc/self"), 0U);
    EXPECT_EQ(mounts_of("/nonexistent"), 0U);
    EXPECT_EQ(party_of_process(0x7fffffff), unknown_party);
    EXPECT_NE(party_of_process(static_cast<std::uint32_t>(::getpid())), unknown_party);
}

}  // namespace
}  // namespace lagtrap::daemon::watched_programs_test
