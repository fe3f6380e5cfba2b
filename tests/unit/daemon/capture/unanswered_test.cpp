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
    void make() {
        unanswered_ = std::make_unique<Unanswered>(Unanswered::Options{
            root_ / "asked",
            [this](const MergeQueue::Work& work) {
                kept_.push_back(captured(work.session));
                ASSERT_TRUE(move_capture(work.capture, captured(work.session)).ok());
            },
            [this](const std::string& session) { stopped_.push_back(session); }});
    }
    void ask(const std::string& session, std::chrono::seconds wait = 10s) {
        ASSERT_TRUE(unanswered_->ask({session, "query", "postgres (1)", start_ + wait}).ok());
    }
    // Returns whether it was taken.
    bool record(const std::string& session) {
        const fs::path folder = unanswered_->folder_of(session);
        fs::create_directories(folder);
        std::ofstream(folder / "session.json") << session;
        return !unanswered_->take_recorded({folder, session, "query"});
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
    std::vector<std::string> stopped_;
};

TEST_F(UnansweredTest, KeepsWhatIsApprovedAfterTheRecording) {
    ask("a");
    EXPECT_TRUE(record("a"));
    EXPECT_THAT(kept_, IsEmpty());
    EXPECT_FALSE(fs::exists(captured("a")));
    ASSERT_TRUE(unanswered_->approve().ok());
    EXPECT_THAT(kept_, ElementsAre(captured("a")));
    EXPECT_TRUE(fs::exists(captured("a") / "session.json"));
    EXPECT_FALSE(fs::exists(unanswered_->folder_of("a")));
    EXPECT_EQ(open(), "");
    EXPECT_FALSE(unanswered_->approve().ok());
}

TEST_F(UnansweredTest, KeepsWhatIsApprovedDuringTheRecording) {
    ask("a");
    ASSERT_TRUE(unanswered_->approve().ok());
    EXPECT_TRUE(unanswered_->knows("a"));
    EXPECT_EQ(open(), "");
    EXPECT_TRUE(record("a"));
    EXPECT_THAT(kept_, ElementsAre(captured("a")));
    EXPECT_FALSE(unanswered_->knows("a"));
}

TEST_F(UnansweredTest, DiscardsWhatIsDeclined) {
    ask("a");
    EXPECT_TRUE(record("a"));
    ASSERT_TRUE(unanswered_->decline().ok());
    EXPECT_THAT(stopped_, IsEmpty());
    ask("b");
    ASSERT_TRUE(unanswered_->decline().ok());
    EXPECT_THAT(stopped_, ElementsAre("b"));
    EXPECT_TRUE(record("b"));
    EXPECT_THAT(kept_, IsEmpty());
    EXPECT_TRUE(fs::is_empty(root_ / "asked"));
    EXPECT_TRUE(fs::is_empty(root_ / "captures"));
}

TEST_F(UnansweredTest, AsksOneAfterTheOther) {
    ask("a", 10s);
    EXPECT_TRUE(record("a"));
    EXPECT_TRUE(unanswered_->has_room());
    ask("b", 20s);
    EXPECT_FALSE(unanswered_->has_room());
    EXPECT_EQ(open(), "a");
    EXPECT_EQ(unanswered_->due(), start_ + 10s);
    ASSERT_TRUE(unanswered_->decline("b").ok());
    EXPECT_FALSE(unanswered_->decline("b").ok());
    EXPECT_EQ(open(), "a");
    ASSERT_TRUE(unanswered_->approve("a").ok());
    EXPECT_FALSE(unanswered_->has_room() && unanswered_->knows("a"));
    unanswered_->forget("b");
    EXPECT_FALSE(unanswered_->knows("b"));
}

TEST_F(UnansweredTest, NoAnswerIsYes) {
    ask("a", 10s);
    ask("b", 20s);
    EXPECT_TRUE(record("a"));
    unanswered_->answer_overdue(start_ + 9s);
    EXPECT_EQ(open(), "a");
    unanswered_->answer_overdue(start_ + 10s);
    EXPECT_THAT(kept_, ElementsAre(captured("a")));
    EXPECT_EQ(open(), "b");
    unanswered_->answer_overdue(start_ + 20s);
    EXPECT_EQ(unanswered_->due(), std::nullopt);
    EXPECT_TRUE(record("b"));
    EXPECT_THAT(kept_, ElementsAre(captured("a"), captured("b")));
}

TEST_F(UnansweredTest, RecordingsWithoutAQuestionAreNotItsBusiness) {
    const auto work = unanswered_->take_recorded({captured("c"), "c", "query"});
    ASSERT_TRUE(work.has_value());
    EXPECT_EQ(work->session, "c");
}

TEST_F(UnansweredTest, NothingOutlivesTheDaemon) {
    ask("a");
    EXPECT_TRUE(record("a"));
    unanswered_.reset();
    EXPECT_FALSE(fs::exists(root_ / "asked"));
    fs::create_directories(root_ / "asked" / "left");
    make();
    EXPECT_FALSE(fs::exists(root_ / "asked"));
}

TEST_F(UnansweredTest, SaysIfItCannotBeMoved) {
    ask("a");
    EXPECT_TRUE(record("a"));
    const Status moved = move_capture(unanswered_->folder_of("a"), root_ / "missing" / "a");
    ASSERT_FALSE(moved.ok());
    EXPECT_THAT(moved.error().message, testing::StartsWith("move the recording to "));
}

}  // namespace
}  // namespace lagtrap::daemon::unanswered_test
