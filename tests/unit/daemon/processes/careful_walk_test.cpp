// Walks paths in its own folder, with links that lead out of it and mounts that must not be
// entered.
#include "daemon/processes/careful_walk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/files.hpp"

namespace lagtrap::daemon::careful_walk_test {
namespace {

namespace fs = std::filesystem;

class CarefulWalk : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "lagtrap-walk-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
        fs::create_directories(folder_ / "a/b");
        std::ofstream(folder_ / "a/b/file") << "within";
    }
    void TearDown() override { fs::remove_all(folder_); }

    // The path that was reached, according to the kernel.
    Result<fs::path> reach(const std::string& path) {
        const auto may_enter = [this](int place) -> Status {
            entered_.push_back(name_of(place).filename().string());
            if (entered_.back() == "forbidden")
                return make_error(ErrorKind::Unsupported, "may not be entered");
            return success();
        };
        TRY_ASSIGN(UniqueFd root, open_file(folder_, O_PATH | O_DIRECTORY));
        TRY_ASSIGN(const UniqueFd place, walk_to(std::move(root), path, may_enter));
        return name_of(place.get());
    }
    static fs::path name_of(int place) {
        return fs::read_symlink("/proc/self/fd/" + std::to_string(place));
    }

    fs::path folder_;
    std::vector<std::string> entered_;
};

TEST_F(CarefulWalk, ShowsEachFolderOnTheWay) {
    EXPECT_EQ(reach("/a/b/file").value(), folder_ / "a/b/file");
    EXPECT_EQ(entered_, (std::vector<std::string>{folder_.filename(), "a", "b", "file"}));
    EXPECT_EQ(reach("/a/none").error().kind, ErrorKind::NotFound);
}

TEST_F(CarefulWalk, EndsBeforeWhatMayNotBeEntered) {
    fs::create_directories(folder_ / "a/forbidden/c");
    EXPECT_EQ(reach("/a/forbidden/c/file").error().kind, ErrorKind::Unsupported);
    EXPECT_EQ(entered_.back(), "forbidden");
    fs::create_directory_symlink("forbidden", folder_ / "a/link");
    EXPECT_EQ(reach("/a/link/c").error().kind, ErrorKind::Unsupported);
}

TEST_F(CarefulWalk, LinksStayBelowTheRoot) {
    fs::create_directory_symlink("/a", folder_ / "absolute");
    fs::create_directory_symlink("../../../../a/b", folder_ / "a/upwards");
    fs::create_symlink("/absolute/b/file", folder_ / "a/to_the_file");
    for (const char* path :
         {"/absolute/b/file", "/a/upwards/file", "/a/to_the_file", "/../../a/./b/../b/file"})
        EXPECT_EQ(reach(path).value(), folder_ / "a/b/file") << path;
    fs::create_symlink("/etc/passwd", folder_ / "out");
    EXPECT_EQ(reach("/out").error().kind, ErrorKind::NotFound);
}

TEST_F(CarefulWalk, LinksThatLeadInACircleEnd) {
    fs::create_symlink("circle", folder_ / "circle");
    EXPECT_EQ(reach("/circle").error().kind, ErrorKind::Denied);
}

TEST_F(CarefulWalk, FollowsAtMost40Links) {
    fs::create_symlink("a/b/file", folder_ / "1");
    for (int link = 2; link <= 41; ++link)
        fs::create_symlink(std::to_string(link - 1), folder_ / std::to_string(link));
    EXPECT_EQ(reach("/40").value(), folder_ / "a/b/file");
    const auto many = reach("/41");
    ASSERT_FALSE(many);
    EXPECT_EQ(many.error().message, "too many symbolic links");
}

TEST_F(CarefulWalk, AsksForTheRootToo) {
    fs::create_directories(folder_ / "forbidden/a");
    folder_ /= "forbidden";
    EXPECT_EQ(reach("/a").error().kind, ErrorKind::Unsupported);
    folder_ = folder_.parent_path();
}

}  // namespace
}  // namespace lagtrap::daemon::careful_walk_test
