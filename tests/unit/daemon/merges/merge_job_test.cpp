// Here the merge helper is a shell script that does what a test needs.
#include "daemon/merges/merge_job.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include <gtest/gtest.h>

#include "core/files.hpp"

namespace lagtrap::daemon::merge_job_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

const std::string digest(64, 'a');
const std::string bundle_name =
    "0f8fad5b-d9cb-469f-a165-70867728950e-aaaaaaaaaaaaaaaa.lagtrap.tar.zst";

class MergeJobTest : public ::testing::Test {
  protected:
    void SetUp() override {
        // Left over from other tests of this process.
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        folder_ = fs::path(::testing::TempDir()) / ("merge-job-" + std::to_string(::getpid()));
        fs::create_directories(folder_ / "capture");
        task_ = {folder_ / "capture", folder_ / "ready", true, 1h};
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string helper(const std::string& commands) {
        const fs::path path = folder_ / "helper";
        std::ofstream(path) << "#!/bin/sh\n" << commands << "\n";
        fs::permissions(path, fs::perms::owner_all);
        return path;
    }
    std::string answer() const {
        return R"({"bundle":")" + (task_.output / bundle_name).string() + R"(","digest":")" +
               digest + R"("})";
    }
    Result<MergedBundle> run(const std::string& commands) {
        boost::asio::io_context context;
        std::optional<Result<MergedBundle>> outcome;
        int reported = 0;
        const auto started =
            MergeJob::start(context, helper(commands), task_, [&](Result<MergedBundle> merged) {
                outcome = std::move(merged);
                ++reported;
            });
        if (!started) return started.error();
        context.run();
        EXPECT_EQ(reported, 1);
        EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
        return *outcome;
    }

    fs::path folder_;
    MergeTask task_;
};

TEST_F(MergeJobTest, TellsOfTheBundle) {
    const auto merged = run("echo noise >&2; echo '" + answer() + "'");
    ASSERT_TRUE(merged) << merged.error().message;
    EXPECT_EQ(merged->path, (task_.output / bundle_name).string());
    EXPECT_EQ(merged->digest, digest);
}

TEST_F(MergeJobTest, SaysWhetherNamesAreWanted) {
    (void)run("echo $# \"$1\" > " + (folder_ / "said").string());
    EXPECT_EQ(*read_file(folder_ / "said", 1000), "2 " + task_.capture.string() + "\n");
    task_.with_names = false;
    (void)run("echo $# \"$1\" > " + (folder_ / "said").string());
    EXPECT_EQ(*read_file(folder_ / "said", 1000), "3 --without-names\n");
}

TEST_F(MergeJobTest, EndsOneThatTakesTooLong) {
    task_.limit = 2s;  // long enough to start even on a busy machine
    // A child of the helper has its output too, and is killed with it.
    const auto merged = run("echo begun; sleep 1000 & sleep 1000");
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().kind, ErrorKind::Timeout);
    EXPECT_EQ(merged.error().message, "lagtrap-merge took longer than 2.00 s; it said: begun");
}

TEST_F(MergeJobTest, DoesNotWaitForWhoKeepsItsOutput) {
    const auto merged = run("setsid sleep 1000 & echo $! > " + (folder_ / "pid").string() +
                            "; echo '" + answer() + "'");
    EXPECT_TRUE(merged) << merged.error().message;
    ::kill(std::stoi(*read_file(folder_ / "pid", 100)), SIGKILL);
}

TEST_F(MergeJobTest, LeavesNoChildWhereItCanNotBeWatched) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    boost::asio::io_context context;
    const std::string program = helper("sleep 1000");
    const int first_free = ::dup(0);
    ::close(first_free);
    // Room for the pipe only.
    const rlimit tight{static_cast<rlim_t>(first_free) + 2, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
    const auto started = MergeJob::start(context, program, task_,
                                         [](const auto&) { FAIL() << "nothing was started"; });
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    context.run();
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().system_errno, EMFILE) << started.error().message;
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST_F(MergeJobTest, ShowsNothingThatSteersATerminal) {
    for (const char* text : {R"({"bundle":"/x\n\u001b[2Jforged","digest":"ab"})", "\x1b[31mred",
                             "{", "", "\n\n", "[]", R"({"bundle":1,"digest":2})"}) {
        const auto merged = parse_merge_answer(text, task_.output);
        ASSERT_FALSE(merged) << text;
        EXPECT_EQ(merged.error().kind, ErrorKind::Invalid);
        EXPECT_EQ(merged.error().message.find_first_of("\x1b\n"), std::string::npos)
            << merged.error().message;
    }
}

TEST_F(MergeJobTest, TakesOnlyABundleOfTheSpool) {
    EXPECT_TRUE(parse_merge_answer(answer(), task_.output));
    EXPECT_TRUE(parse_merge_answer("noise\n" + answer() + "\n", task_.output));
    EXPECT_FALSE(parse_merge_answer(answer(), folder_)) << "another folder";
    std::string other = answer();
    other.replace(other.find(digest), 2, "bb");
    EXPECT_FALSE(parse_merge_answer(other, task_.output)) << "another digest than the name says";
    other = answer();
    other.replace(other.find(".tar"), 4, ".exe");
    EXPECT_FALSE(parse_merge_answer(other, task_.output)) << "no name of a bundle";
}

TEST_F(MergeJobTest, TellsWhyItFailed) {
    EXPECT_EQ(run("echo 'no room'; exit 3").error().message, "lagtrap-merge failed: no room");
    EXPECT_EQ(run("echo begun; kill -SEGV $$").error().message,
              "lagtrap-merge was killed by signal 11: begun");
    EXPECT_FALSE(run("echo '" + answer() + "'; exit 1")) << "its answer does not count";
}

}  // namespace
}  // namespace lagtrap::daemon::merge_job_test
