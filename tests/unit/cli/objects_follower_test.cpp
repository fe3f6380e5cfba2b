// Following an object trace through a server.
#include "cli/objects/objects_follower.hpp"

#include <signal.h>

#include <sstream>

#include <boost/json.hpp>
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "calls/object_stream.hpp"
#include "cli/console/interrupt.hpp"
#include "cli/objects/objects_connect.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"
#include "tests/unit/uploader/scripted_server.hpp"

namespace lagtrap::cli::objects_follower_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using uploader::ScriptedServer;

std::string answer_of(const std::string& body, const std::string& status = "200 OK") {
    return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status,
                       body.size(), body);
}

std::string watch(const std::string& id, const std::string& host, const std::string& process,
                  int pid, bool ended = false) {
    return fmt::format(R"({{"watch":"{}","host":"{}","process":"{}","pid":{},"ended":{}}})", id,
                       host, process, pid, ended);
}

std::string watches(const std::string& rows) { return answer_of("{\"watches\":[" + rows + "]}"); }

const std::string three = watch("w1", "oak", "shop", 7, true) + "," +
                          watch("w2", "elm", "shop", 8) + "," + watch("w3", "oak", "store", 9);

std::string part(std::uint32_t number, const std::string& lines, bool last = false, int lost = 0) {
    return boost::json::serialize(boost::json::object{
        {"number", number}, {"lines", lines}, {"last", last}, {"lost_lines", lost}});
}

std::string parts(const std::string& rows) { return answer_of("{\"parts\":[" + rows + "]}"); }

Result<WatchOnServer> find(FollowOptions options, const std::string& answer = watches(three)) {
    const ScriptedServer server({answer});
    options.url = server.url();
    auto found = ObjectsFollower::find(options);
    if (!found) return found.error();
    return found->watch();
}

std::string id_of(const FollowOptions& options) {
    const auto found = find(options);
    return found ? found->id : found.error().message;
}

TEST(ObjectsFollower, PrefersAWatchThatRuns) {
    EXPECT_EQ(id_of({}), "w2");
    EXPECT_EQ(id_of({.watch = "w1"}), "w1");
    EXPECT_EQ(id_of({.host = "oak"}), "w3");
    EXPECT_EQ(id_of({.process = "store"}), "w3");
    EXPECT_EQ(id_of({.process = "7"}), "w1");
    EXPECT_EQ(id_of({.host = "oak", .process = "shop"}), "w1") << "none that runs";
    const auto all = find({.watch = "w3"}).value();
    EXPECT_EQ(all.host, "oak");
    EXPECT_EQ(all.process, "store");
    EXPECT_EQ(all.pid, 9U);
    EXPECT_FALSE(all.ended);
    EXPECT_TRUE(find({.watch = "w1"})->ended);
}

TEST(ObjectsFollower, SaysWhichThereAre) {
    EXPECT_EQ(id_of({.host = "fir"}),
              "the server has no such watch; there are\n  w1  shop (7) on oak, ended\n"
              "  w2  shop (8) on elm\n  w3  store (9) on oak");
    EXPECT_EQ(find({}, watches("")).error().message,
              "the server has no such watch; no machine has sent any yet; run `lagtrap objects "
              "--send ...` on the machine of the process");
    EXPECT_EQ(find({.watch = "w2", .process = "store"}).error().kind, ErrorKind::NotFound);
    std::string ten, eleven;
    for (int i = 0; i < 10; ++i)
        ten += (i > 0 ? "," : "") + watch(fmt::format("x{}", i), "a", "b", i);
    eleven = ten + "," + watch("x10", "a", "b", 10);
    EXPECT_THAT(find({.watch = "none"}, watches(ten)).error().message,
                testing::EndsWith("\n  x9  b (9) on a"));
    EXPECT_THAT(find({.watch = "none"}, watches(eleven)).error().message,
                testing::EndsWith("\n  x9  b (9) on a\n  and 1 more"));
}

TEST(ObjectsFollower, RejectsOddAnswers) {
    for (const char* odd : {"", "[]", "{}", "{\"watches\":1}", "{\"watches\":[1]}"})
        EXPECT_EQ(find({}, answer_of(odd)).error().kind, ErrorKind::Invalid) << odd;
    EXPECT_THAT(find({}, answer_of("", "401 Unauthorized")).error().message,
                HasSubstr("; use --token-file with a token that has the scope read"));
}

