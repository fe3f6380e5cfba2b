#include "daemon/capture/capture_traces.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "daemon/control/control_server.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::daemon::capture_traces_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// Keeps what was begun.
class Surroundings : public CaptureSurroundings {
  public:
    void session_changed(const std::string&) override {}
    void capture_begun(std::uint32_t) override {}
    void spool_changed() override {}
    std::vector<std::string> disabled_now() override { return {}; }
    Status begin_calls(CallRequest request, std::shared_ptr<AnswerLines> lines) override {
        if (!refusal.empty()) return make_error(ErrorKind::System, refusal);
        calls = std::move(request);
        answers.push_back(std::move(lines));
        return success();
    }
    Status begin_functions(std::uint32_t event, std::uint32_t pid,
                           std::shared_ptr<AnswerLines> lines) override {
        functions = {event, pid};
        answers.push_back(std::move(lines));
        return success();
    }
    Status begin_objects(ObjectRequest request, std::shared_ptr<AnswerLines> lines) override {
        objects = std::move(request);
        answers.push_back(std::move(lines));
        return success();
    }

    std::string refusal;
    CallRequest calls;
    std::pair<std::uint32_t, std::uint32_t> functions;
    ObjectRequest objects;
    std::vector<std::shared_ptr<AnswerLines>> answers;
};

class CaptureTracesTest : public testing::Test {
  protected:
    CaptureTracesTest() {
        event_.name = "pay";
        event_.begin.name = "shop::pay";
        event_.begin.binary = "/bin/shop";
        event_.threshold = 3ms;
        event_.calls = settings::RecordedCalls{5, "db", 250'000};
        event_.functions = settings::TracedFunctions{};
        event_.objects.resize(2);
    }
    void begin(std::uint32_t pid) { traces_.begin(event_, 4, pid, folder_.path()); }
    void end() {
        traces_.end(folder_.path(), "pay", [this] { ++written_; });
    }
    [[nodiscard]] bool are_being_written() const { return traces_.are_written_to(folder_.path()); }

    trace::TemporaryDirectory folder_;
    boost::asio::io_context context_;
    Surroundings surroundings_;
    std::vector<std::string> warnings_;
    CaptureTraces traces_{context_, surroundings_, Log([this](Log::Level, const std::string& text) {
                              warnings_.push_back(text);
                          })};
    settings::Event event_;
    int written_ = 0;
};

TEST_F(CaptureTracesTest, AreWantedByAnyOfTheirOptions) {
    EXPECT_FALSE(CaptureTraces::are_wanted({}));
    settings::Event calls, functions, objects;
    calls.calls = settings::RecordedCalls{};
    functions.functions = settings::TracedFunctions{};
    objects.objects.resize(1);
    EXPECT_TRUE(CaptureTraces::are_wanted(calls));
    EXPECT_TRUE(CaptureTraces::are_wanted(functions));
    EXPECT_TRUE(CaptureTraces::are_wanted(objects));
}

TEST_F(CaptureTracesTest, HaveTheOptionsOfTheEvent) {
    begin(77);
    EXPECT_THAT(warnings_, IsEmpty());
    ASSERT_EQ(surroundings_.answers.size(), 3U);
    const CallRequest& calls = surroundings_.calls;
    EXPECT_EQ(calls.wishes.pid, 77U);
    EXPECT_EQ(calls.wishes.function, "shop::pay");
    EXPECT_EQ(calls.wishes.binary, "/bin/shop");
    EXPECT_EQ(calls.wishes.depth, 5U);
    EXPECT_EQ(calls.wishes.match, "db");
    EXPECT_DOUBLE_EQ(calls.budget, 0.25);
    EXPECT_EQ(calls.min_duration, 3ms);
    EXPECT_TRUE(calls.with_probes);
    EXPECT_EQ(surroundings_.functions, (std::pair<std::uint32_t, std::uint32_t>(4, 77)));
    EXPECT_EQ(surroundings_.objects.wishes.pid, 77U);
    EXPECT_EQ(surroundings_.objects.wishes.rules.size(), 2U);
    EXPECT_EQ(surroundings_.objects.timeout, 500ms);
    for (const char* name : {"calls.jsonl", "functions.jsonl", "objects.jsonl"})
        EXPECT_TRUE(std::filesystem::exists(folder_.path() / name)) << name;
}

TEST_F(CaptureTracesTest, WarnOfThoseThatCannotBegin) {
    begin(0);
    EXPECT_THAT(warnings_,
                ElementsAre("calls of event pay are not recorded: no process has its program",
                            "functions of event pay are not recorded: no process has its program",
                            "objects of event pay are not recorded: no process has its program"));
    EXPECT_THAT(surroundings_.answers, IsEmpty());
    end();
    EXPECT_EQ(written_, 1) << "at once";
    EXPECT_FALSE(are_being_written());
    warnings_.clear();
    surroundings_.refusal = "no more threads";
    begin(77);
    EXPECT_THAT(warnings_, ElementsAre("calls of event pay are not recorded: no more threads"));
    EXPECT_EQ(surroundings_.answers.size(), 2U) << "the others";
}

TEST_F(CaptureTracesTest, AreWrittenOnceEachHasEnded) {
    begin(77);
    EXPECT_FALSE(are_being_written());
    for (const auto& answer : surroundings_.answers) EXPECT_FALSE(answer->is_unwanted());
    end();
    for (const auto& answer : surroundings_.answers) EXPECT_TRUE(answer->is_unwanted());
    EXPECT_TRUE(are_being_written());
    for (const auto& answer : surroundings_.answers) {
        EXPECT_EQ(written_, 0);
        context_.restart();
        context_.run();
        EXPECT_EQ(written_, 0);
        EXPECT_TRUE(are_being_written());
        answer->end("{\"ok\":true}");
    }
    context_.restart();
    context_.run();
    EXPECT_EQ(written_, 1);
    EXPECT_FALSE(are_being_written());
    EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(CaptureTracesTest, WarnOfThoseThatEndedWithAnError) {
    begin(77);
    surroundings_.answers[1]->end(boost::json::serialize(refusal("its process has exited")));
    surroundings_.answers[0]->end("{\"ok\":true}");
    surroundings_.answers[2]->end("{\"ok\":true}");
    end();
    context_.run();
    EXPECT_EQ(written_, 1);
    EXPECT_THAT(
        warnings_,
        ElementsAre(StartsWith("functions of event pay are not recorded: its process has exited")));
}

TEST_F(CaptureTracesTest, MayEndWithTheDaemon) {
    begin(77);
    traces_.note_over();
    for (const auto& answer : surroundings_.answers) EXPECT_TRUE(answer->is_unwanted());
    traces_.drop();
    end();
    EXPECT_EQ(written_, 1) << "nobody waits for them";
}

}  // namespace
}  // namespace lagtrap::daemon::capture_traces_test
