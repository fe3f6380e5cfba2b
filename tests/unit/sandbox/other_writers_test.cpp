#include "sandbox/other_writers.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::other_writers_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

// Its folder is in a sticky one, whatever the machine has.
class OtherWriters : public testing::Test {
  protected:
    void SetUp() override {
        std::array<char, 32> name{"/dev/shm/other-writers-XXXXXX"};
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        root_ = name.data();
        fs::create_directories(root_ / "folder");
        std::ofstream(file()) << "program";
        set_mode("folder", 0755);
        set_mode("folder/file", 0755);
    }
    void TearDown() override { fs::remove_all(root_); }
    void set_mode(const char* what, mode_t mode) const {
        ASSERT_EQ(::chmod((root_ / what).c_str(), mode), 0);
    }
    [[nodiscard]] fs::path file() const { return root_ / "folder/file"; }

    fs::path root_;
};

TEST_F(OtherWriters, AreNoneWhereTheOwnerAloneWrites) {
    EXPECT_THAT(other_writers(file()), IsEmpty());
}

TEST_F(OtherWriters, AreSeenOnTheFile) {
    set_mode("folder/file", 0757);
    EXPECT_EQ(other_writers(file()), file().string() + " is writable by everyone");
}

TEST_F(OtherWriters, AreSeenOnAFolderAbove) {
    set_mode("folder", 0777);
    EXPECT_EQ(other_writers(file()), "folder " + (root_ / "folder").string() + " above " +
                                         file().string() + " is writable by everyone");
}

TEST_F(OtherWriters, AreKeptOffByAStickyFolder) {
    set_mode("folder", 01777);
    EXPECT_THAT(other_writers(file()), IsEmpty());
}

TEST_F(OtherWriters, AreSeenAboveALinkToTheFile) {
    fs::create_directories(root_ / "links");
    fs::create_symlink(file(), root_ / "links/link");
    EXPECT_THAT(other_writers(root_ / "links/link"), IsEmpty());
    set_mode("links", 0777);
    EXPECT_THAT(other_writers(root_ / "links/link"), HasSubstr("links above"));
}

TEST_F(OtherWriters, AreSeenAboveWhatALinkLeadsTo) {
    fs::create_symlink("folder/file", root_ / "link");
    set_mode("folder", 0777);
    EXPECT_THAT(other_writers(root_ / "link"), HasSubstr("folder " + (root_ / "folder").string()));
}

TEST_F(OtherWriters, AreOwnersOfFoldersAndGroups) {
    if (::geteuid() != 0) GTEST_SKIP() << "files of other users need root";
    ASSERT_EQ(::chown((root_ / "folder").c_str(), 1234567, 0), 0);
    EXPECT_THAT(other_writers(file()),
                HasSubstr("folder above " + file().string() + " belongs to user 1234567"));
    ASSERT_EQ(::chown(file().c_str(), 1234567, 0), 0);
    EXPECT_THAT(other_writers(file()), IsEmpty());
    ASSERT_EQ(::chown(file().c_str(), 1234567, 7654321), 0);
    set_mode("folder/file", 0775);
    EXPECT_THAT(other_writers(file()), HasSubstr("is writable by the group 7654321"));
}

TEST_F(OtherWriters, AreNoneOfAFileThatIsNotThere) {
    EXPECT_THAT(other_writers(root_ / "none"), IsEmpty());
}

TEST(UserText, HasTheNameIfThereIsOne) {
    EXPECT_EQ(user_text(0), "root (0)");
    EXPECT_EQ(user_text(1234567), "1234567");
}

TEST_F(OtherWriters, AreThoseOfAGroupOfSeveral) {
    if (::geteuid() != 0) GTEST_SKIP() << "files of other users need root";
    set_mode("folder/file", 0775);
    EXPECT_THAT(other_writers(file()), IsEmpty()) << "the group of root";
    // A group of the owner's name without members is the owner's own.
    const passwd* const user = ::getpwnam("daemon");
    const ::group* const alike = ::getgrnam("daemon");
    ASSERT_TRUE(user != nullptr && alike != nullptr);
    const gid_t own = alike->gr_gid;
    ASSERT_EQ(::chown(file().c_str(), user->pw_uid, own), 0);
    EXPECT_THAT(other_writers(file()), IsEmpty());
    ASSERT_EQ(::chown(file().c_str(), 0, own), 0);
    EXPECT_EQ(other_writers(file()), file().string() + " is writable by the group daemon");
    set_mode("folder/file", 0755);
    EXPECT_THAT(other_writers(file()), IsEmpty());
    // What anybody may write is said first.
    set_mode("folder/file", 0777);
    EXPECT_EQ(other_writers(file()), file().string() + " is writable by everyone");
    set_mode("folder/file", 01777);
    EXPECT_EQ(other_writers(file()), file().string() + " is writable by everyone")
        << "only folders are sticky";
}

}  // namespace
}  // namespace lagtrap::other_writers_test
