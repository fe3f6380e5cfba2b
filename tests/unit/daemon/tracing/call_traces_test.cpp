// Traces functions of a library that this process seems to have mapped.
#include "daemon/tracing/call_traces.hpp"

#include <unistd.h>

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "calls/call_stream.hpp"
#include "calls/object_stream.hpp"
#include "daemon/tracing/trace_room.hpp"
#include "daemon/unwinding/mapped_files.hpp"
#include "tests/unit/await.hpp"
#include "tests/unit/daemon/bpf_fixture.hpp"
#include "tests/unit/daemon/traced_functions.hpp"

namespace lagtrap::daemon::call_traces_test {
namespace {

using namespace std::chrono_literals;
using boost::json::object;
using testing::HasSubstr;
using testing::IsEmpty;

#if defined(__x86_64__)
class Lines : public AnswerLines {
  public:
    bool say(const std::string& line) override {
        const std::scoped_lock lock(mutex_);
        said_.push_back(line);
        return true;
    }
    void end(const std::string& line) override {
        const std::scoped_lock lock(mutex_);
        last_ = line;
    }
    [[nodiscard]] bool is_unwanted() const override { return unwanted; }
    [[nodiscard]] std::vector<std::string> said() const {
        const std::scoped_lock lock(mutex_);
        return said_;
    }
    [[nodiscard]] std::string last() const {
        const std::scoped_lock lock(mutex_);
        return last_;
    }
    std::atomic<bool> unwanted{false};

  private:
    mutable std::mutex mutex_;
    std::vector<std::string> said_;
    std::string last_;
};

class CallTracesTest : public BpfFixture {
  protected:
    void SetUp() override {
        BpfFixture::SetUp();
        if (IsSkipped()) return;
        auto unwinder = Unwinder::create({}, process_, mapped_files_);
        ASSERT_TRUE(unwinder) << unwinder.error().message;
        unwinder_ = std::move(unwinder).value();
        traces_.emplace(process_, *unwinder_);
    }
    void TearDown() override {
        traces_.reset();
        unwinder_.reset();
    }

    static object functions_request() {
        return {{"command", "functions"},
                {"pid", ::getpid()},
                {"include", "^(valloc|realloc)$"},
                {"exclude", "^(main|outermost_function)$"}};
    }
    static object calls_request() {
        return {{"command", "calls"}, {"pid", ::getpid()}, {"function", "valloc"}};
    }
    [[nodiscard]] Status begin(const object& request, const Caller* only_of = nullptr) {
        lines_.push_back(std::make_shared<Lines>());
        return traces_->begin(request, only_of, lines_.back());
    }