// Follows watch w2 through these answers.
class Following : public testing::Test {
  protected:
    ObjectsFollower follow(std::vector<std::string> answers) {
        answers.insert(answers.begin(), watches(three));
        server_ = std::make_unique<ScriptedServer>(std::move(answers));
        return ObjectsFollower::find({.url = server_->url()}).value();
    }
    std::vector<FollowedPart> next(ObjectsFollower& follower, std::chrono::seconds after = 0s) {
        auto got = follower.next(begin_ + after, stop_);
        EXPECT_TRUE(got) << got.error().message;
        return got ? std::move(*got) : std::vector<FollowedPart>{};
    }
    static std::vector<std::uint32_t> numbers(const std::vector<FollowedPart>& all) {
        std::vector<std::uint32_t> numbers;
        for (const FollowedPart& one : all) numbers.push_back(one.number);
        return numbers;
    }
    std::unique_ptr<ScriptedServer> server_;
    ObjectsFollower::Clock::time_point begin_ = ObjectsFollower::Clock::now();
    volatile std::sig_atomic_t stop_ = 0;
};

TEST_F(Following, GivesPartsInOrderOnce) {
    auto follower = follow({parts(part(2, "c\n") + "," + part(1, "a\n\nb", false, 4)), parts(""),
                            parts(part(2, "c\n") + "," + part(3, "", true))});
    const auto first = next(follower);
    ASSERT_EQ(first.size(), 2U);
    EXPECT_EQ(first[0].number, 1U);
    EXPECT_THAT(first[0].lines, ElementsAre("a", "b"));
    EXPECT_EQ(first[0].lost_lines, 4U);
    EXPECT_EQ(first[0].lost_parts, 0U);
    EXPECT_FALSE(first[0].last);
    EXPECT_THAT(first[1].lines, ElementsAre("c"));
    EXPECT_THAT(next(follower), IsEmpty());
    const auto last = next(follower);
    ASSERT_EQ(last.size(), 1U);
    EXPECT_EQ(last[0].number, 3U);
    EXPECT_TRUE(last[0].last);
    const auto& asked = server_->requests();
    ASSERT_EQ(asked.size(), 4U);
    EXPECT_THAT(asked[0], StartsWith("GET /api/v1/objects "));
    EXPECT_THAT(asked[1], StartsWith("GET /api/v1/objects/w2?after=0 "));
    EXPECT_THAT(asked[2], StartsWith("GET /api/v1/objects/w2?after=2 "));
}

TEST_F(Following, WaitsForAMissingPart) {
    auto follower = follow({parts(part(1, "a")), parts(part(4, "d")), parts(""),
                            parts(part(2, "b") + "," + part(3, "c"))});
    EXPECT_THAT(numbers(next(follower)), ElementsAre(1));
    EXPECT_THAT(next(follower), IsEmpty());
    EXPECT_THAT(next(follower, 14s), IsEmpty());
    EXPECT_THAT(numbers(next(follower, 14s)), ElementsAre(2, 3, 4));
}

TEST_F(Following, GoesOnWithoutItAfterAWhile) {
    auto follower = follow({parts(part(1, "a")), parts(part(4, "d")), parts(""),
                            parts(part(3, "late") + "," + part(6, "f"))});
    (void)next(follower);
    EXPECT_THAT(next(follower, 5s), IsEmpty());
    const auto after = next(follower, 5s + ObjectsFollower::gap_timeout);
    ASSERT_EQ(after.size(), 1U);
    EXPECT_EQ(after[0].number, 4U);
    EXPECT_EQ(after[0].lost_parts, 2U);
    EXPECT_THAT(next(follower, 30s), IsEmpty()) << "a new gap has a time of its own";
}

TEST_F(Following, OddPartsAreErrors) {
    for (const char* odd : {"[]", "{}", "{\"parts\":{}}", "{\"parts\":[7]}"}) {
        auto follower = follow({answer_of(odd)});
        EXPECT_EQ(follower.next(begin_, stop_).error().kind, ErrorKind::Invalid) << odd;
    }
    auto follower = follow({parts(part(0, "zero") + R"(,{"number":4294967296,"lines":"x"},)" +
                                  R"({"number":1,"lines":5})")});
    const auto got = next(follower);
    EXPECT_THAT(numbers(got), ElementsAre(1));
    EXPECT_THAT(got[0].lines, IsEmpty());
    auto gone = follow({answer_of("", "404 Not Found")});
    EXPECT_EQ(gone.next(begin_, stop_).error().kind, ErrorKind::NotFound);
}

