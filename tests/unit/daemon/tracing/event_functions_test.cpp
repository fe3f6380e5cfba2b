#include "daemon/tracing/event_functions.hpp"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>

namespace lagtrap::daemon::event_functions_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Answer : public AnswerLines {
  public:
    bool say(const std::string&) override { return true; }
    void end(const std::string&) override {}
    [[nodiscard]] bool is_unwanted() const override { return false; }
};

// Starts no thread.
class Threads : public FunctionThreads {
  public:
    Threads(std::vector<std::shared_ptr<FunctionRecorder>>& started, const std::string& refusal)
        : started_(started), refusal_(refusal) {}
    Status begin_recorded(std::shared_ptr<FunctionRecorder> recorder) override {
        if (!refusal_.empty()) return make_error(ErrorKind::System, refusal_);
        started_.push_back(std::move(recorder));
        return success();
    }

  private:
    std::vector<std::shared_ptr<FunctionRecorder>>& started_;
    const std::string& refusal_;
};

class EventFunctionsTest : public testing::Test {
  protected:
    EventFunctionsTest() {
        events_[0].name = "plain";
        events_[1].name = "standing";
        events_[1].functions = settings::TracedFunctions{};
        events_[1].functions->standing = true;
        events_[1].functions->share_ppm = 20'000;
        events_[2].name = "recorded";
        events_[2].functions = settings::TracedFunctions{};
    }
    // A second has not passed when this is called, so nothing else looks.
    std::vector<std::uint32_t> started_by_use() {
        started_.clear();
        functions_.use(events_);
        return pids();
    }
    [[nodiscard]] std::vector<std::uint32_t> pids() const {
        std::vector<std::uint32_t> all;
        for (const auto& recorder : started_) all.push_back(recorder->pid());
        return all;
    }
    [[nodiscard]] boost::json::value status(std::uint32_t event, const char* pointer = "") const {
        return functions_.status(event).at_pointer(pointer);
    }

    boost::asio::io_context context_;
    std::set<std::uint32_t> processes_{4'000'001, 4'000'002};
    std::vector<std::string> warnings_;
    std::vector<std::shared_ptr<FunctionRecorder>> started_;
    std::string refusal_;
    std::vector<settings::Event> events_{3};
    Threads threads_{started_, refusal_};
    EventFunctions functions_{
        context_, threads_,
        [this](std::uint32_t event) {
            EXPECT_EQ(event, 1U) << "the others have no standing traces";
            return processes_;
        },
        Log([this](Log::Level, const std::string& text) { warnings_.push_back(text); })};
};

TEST_F(EventFunctionsTest, StandFourNewestProcessesFirst) {
    EXPECT_THAT(started_by_use(), ElementsAre(4'000'002, 4'000'001));
    EXPECT_EQ(status(1, "/processes_without"), 0);
    processes_ = {1, 2, 3, 4'000'001, 4'000'002, 4'000'003};
    EXPECT_THAT(started_by_use(), ElementsAre(4'000'003, 4'000'002, 4'000'001, 3));
    EXPECT_EQ(status(1, "/processes_without"), 2);
    EXPECT_EQ(status(1, "/standing"), true);
    EXPECT_EQ(status(1, "/traces").as_array().size(), 4U);
    EXPECT_EQ(status(1, "/traces/0/pid"), 4'000'003);
    EXPECT_EQ(status(1, "/traces/0/standing"), true);
    EXPECT_EQ(status(1, "/problem"), "");
    EXPECT_TRUE(functions_.status(0).is_null());
    EXPECT_EQ(status(2, "/standing"), false);
    EXPECT_THAT(status(2, "/traces").as_array(), IsEmpty());
}

TEST_F(EventFunctionsTest, StandInTheScopeOfTheEvent) {
    events_[1].scope.pid = 4'000'001;
    EXPECT_THAT(started_by_use(), ElementsAre(4'000'001));
    events_[1].scope.pid.reset();
    const auto own = static_cast<std::uint32_t>(::getpid());
    processes_.insert(own);
    events_[1].scope.uid = ::geteuid();
    EXPECT_THAT(started_by_use(), ElementsAre(own));
    events_[1].scope.uid = ::geteuid() + 1;
    EXPECT_THAT(started_by_use(), IsEmpty());
    events_[1].scope.uid.reset();
    events_[1].scope.binary = std::filesystem::read_symlink("/proc/self/exe").string();
    EXPECT_THAT(started_by_use(), ElementsAre(own));
    events_[1].scope.binary = "/bin/other";
    EXPECT_THAT(started_by_use(), IsEmpty());
}

TEST_F(EventFunctionsTest, AReasonIsReportedOncePerEvent) {
    refusal_ = "no more threads";
    EXPECT_THAT(started_by_use(), IsEmpty());
    EXPECT_THAT(warnings_, ElementsAre("functions of event standing are not traced in process "
                                       "4000002: no more threads"));
    EXPECT_EQ(status(1, "/problem"), "no more threads");
    EXPECT_THAT(status(1, "/traces").as_array(), IsEmpty());
    (void)started_by_use();
    EXPECT_EQ(warnings_.size(), 1U);
    refusal_ = "another";
    (void)started_by_use();
    EXPECT_EQ(warnings_.size(), 2U);
}

