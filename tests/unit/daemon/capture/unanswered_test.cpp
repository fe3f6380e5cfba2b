#include "daemon/capture/unanswered.hpp"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/capture/capture_move.hpp"

namespace lagtrap::daemon::unanswered_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class UnansweredTest : public testing::Test {
  protected:
    UnansweredTest() {
        std::string pattern = fs::temp_directory_path() / "lagtrap-unanswered-XXXXXX";
        if (::mkdtemp(pattern.data()) != nullptr) root_ = pattern;
        fs::create_directory(root_ / "captures");
        make();
    }
    ~UnansweredTest() override {
        unanswered_.reset();
        fs::remove_all(root_);
    }
    void make() { unanswered_ = std::make_unique<Unanswered>(root_ / "asked"); }
    void keep(const Unanswered::Kept& recordings) {
        for (const MergeQueue::Work& work : recordings) {
            kept_.push_back(captured(work.session));
            ASSERT_TRUE(move_capture(work.capture, captured(work.session)).ok());
        }
    }
    // Whether there was such a question.
    bool approve(const std::string& session = {}) {
        const auto kept = unanswered_->approve(session);
        if (kept) keep(*kept);
        return kept.ok();
    }
    // The recording to stop.
    std::string decline(const std::string& session = {}) {
        const auto recording = unanswered_->decline(session);
        EXPECT_TRUE(recording.ok());
        return recording && *recording ? **recording : "";
    }
    void ask(const std::string& session, std::chrono::seconds wait = 10s) {
        ASSERT_TRUE(unanswered_->ask({session, "query", "postgres (1)", start_ + wait}).ok());
    }
    void record(const std::string& session) {
        const fs::path folder = unanswered_->folder_of(session);
        fs::create_directories(folder);
        std::ofstream(folder / "session.json") << session;
        keep(unanswered_->take_recorded({folder, session, "query"}));
    }
    [[nodiscard]] fs::path captured(const std::string& session) const {
        return root_ / "captures" / session;
    }
    [[nodiscard]] std::string open() const {
        return unanswered_->open() ? unanswered_->open()->session : "";
    }

    fs::path root_;
    Unanswered::Clock::time_point start_;
    std::unique_ptr<Unanswered> unanswered_;
    std::vector<fs::path> kept_;
};

TEST_F(UnansweredTest, KeepsWhatIsApprovedAfterTheRecording) {
    ask("a");
    record("a");
    EXPECT_THAT(kept_, IsEmpty());
    EXPECT_FALSE(fs::exists(captured("a")));
    ASSERT_TRUE(approve());
    EXPECT_THAT(kept_, ElementsAre(captured("a")));
    EXPECT_TRUE(fs::exists(captured("a") / "session.json"));
    EXPECT_FALSE(fs::exists(unanswered_->folder_of("a")));
    EXPECT_EQ(open(), "");
    EXPECT_FALSE(approve());
}

TEST_F(UnansweredTest, KeepsWhatIsApprovedDuringTheRecording) {
    ask("a");
    ASSERT_TRUE(approve());
    EXPECT_TRUE(unanswered_->knows("a"));
    EXPECT_EQ(open(), "");
    record("a");
    EXPECT_THAT(kept_, ElementsAre(captured("a")));
    EXPECT_FALSE(unanswered_->knows("a"));
}

TEST_F(UnansweredTest, DiscardsWhatIsDeclined) {
    ask("a");
    record("a");
    EXPECT_EQ(decline(), "") << "it is complete";
    ask("b");
    EXPECT_EQ(decline(), "b");
    record("b");
    EXPECT_THAT(kept_, IsEmpty());
    EXPECT_TRUE(fs::is_empty(root_ / "asked"));
    EXPECT_TRUE(fs::is_empty(root_ / "captures"));
}

TEST_F(UnansweredTest, AsksOneAfterTheOther) {
    ask("a", 10s);
    record("a");
    EXPECT_TRUE(unanswered_->has_room());
    ask("b", 20s);
    EXPECT_FALSE(unanswered_->has_room());
    EXPECT_EQ(open(), "a");
    EXPECT_EQ(unanswered_->due(), start_ + 10s);
    EXPECT_EQ(unanswered_->declined(), 0U);
    EXPECT_EQ(decline("b"), "b");
    EXPECT_FALSE(unanswered_->decline("b").ok());
    EXPECT_EQ(unanswered_->declined(), 1U);
    EXPECT_EQ(open(), "a");
    ASSERT_TRUE(approve("a"));
    EXPECT_FALSE(unanswered_->has_room() && unanswered_->knows("a"));
    unanswered_->forget("b");
    EXPECT_FALSE(unanswered_->knows("b"));
}

TEST_F(UnansweredTest, NoAnswerIsYes) {
    ask("a", 10s);
    ask("b", 20s);
    record("a");
    keep(unanswered_->answer_overdue(start_ + 9s));
    EXPECT_EQ(open(), "a");
    keep(unanswered_->answer_overdue(start_ + 10s));
    EXPECT_THAT(kept_, ElementsAre(captured("a")));
    EXPECT_EQ(open(), "b");
    keep(unanswered_->answer_overdue(start_ + 20s));
    EXPECT_EQ(unanswered_->due(), std::nullopt);
    record("b");
    EXPECT_THAT(kept_, ElementsAre(captured("a"), captured("b")));
}

TEST_F(UnansweredTest, NothingOutlivesTheDaemon) {
    ask("a");
    record("a");
    unanswered_.reset();
    EXPECT_FALSE(fs::exists(root_ / "asked"));
    fs::create_directories(root_ / "asked" / "left");
    make();
    EXPECT_FALSE(fs::exists(root_ / "asked"));
}

TEST_F(UnansweredTest, SaysIfItCannotBeMoved) {
    ask("a");
    record("a");
    const Status moved = move_capture(unanswered_->folder_of("a"), root_ / "missing" / "a");
    ASSERT_FALSE(moved.ok());
    EXPECT_THAT(moved.error().message, testing::StartsWith("move the recording to "));
}

}  // namespace
}  // namespace lagtrap::daemon::unanswered_test
