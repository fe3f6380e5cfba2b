// The libraries of a program, as the dynamic loader finds them.
#include "binaries/elf/library_paths.hpp"

#include <fstream>
#include <set>
#include <string>

#include <gmock/gmock.h>

namespace lagtrap::binaries::library_paths_test {
namespace {

// Finds the libraries that the loader mapped for this test, except those loaded in another way than
// as dependencies.
TEST(LibraryPaths, AreThoseOfThisProgram) {
    std::set<std::string> mapped;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (const auto slash = line.find('/'); slash != std::string::npos)
            mapped.insert(std::filesystem::canonical(line.substr(slash)).string());
    const auto found = libraries_of("/proc/self/exe");
    ASSERT_FALSE(found.empty());
    std::set<std::string> names;
    for (const auto& library : found) {
        names.insert(library.filename().string());
        EXPECT_TRUE(mapped.contains(std::filesystem::canonical(library).string())) << library;
    }
    EXPECT_TRUE(names.contains("libc.so.6"));
    EXPECT_EQ(names.size(), found.size()) << "a library is listed twice";
}

TEST(LibraryPaths, OfTheProgramComeBeforeThoseOfTheSystem) {
    const LibraryFolders folders;
    const auto usual = folders.of({}, "/opt/app");
    ASSERT_FALSE(usual.empty());
    NeededLibraries needed;
    needed.folders = {"/opt/first", "$ORIGIN/../lib", "${ORIGIN}/x$ORIGIN"};
    auto expected = usual;
    expected.insert(expected.begin(), {"/opt/first", "/opt/app/../lib", "/opt/app/x/opt/app"});
    EXPECT_EQ(folders.of(needed, "/opt/app"), expected);
}

TEST(LibraryPaths, AreNoneOfWhatIsNoProgram) {
    EXPECT_THAT(libraries_of("/etc/passwd"), testing::IsEmpty());
    EXPECT_THAT(libraries_of("/nonexistent"), testing::IsEmpty());
}

}  // namespace
}  // namespace lagtrap::binaries::library_paths_test