TEST_F(EventFunctionsTest, ARecordingUsesTheStandingTraceOfItsProcess) {
    (void)started_by_use();
    const auto answer = std::make_shared<Answer>();
    EXPECT_TRUE(functions_.record(1, 4'000'001, answer));
    EXPECT_EQ(started_.size(), 2U);
    EXPECT_TRUE(started_[1]->status().recording);
    EXPECT_FALSE(started_[0]->status().recording);
    EXPECT_TRUE(functions_.record(1, 4'000'001, answer));
    ASSERT_EQ(started_.size(), 3U) << "the standing one writes already";
    EXPECT_TRUE(started_[2]->status().recording);
    EXPECT_EQ(status(1, "/traces/2/standing"), false);
    EXPECT_EQ(status(1, "/traces/2/recording"), true);
    EXPECT_EQ(status(1, "/traces/0/recording"), false);
    EXPECT_TRUE(functions_.record(2, 9, answer));
    ASSERT_EQ(started_.size(), 4U);
    EXPECT_EQ(started_[3]->pid(), 9U);
    const auto refused = functions_.record(0, 9, answer);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "the settings request none");
    refusal_ = "no more threads";
    EXPECT_FALSE(functions_.record(2, 9, answer));
}

TEST_F(EventFunctionsTest, AreTracedAsTheSettingsSay) {
    for (const std::size_t event : {1U, 2U}) {
        settings::TracedFunctions& traced = *events_[event].functions;
        traced.include = "in" + std::to_string(event);
        traced.exclude = "out" + std::to_string(event);
        traced.least = std::chrono::nanoseconds(10 + event);
        traced.share_ppm = static_cast<std::uint32_t>(1'000 * event);
        traced.bytes_per_second = 20 + event;
        traced.window = std::chrono::seconds(30 + event);
    }
    (void)started_by_use();
    EXPECT_TRUE(functions_.record(2, 9, std::make_shared<Answer>()));
    ASSERT_EQ(started_.size(), 3U);
    const FunctionRequest standing = started_[0]->request();
    EXPECT_EQ(standing.wishes.pid, 4'000'002U);
    EXPECT_FALSE(standing.wishes.owner);
    EXPECT_EQ(standing.wishes.include, "in1");
    EXPECT_EQ(standing.wishes.exclude, "out1");
    EXPECT_EQ(standing.min_duration, std::chrono::nanoseconds(11));
    EXPECT_DOUBLE_EQ(standing.budget, 0.001);
    EXPECT_EQ(standing.bytes_per_second, 21U);
    ASSERT_TRUE(standing.shared_by);
    EXPECT_EQ(standing.shared_by->load(), 2U) << "both standing traces share the budget";
    EXPECT_EQ(started_[0]->window(), std::chrono::seconds(31));
    const FunctionRequest recorded = started_[2]->request();
    EXPECT_EQ(recorded.wishes.include, "in2");
    EXPECT_EQ(recorded.wishes.exclude, "out2");
    EXPECT_EQ(recorded.min_duration, std::chrono::nanoseconds(12));
    EXPECT_DOUBLE_EQ(recorded.budget, 0.002);
    EXPECT_EQ(recorded.bytes_per_second, 22U);
    EXPECT_FALSE(recorded.shared_by) << "one trace alone";
    EXPECT_EQ(started_[2]->window(), std::chrono::seconds(0));
}

TEST_F(EventFunctionsTest, FollowProcessesThatComeAndGo) {
    processes_ = {1, 2, 3, 4'000'001, 4'000'002};
    (void)started_by_use();
    EXPECT_EQ(status(1, "/processes_without"), 1);
    const auto before = started_;
    started_.clear();
    processes_ = {4'000'002, 4'000'003};
    context_.run_one();
    EXPECT_THAT(pids(), ElementsAre(4'000'003));
    EXPECT_EQ(status(1, "/traces").as_array().size(), 2U);
    EXPECT_EQ(status(1, "/processes_without"), 0);
    EXPECT_EQ(before[0]->pid(), 4'000'002U);
    EXPECT_EQ(before[0]->request().shared_by->load(), 2U);
    EXPECT_TRUE(before[0]->record(std::make_shared<Answer>())) << "it goes on";
    started_.clear();
    processes_.insert(4'000'004);
    context_.run_one();
    EXPECT_THAT(pids(), ElementsAre(4'000'004)) << "again and again";
}

TEST_F(EventFunctionsTest, AProcessThatWasRefusedIsTriedAgainOnceItsNumberWasGone) {
    refusal_ = "no more threads";
    (void)started_by_use();
    refusal_.clear();
    context_.run_one();
    EXPECT_THAT(pids(), IsEmpty());
    processes_.clear();
    context_.run_one();
    processes_ = {4'000'001};
    context_.run_one();
    EXPECT_THAT(pids(), ElementsAre(4'000'001));
}

TEST_F(EventFunctionsTest, ATraceThatCannotBeginIsReported) {
    (void)started_by_use();
    DirectInspector inspector;
    started_.at(0)->run(
        inspector, [] { return CallCosts(); }, false);
    EXPECT_TRUE(started_[0]->has_ended());
    EXPECT_EQ(status(1, "/problem"), "") << "told on the thread of the context";
    context_.run_one();
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_THAT(warnings_[0],
                testing::StartsWith("functions of event standing are not traced in process "
                                    "4000002: "));
    EXPECT_NE(status(1, "/problem"), "");
}

TEST_F(EventFunctionsTest, EndWithTheSettingsThatWantThem) {
    (void)started_by_use();
    const auto before = started_;
    functions_.stop();
    EXPECT_TRUE(functions_.status(1).is_null());
    EXPECT_FALSE(before[0]->record(std::make_shared<Answer>())) << "it was told to end";
    EXPECT_FALSE(functions_.record(1, 4'000'001, std::make_shared<Answer>()));
}

}  // namespace
}  // namespace lagtrap::daemon::event_functions_test
