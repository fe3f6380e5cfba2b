#include "cli/bundles/bundle_finder.hpp"

#include <unistd.h>

#include <chrono>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::cli::bundle_finder_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class BundleFinder : public testing::Test {
  protected:
    void SetUp() override {
        spool_ = fs::path(testing::TempDir()) / ("bundle-finder-" + std::to_string(::getpid()));
        fs::remove_all(spool_);
        add("sent", "aaaa1111", 3h);
        add("ready", "aaaa2222", 1h);
        add("rejected", "bbbb3333", 2h);
    }
    void TearDown() override { fs::remove_all(spool_); }

    void add(const std::string& state, const std::string& id, std::chrono::hours age) const {
        fs::create_directories(spool_ / state);
        const fs::path path = spool_ / state / (id + ".lagtrap.tar.zst");
        std::ofstream(path) << "a bundle";
        fs::last_write_time(path, fs::file_time_type::clock::now() - age);
    }
    // The state and id of the bundle that is found, or the error's kind.
    [[nodiscard]] std::string found(const std::string& wanted) const {
        const auto path = find_bundle(wanted, spool_);
        if (!path) return path.error().kind == ErrorKind::NotFound ? "not found" : "invalid";
        return path->parent_path().filename().string() + "/" +
               path->filename().string().substr(0, 8);
    }

    fs::path spool_;
};

TEST_F(BundleFinder, FindsTheNewestInWhateverStateItIs) {
    EXPECT_EQ(found(""), "ready/aaaa2222");
    add("sent", "cccc4444", 0h);
    EXPECT_EQ(found(""), "sent/cccc4444");
}

TEST_F(BundleFinder, FindsAnIdByItsBeginning) {
    EXPECT_EQ(found("bbbb"), "rejected/bbbb3333");
    EXPECT_EQ(found("aaaa1"), "sent/aaaa1111");
    EXPECT_EQ(found("aaaa"), "invalid") << "two begin like this";
    EXPECT_EQ(found("bbb"), "invalid") << "too short";
    EXPECT_EQ(found("dddd"), "not found");
}

TEST_F(BundleFinder, SaysWhatItDidNotFind) {
    const auto message = [this](const std::string& wanted) {
        const auto path = find_bundle(wanted, spool_);
        return path ? path->string() : path.error().message;
    };
    EXPECT_EQ(message("aaaa"),
              "\"aaaa\" matches 2 bundles, such as aaaa2222.lagtrap.tar.zst and "
              "aaaa1111.lagtrap.tar.zst; give more characters");
    EXPECT_EQ(message("bbb"),
              "\"bbb\" is not a file, and too short for a session id; give 4 characters or more");
    EXPECT_EQ(message("dddd"), "no file \"dddd\", and no bundle in the spool " + spool_.string() +
                                   " whose name begins like this");
    EXPECT_EQ(message("/none/dddd"), "no such file: /none/dddd");
    EXPECT_EQ(find_bundles({"aaaa1", "bbbb", "aaaa1"}, spool_).value().size(), 2U);
}

TEST_F(BundleFinder, LooksWhereverASpoolHasBundlesAndIntoPlainFolders) {
    add("sending", "cccc4444", 4h);
    add("", "dddd5555", 5h);
    EXPECT_EQ(found("cccc"), "sending/cccc4444");
    EXPECT_TRUE(find_bundle("dddd", spool_).ok());
    std::ofstream(spool_ / "ready" / "eeee6666.other") << "no bundle";
    EXPECT_EQ(found("eeee"), "not found");
    EXPECT_EQ(bundles_of_spool(spool_).value().size(), 5U);
    EXPECT_EQ(find_bundles({(spool_ / "ready").string()}, spool_).value().size(), 1U);
}

TEST_F(BundleFinder, TakesAFolderWithATraceForARecording) {
    const fs::path folder = spool_ / "recording";
    fs::create_directories(folder);
    const auto none = find_bundles({folder.string()}, spool_);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().message, "no bundle in the folder " + folder.string() +
                                        "; bundles are files named *.lagtrap.tar.zst");
    std::ofstream(folder / "trace.pftrace") << "a trace";
    EXPECT_EQ(find_bundles({folder.string()}, spool_).value(), std::vector{folder});
}

TEST_F(BundleFinder, FindsNothingInAnEmptySpool) {
    fs::remove_all(spool_);
    EXPECT_EQ(found(""), "not found");
}

}  // namespace
}  // namespace lagtrap::cli::bundle_finder_test