std::string started_line() {
    calls::ObjectsStarted started;
    started.pid = 8;
    started.process = "shop";
    started.classes = {"page"};
    started.functions.resize(1);
    started.functions[0].function.name = "use_page";
    return boost::json::serialize(calls::to_json(started)) + "\n";
}

std::string call_line() {
    calls::ObjectCall call;
    call.begin_ns = 1000;
    call.end_ns = 3000;
    call.object = 5;
    call.tid = 43;
    call.thread = "worker";
    return boost::json::serialize(calls::to_json(std::vector<calls::ObjectCall>{call})) + "\n";
}

std::string ended_line() {
    calls::ObjectsEnded ended;
    ended.reason = "the time is over";
    ended.classes.resize(1);
    return boost::json::serialize(calls::to_json(ended)) + "\n";
}

class ObjectsConnect : public testing::Test {
  protected:
    ~ObjectsConnect() override {
        interrupted = 0;
        (void)::signal(SIGINT, SIG_DFL);
    }
    int follow(std::vector<std::string> answers, bool as_json = false) {
        answers.insert(answers.begin(), watches(three));
        const ScriptedServer server(std::move(answers));
        ObjectsOptions options;
        options.connect = server.url();
        options.json = as_json;
        out_.str("");
        err_.str("");
        Console console{out_, err_, Paint(false)};
        return follow_objects(options, console, 0);
    }
    std::ostringstream out_, err_;
};

TEST_F(ObjectsConnect, ShowsTheTraceAndItsTrees) {
    EXPECT_EQ(
        follow({parts(part(1, started_line() + call_line())), parts(part(2, ended_line(), true))}),
        0)
        << err_.str();
    EXPECT_EQ(err_.str(), "following shop (8) on elm, watch w2\n");
    EXPECT_THAT(out_.str(), StartsWith("Objects of shop (8)\n"));
    EXPECT_THAT(out_.str(), HasSubstr("worker (43)\n"));
    EXPECT_THAT(out_.str(), HasSubstr("the time is over"));
    EXPECT_EQ(follow({parts(part(1, started_line()) + "," + part(2, ended_line(), true))}, true),
              0);
    EXPECT_EQ(out_.str(), started_line() + ended_line());
}

TEST_F(ObjectsConnect, SaysWhatWasLost) {
    EXPECT_EQ(
        follow({parts(part(1, started_line(), false, 3) + "," + part(2, ended_line(), true, 1))}),
        0);
    EXPECT_THAT(err_.str(), testing::EndsWith("\n4 lines not sent because the spool was full\n"));
}

TEST_F(ObjectsConnect, WithoutItsFirstPartNothingCanBeRead) {
    EXPECT_EQ(
        follow({parts(part(1, started_line(), false) + "," + part(2, ended_line(), true))}, false),
        0);
    EXPECT_EQ(err_.str(), "following shop (8) on elm, watch w2\n") << "nothing was lost";
}

TEST_F(ObjectsConnect, WithoutItsEndItIsIncomplete) {
    EXPECT_EQ(follow({parts(part(1, started_line(), true))}), 1);
    EXPECT_THAT(err_.str(), HasSubstr("lagtrap: incomplete: the last line is missing\n"));
}

TEST_F(ObjectsConnect, AServerThatIsBusyIsAskedAgain) {
    EXPECT_EQ(follow({answer_of("", "503 Service Unavailable"),
                      parts(part(1, started_line() + ended_line(), true))}),
              0);
    EXPECT_THAT(err_.str(), HasSubstr("; retrying every second\n"));
    EXPECT_THAT(err_.str(), HasSubstr("lagtrap: the server answers again\n"));
}

TEST_F(ObjectsConnect, OtherErrorsEndIt) {
    EXPECT_EQ(follow({answer_of("", "404 Not Found")}), 1);
    EXPECT_EQ(follow({parts(part(1, "no line of a trace"))}), 1);
    Console console{out_, err_, Paint(false)};
    ObjectsOptions options;
    options.connect = "ftp://nowhere";
    EXPECT_EQ(follow_objects(options, console, 0), 1);
}

}  // namespace
}  // namespace lagtrap::cli::objects_follower_test