    OwnLibrary process_;
    MappedFiles mapped_files_;
    std::unique_ptr<Unwinder> unwinder_;
    std::optional<CallTraces> traces_;
    std::vector<std::shared_ptr<Lines>> lines_;
};

TEST_F(CallTracesTest, ATraceOfFunctionsEndsWhenNobodyWantsItsLines) {
    EXPECT_EQ(traces_->running(), 0U);
    const Status begun = begin(functions_request());
    ASSERT_TRUE(begun) << begun.error().message;
    EXPECT_EQ(traces_->running(), 1U);
    await("the trace", [this] { return !lines_[0]->said().empty() || !lines_[0]->last().empty(); });
    ASSERT_THAT(lines_[0]->last(), IsEmpty());
    std::string all;
    for (const std::string& line : lines_[0]->said()) all += line;
    EXPECT_THAT(all, HasSubstr("\"valloc\""));
    EXPECT_THAT(all, HasSubstr("\"realloc\""));
    lines_[0]->unwanted = true;
    await("the trace", [this] { return traces_->running() == 0; });
    EXPECT_THAT(lines_[0]->last(), HasSubstr("\"stopped\""));
}

TEST_F(CallTracesTest, ATraceOfCallsHasItsFunctionAlone) {
    ASSERT_TRUE(begin(calls_request()));
    await("the trace", [this] { return !lines_[0]->said().empty() || !lines_[0]->last().empty(); });
    EXPECT_THAT(lines_[0]->last(), IsEmpty());
    EXPECT_THAT(lines_[0]->said().at(0), HasSubstr("\"valloc\""));
    EXPECT_THAT(lines_[0]->said().at(0), testing::Not(HasSubstr("\"realloc\"")));
}

TEST_F(CallTracesTest, TracesEndWithTheDaemon) {
    ASSERT_TRUE(begin(functions_request()));
    await("the trace", [this] { return !lines_[0]->said().empty(); });
    traces_.reset();
    EXPECT_THAT(lines_[0]->last(), HasSubstr("\"lagtrapd is stopping\""));
}

TEST_F(CallTracesTest, OnlySomeRunAtOnceAndThoseOfRecordingsDoNotCount) {
    CallRequest recorded = parse_call_request(calls_request()).value();
    const auto of_recording = std::make_shared<Lines>();
    ASSERT_TRUE(traces_->begin_recorded(recorded, of_recording));
    EXPECT_EQ(traces_->running(), 0U);
    for (std::size_t trace = 0; trace < max_traces_at_once; ++trace)
        ASSERT_TRUE(begin(functions_request()));
    const Status one_too_many = begin(functions_request());
    ASSERT_FALSE(one_too_many);
    EXPECT_EQ(one_too_many.error().kind, ErrorKind::Busy);
    EXPECT_EQ(traces_->running(), max_traces_at_once);
    ASSERT_TRUE(traces_->begin_recorded(std::move(recorded), of_recording))
        << "recordings have room";
    traces_.reset();
    EXPECT_THAT(of_recording->last(), testing::Not(IsEmpty()));
}

TEST_F(CallTracesTest, OthersMayNotTraceThisProcess) {
    Caller somebody;
    somebody.uid = ::getuid() + 1;
    for (const object& request : {functions_request(), calls_request()}) {
        const Status begun = begin(request, &somebody);
        ASSERT_FALSE(begun);
        EXPECT_EQ(begun.error().kind, ErrorKind::Denied);
    }
    EXPECT_EQ(traces_->running(), 0U);
    EXPECT_THAT(lines_[0]->last(), IsEmpty()) << "the caller gets the error instead";
}

TEST_F(CallTracesTest, AnInvalidRequestIsRefused) {
    for (const char* command : {"calls", "functions", "objects"}) {
        const Status begun = begin({{"command", command}});
        ASSERT_FALSE(begun);
        EXPECT_EQ(begun.error().kind, ErrorKind::Invalid);
        EXPECT_THAT(begun.error().message, HasSubstr(std::string("\"") + command + "\""));
    }
    EXPECT_EQ(traces_->running(), 0U);
}

TEST_F(CallTracesTest, ATraceThatCannotBeginSaysWhy) {
    object request = functions_request();
    request["exclude"] = ".";
    request["include"] = "";
    ASSERT_TRUE(begin(request));
    await("the trace", [this] { return traces_->running() == 0; });
    EXPECT_THAT(lines_[0]->last(), HasSubstr("\"error\""));
}

TEST_F(CallTracesTest, ATraceOfCallsEndsWithTheNumberThatIsWanted) {
    object request = calls_request();
    request["count"] = 2;
    ASSERT_TRUE(begin(request));
    await("the trace", [this] { return !lines_[0]->said().empty() || !lines_[0]->last().empty(); });
    ASSERT_THAT(lines_[0]->last(), IsEmpty());
    const LibraryCalls library;
    await("the trace", [&] {
        library.valloc(16);
        return !lines_[0]->last().empty();
    });
    std::size_t trees = 0;
    for (const std::string& line : lines_[0]->said()) {
        const auto message = calls::parse_message(line);
        ASSERT_TRUE(message) << line;
        if (!message->tree) continue;
        ++trees;
        EXPECT_EQ(message->tree->tid, static_cast<std::uint32_t>(::getpid()));
        EXPECT_EQ(message->tree->calls.at(0).function, 0U);
        EXPECT_EQ(message->tree->calls.at(0).end, calls::CallEnd::Returned);
    }
    EXPECT_EQ(trees, 2U);
    const auto last = calls::parse_message(lines_[0]->last());
    ASSERT_TRUE(last && last->ended) << lines_[0]->last();
    EXPECT_EQ(last->ended->reason, "call count reached");
    EXPECT_GE(last->ended->calls, 2U);
    EXPECT_EQ(last->ended->short_calls, 0U);
}

TEST_F(CallTracesTest, CallsThatAreTooShortAreOnlyCounted) {
    object request = calls_request();
    request["least_ns"] = 10'000'000'000;
    ASSERT_TRUE(begin(request));
    await("the trace", [this] { return !lines_[0]->said().empty() || !lines_[0]->last().empty(); });
    ASSERT_THAT(lines_[0]->last(), IsEmpty());
    const LibraryCalls library;
    for (int i = 0; i < 3; ++i) library.valloc(16);
    lines_[0]->unwanted = true;
    await("the trace", [this] { return traces_->running() == 0; });
    for (const std::string& line : lines_[0]->said())
        EXPECT_FALSE(calls::parse_message(line).value().tree) << line;
    const auto last = calls::parse_message(lines_[0]->last());
    ASSERT_TRUE(last && last->ended) << lines_[0]->last();
    EXPECT_EQ(last->ended->short_calls, 3U);
    EXPECT_EQ(last->ended->reason, "the client disconnected");
}

TEST_F(CallTracesTest, ATraceOfObjectsFollowsThemFromTheirCreationToTheirRelease) {
    ASSERT_TRUE(
        begin({{"command", "objects"},
               {"pid", ::getpid()},
               {"memory", 0},
               {"timeout_ns", 0},
               {"rules",
                {{{"name", "thing"}, {"create", "valloc:result"}, {"release", "realloc:arg0"}}}}}));
    await("the trace", [this] { return !lines_[0]->said().empty() || !lines_[0]->last().empty(); });
    ASSERT_THAT(lines_[0]->last(), IsEmpty());
    const auto first = calls::parse_objects_reply(lines_[0]->said().at(0));
    ASSERT_TRUE(first && first->started) << lines_[0]->said().at(0);
    EXPECT_THAT(first->started->classes, testing::ElementsAre("thing"));
    EXPECT_EQ(first->started->pid, static_cast<std::uint32_t>(::getpid()));
    EXPECT_GT(first->started->began_monotonic_ns, 0U);
    ASSERT_EQ(first->started->functions.size(), 2U);
    const LibraryCalls library;
    EXPECT_EQ(library.valloc(0x5000), 0x5000U);
    EXPECT_EQ(library.valloc(0x6000), 0x6000U);
    library.realloc(0x5000);
    lines_[0]->unwanted = true;
    await("the trace", [this] { return traces_->running() == 0; });
    std::vector<std::uint64_t> objects;
    for (const std::string& line : lines_[0]->said()) {
        const auto reply = calls::parse_objects_reply(line);
        ASSERT_TRUE(reply) << line;
        if (reply->calls)
            for (const calls::ObjectCall& call : *reply->calls) objects.push_back(call.object);
    }
    EXPECT_THAT(objects, testing::ElementsAre(0x5000, 0x6000, 0x5000));
    const auto last = calls::parse_objects_reply(lines_[0]->last());
    ASSERT_TRUE(last && last->ended) << lines_[0]->last();
    ASSERT_EQ(last->ended->classes.size(), 1U);
    EXPECT_EQ(last->ended->classes[0].created, 2U);
    EXPECT_EQ(last->ended->classes[0].released, 1U);
    EXPECT_EQ(last->ended->classes[0].alive, 1U);
    EXPECT_EQ(last->ended->totals.size(), 2U);
    ASSERT_EQ(last->ended->oldest.size(), 1U);
    EXPECT_EQ(last->ended->oldest[0].object, 0x6000U);
    EXPECT_EQ(last->ended->sent, 3U);
    EXPECT_EQ(last->ended->not_sent, 0U);
}
#endif

}  // namespace
}  // namespace lagtrap::daemon::call_traces_test
