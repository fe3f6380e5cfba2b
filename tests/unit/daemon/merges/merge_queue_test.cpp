// Here the merge helper is a shell script that does what a test needs.
#include "daemon/merges/merge_queue.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.hpp"
#include "daemon/merges/capture_folder.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::daemon::merge_queue_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

// Records which capture it got and answers like lagtrap-merge. $2 is the folder of bundles; an
// option may precede it.
const std::string merge_it =
    "bundle=\"$2/0f8fad5b-d9cb-469f-a165-70867728950e-$(printf 'a%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 "
    "13 14 15 16).lagtrap.tar.zst\"\n"
    "printf '{\"bundle\":\"%s\",\"digest\":\"%s\"}' \"$bundle\" \"$(printf 'a%.0s' $(seq 64))\"\n";

class Owner : public MergeQueue::Owner {
  public:
    void bundle_changed() override { ++changes; }
    bool is_in_use(const fs::path& capture) const override { return capture == in_use; }

    int changes = 0;
    fs::path in_use;
};

class MergeQueueTest : public ::testing::Test {
  protected:
    void SetUp() override {
        folder_ = fs::path(::testing::TempDir()) / ("merge-queue-" + std::to_string(::getpid()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
        auto spool = spool::Spool::create(folder_ / "spool", {});
        ASSERT_TRUE(spool) << spool.error().message;
        spool_.emplace(std::move(*spool));
    }
    void TearDown() override { fs::remove_all(folder_); }

    MergeQueue queue(const std::string& commands) {
        const fs::path program = folder_ / "helper";
        std::ofstream(program) << "#!/bin/sh\n"
                               << "echo \"$*\" >> " << (folder_ / "calls") << "\n"
                               << commands;
        fs::permissions(program, fs::perms::owner_all);
        MergeQueue::Options options;
        options.merge_program = program;
        options.log = Log([this](Log::Level level, const std::string& line) {
            (level == Log::Level::Warning ? warned_ : informed_).push_back(line);
        });
        options.first_pause = 1ms;
        return {context_, *spool_, options, owner_};
    }
    // A capture with a session and `bytes` beside it, each made a second after the previous one.
    fs::path capture(const std::string& name, std::size_t bytes = 0) {
        const fs::path path = spool_->captures() / name;
        fs::create_directories(path);
        trace::Session session;
        session.id = "0f8fad5b-d9cb-469f-a165-70867728950e";
        EXPECT_TRUE(trace::write_session(path, session));
        std::ofstream(path / "kernel.log") << std::string(bytes, 'x');
        fs::last_write_time(path, fs::file_time_type::clock::now() - 1h + ++made_ * 1s);
        return path;
    }
    // The captures for which the helper was started, and whether without names.
    std::vector<std::string> calls() const {
        std::vector<std::string> found;
        std::ifstream file(folder_ / "calls");
        for (std::string line; std::getline(file, line);) {
            const bool bare = line.starts_with("--without-names ");
            if (bare) line = line.substr(line.find(' ') + 1);
            found.push_back((bare ? "bare " : "") +
                            fs::path(line.substr(0, line.find(' '))).filename().string());
        }
        return found;
    }

    fs::path folder_;
    Owner owner_;
    int made_ = 0;
    std::optional<spool::Spool> spool_;
    boost::asio::io_context context_;
    std::vector<std::string> informed_, warned_;
};

TEST_F(MergeQueueTest, TakesWhatWaitsOldestFirstAndOneAtATime) {
    auto queue = this->queue(merge_it);
    for (const char* name : {"first", "second", "third"}) capture(name);
    queue.take_what_waits();
    EXPECT_TRUE(queue.is_running());
    EXPECT_EQ(queue.counts().waiting, 3U);
    context_.run();
    EXPECT_THAT(calls(), ElementsAre("first", "second", "third"));
    EXPECT_EQ(queue.counts().done, 3U);
    EXPECT_EQ(queue.counts().waiting, 0U);
    EXPECT_EQ(owner_.changes, 3);
    EXPECT_TRUE(fs::is_empty(spool_->captures())) << "captures that became bundles are removed";
    ASSERT_TRUE(queue.last_bundle());
    EXPECT_EQ(queue.last_bundle()->digest, std::string(64, 'a'));
}

TEST_F(MergeQueueTest, TriesAgainUntilItSucceeds) {
    auto queue = this->queue("[ $(wc -l < " + (folder_ / "calls").string() +
                             ") -lt 4 ] && exit 1\n" + merge_it);
    queue.add({capture("one"), "session", "query"});
    context_.run();
    EXPECT_THAT(calls(), ElementsAre("one", "one", "one", "one"));
    EXPECT_EQ(queue.counts().failed, 3U);
    EXPECT_EQ(queue.counts().done, 1U);
    EXPECT_EQ(owner_.changes, 4) << "a failed merge may lack space";
    ASSERT_EQ(warned_.size(), 3U);
    EXPECT_THAT(warned_[0], HasSubstr("could not be merged and stays"));
    EXPECT_EQ(queue.pause_after_failure(), 1ms) << "after a success";
}

TEST_F(MergeQueueTest, WaitsLongerAfterEachFailure) {
    auto queue = this->queue("exit 1\n");
    queue.add({capture("one"), "session", "query"});
    for (const auto pause : {1ms, 4ms, 16ms, 64ms}) {
        EXPECT_EQ(queue.pause_after_failure(), pause);
        for (const std::uint64_t failed = queue.counts().failed; queue.counts().failed == failed;)
            context_.run_one();
    }
}

TEST_F(MergeQueueTest, AMergeThatTakesTooLongIsRepeatedWithoutNamesThenSetAside) {
    auto queue = this->queue("exec sleep 1000\n");
    queue.set_limits(2s, UINT64_MAX);  // long enough for the helper to start even on a busy machine
    const fs::path path = capture("slow");
    queue.add({path, "session", "query"});
    context_.run();
    EXPECT_THAT(calls(), ElementsAre("slow", "bare slow"));
    EXPECT_EQ(queue.counts().over_limit, 2U);
    ASSERT_EQ(warned_.size(), 2U);
    EXPECT_THAT(warned_[0], HasSubstr("is merged without function names"));
    EXPECT_THAT(warned_[1], HasSubstr("is set aside"));
    EXPECT_EQ(queue.counts().set_aside, 1U);
    EXPECT_TRUE(reason_set_aside(path));
    queue.take_what_waits();
    context_.restart();
    context_.run();
    EXPECT_EQ(calls().size(), 2U) << "what is set aside is left alone";
    EXPECT_EQ(queue.counts().set_aside, 1U);
}

TEST_F(MergeQueueTest, ABundleThatGoesElsewhereIsNoneOfTheSpool) {
    auto queue = this->queue(merge_it);
    std::vector<std::string> bundles;
    queue.add({capture("one"), "session", "query", true, nullptr, folder_ / "elsewhere",
               [&](const Result<MergedBundle>& merged) {
                   bundles.push_back(merged ? merged->path : "none");
               }});
    context_.run();
    ASSERT_EQ(bundles.size(), 1U);
    EXPECT_EQ(fs::path(bundles[0]).parent_path(), folder_ / "elsewhere");
    EXPECT_EQ(queue.counts().done, 0U);
    EXPECT_EQ(queue.counts().waiting, 0U);
    EXPECT_FALSE(queue.last_bundle());
    EXPECT_TRUE(informed_.empty());
}

TEST_F(MergeQueueTest, AFailedMergeThatGoesElsewhereIsNotRepeated) {
    auto queue = this->queue("exit 1\n");
    int failed = 0;
    queue.add({capture("one"), "session", "query", true, nullptr, folder_ / "elsewhere",
               [&](const Result<MergedBundle>& merged) { failed += merged ? 0 : 1; }});
    context_.run();
    EXPECT_EQ(failed, 1);
    EXPECT_EQ(calls().size(), 1U);
    EXPECT_EQ(queue.counts().waiting, 0U);
}

TEST_F(MergeQueueTest, HoldsAndGoesOn) {
    auto queue = this->queue(merge_it);
    queue.hold(true);
    queue.add({capture("held"), "session", "query"});
    context_.run();
    EXPECT_TRUE(calls().empty());
    EXPECT_EQ(queue.counts().waiting, 1U);
    queue.hold(false);
    context_.restart();
    context_.run();
    EXPECT_THAT(calls(), ElementsAre("held"));
}

TEST_F(MergeQueueTest, TheOldestGoWhereTheyAreLargerThanTheSpool) {
    auto queue = this->queue(merge_it);
    queue.set_limits(1min, 250'000);
    for (const char* name : {"old", "newer", "newest"}) capture(name, 100'000);
    queue.take_what_waits();
    context_.run();
    EXPECT_THAT(calls(), ElementsAre("newer", "newest"));
    EXPECT_EQ(queue.counts().removed, 1U);
    ASSERT_EQ(warned_.size(), 1U);
    EXPECT_THAT(warned_[0], HasSubstr("old was removed before merging"));
}

TEST_F(MergeQueueTest, LeavesAloneWhatIsStillWrittenAndRemovesWhatNeverBegan) {
    auto queue = this->queue(merge_it);
    owner_.in_use = capture("being-recorded");
    fs::create_directories(spool_->captures() / "never-began");
    queue.take_what_waits();
    context_.run();
    EXPECT_TRUE(calls().empty());
    EXPECT_TRUE(fs::exists(owner_.in_use));
    EXPECT_FALSE(fs::exists(spool_->captures() / "never-began"));
    EXPECT_THAT(informed_, ElementsAre(HasSubstr("had not started when its daemon exited")));
}

TEST_F(MergeQueueTest, KeepsWhatTheMergeMayLookForUntilItsEnd) {
    auto queue = this->queue(merge_it);
    auto kept = std::make_shared<int>();
    const std::weak_ptr<int> seen = kept;
    queue.add({capture("container"), "session", "query", true, std::move(kept)});
    EXPECT_FALSE(seen.expired());
    context_.run();
    EXPECT_TRUE(seen.expired());
}

TEST_F(MergeQueueTest, AProgramThatCannotBeStartedLeavesTheCapture) {
    auto queue = this->queue(merge_it);
    fs::remove(folder_ / "helper");
    const fs::path path = capture("kept");
    queue.add({path, "session", "query"});
    EXPECT_TRUE(fs::exists(path));
    EXPECT_EQ(queue.counts().failed, 1U);
    EXPECT_EQ(queue.counts().done, 0U);
}

}  // namespace
}  // namespace lagtrap::daemon::merge_queue_test
