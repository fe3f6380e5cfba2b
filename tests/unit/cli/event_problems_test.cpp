#include "cli/status/event_problems.hpp"

#include <array>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>

namespace lagtrap::cli::event_problems_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> problems_of(const std::string& fields) {
    return event_problems(boost::json::parse("{" + fields + "}").as_object());
}

TEST(EventProblems, AreNoneWhileNothingIsWrong) {
    EXPECT_THAT(problems_of(R"("watched_share":1,"files":1,"absent":["/opt/app"],"counted":0,)"
                            R"("lost":0,"open_overdue":0,"files_left_out":0,"problem":"")"),
                IsEmpty());
}

TEST(EventProblems, CountEachKindOfRun) {
    const std::vector<std::array<std::string, 3>> kinds{
        {"counted", "begin was only counted, not timed", "begins were only counted, not timed"},
        {"unmatched_begins", "begin without an end", "begins without an end"},
        {"unmatched_ends", "end without a begin", "ends without a begin"},
        {"unmatched_stages", "stage without a begin", "stages without a begin"},
        {"failed", "run failed", "runs failed"},
        {"cancelled", "run cancelled", "runs cancelled"},
        {"left_by_exception", "call left by an exception or longjmp",
         "calls left by an exception or longjmp"},
        {"abandoned", "run abandoned by their thread or process",
         "runs abandoned by their thread or process"},
        {"lost", "run lost: too many were open", "runs lost: too many were open"},
        {"expired", "run expired: open for too long", "runs expired: open for too long"},
        {"too_deep", "run nested too deep", "runs nested too deep"},
        {"trace_texts_lost", "trace id lost or unreadable", "trace ids lost or unreadable"},
        {"limited", "hit by limited users and processes", "hits by limited users and processes"},
        {"files_left_out", "file is not watched: the limit per event or user is reached",
         "files are not watched: the limit per event or user is reached"}};
    for (const auto& [field, one, many] : kinds) {
        EXPECT_THAT(problems_of("\"files\":1,\"" + field + "\":1"), ElementsAre("1 " + one));
        EXPECT_THAT(problems_of("\"files\":1,\"" + field + "\":2"), ElementsAre("2 " + many));
    }
}

TEST(EventProblems, ACallLeftByAnExceptionIsNotCountedTwice) {
    EXPECT_THAT(problems_of(R"("abandoned":3,"left_by_exception":3)"),
                ElementsAre("3 calls left by an exception or longjmp"));
    EXPECT_THAT(problems_of(R"("abandoned":4,"left_by_exception":3)"),
                ElementsAre("3 calls left by an exception or longjmp",
                            "1 run abandoned by their thread or process"));
}

TEST(EventProblems, TellOfRunsBeyondTheThreshold) {
    EXPECT_THAT(problems_of(R"("open_overdue":1,"oldest_open_ns":2000000000)"),
                ElementsAre("1 run is open beyond the threshold, the oldest for 2.00 s"));
    EXPECT_THAT(problems_of(R"("open_overdue":2,"oldest_open_ns":2000000000)"),
                ElementsAre("2 runs are open beyond the threshold, the oldest for 2.00 s"));
}

TEST(EventProblems, TellOfFilesOnlyWhileNoneIsWatched) {
    EXPECT_THAT(problems_of(R"("files":0,"absent":["/opt/a","/opt/b"])"),
                ElementsAre("no program at /opt/a yet", "no program at /opt/b yet"));
    const std::string namesake = R"("files":1,"namesake":{"path":"/srv/app","pid":7})";
    EXPECT_THAT(problems_of(R"("armed":true,)" + namesake),
                ElementsAre("no process uses its file, but /srv/app (process 7) is a different "
                            "file of that name; use binary=\"*/app\" to watch all of them"));
    EXPECT_THAT(problems_of(R"("armed":false,)" + namesake), IsEmpty());
    EXPECT_THAT(problems_of(R"("files":2,"copies":[{"path":"/a","pid":1,"problem":""},3,)"
                            R"({"path":"/b","pid":2,"where":"container x","problem":"no probe"}])"),
                ElementsAre("/b (process 2 of container x) is not watched: no probe"));
}

TEST(EventProblems, TellOfControlGroups) {
    EXPECT_THAT(problems_of(R"("scope_groups":{"groups":1})"), IsEmpty());
    EXPECT_THAT(problems_of(R"("scope_groups":{"groups":0,"not_known":{"image":1,"name":2}})"),
                ElementsAre("no unit or container matches its scope now",
                            "1 container is not in its scope: the container manager's files lack "
                            "the image",
                            "2 containers are not in its scope: the container manager's files "
                            "lack the name"));
}

TEST(EventProblems, TellWhatTheBudgetDisabled) {
    EXPECT_THAT(problems_of(R"("disabled":true,"problem":"over budget","again_in_seconds":60)"),
                ElementsAre("over budget; retry in 60.0 s"));
    EXPECT_THAT(problems_of(R"("disabled":false,"problem":"no file","again_in_seconds":60)"),
                ElementsAre("no file"));
    const std::string in_part =
        R"("disabled":true,"problem":"over budget","watched_share":0.25,"precision":{"count":)";
    EXPECT_THAT(problems_of(in_part + R"("exact"})"),
                ElementsAre("watched 25 % of the time to stay within the budget; one run in 4 is "
                            "timed; the others are counted"));
    EXPECT_THAT(problems_of(in_part + R"("sampled"})"),
                ElementsAre("watched 25 % of the time to stay within the budget; one run in 4 is "
                            "timed; the number of others is estimated"));
    EXPECT_THAT(problems_of(R"("stacks_disabled":true,"again_in_seconds":5)"),
                ElementsAre("stacks at its markers are disabled: over budget; retry in 5.00 s"));
}

TEST(EventProblems, TellOfSharesOfRecordings) {
    const auto without = [](const std::string& reason) {
        return problems_of(R"("without_recordings":{"reason":")" + reason +
                           R"(","seconds_left":30})");
    };
    EXPECT_THAT(without("event-share"),
                ElementsAre("used its share of the recordings per hour; none for 30.0 s"));
    EXPECT_THAT(without("daily-limit"),
                ElementsAre("used its recordings of the day; none for 30.0 s"));
    EXPECT_THAT(without("cool-down"), IsEmpty());
}

TEST(EventProblems, TellOfFunctionTraces) {
    EXPECT_THAT(
        problems_of(R"("functions":{"traces":[{"process":"app","pid":7,"watched":0},)"
                    R"({"process":"app","pid":8,"watched":1200,"detached":3,"least_ns":1000},)"
                    R"({"process":"app","pid":9,"watched":1,"least_ns":1000,"recording":true}],)"
                    R"("processes_without":1,"problem":"no room"})"),
        ElementsAre("functions of process 7 are being searched",
                    "functions of app (8): 1,200 traced, 3 detached (called too often); calls of "
                    "at least 1.00 us are kept",
                    "functions of app (9): 1 traced, 0 detached (called too often); calls of at "
                    "least 1.00 us are kept, in the recording",
                    "1 further process is traced only after a breach: the limit is reached",
                    "functions cannot be traced: no room"));
}

}  // namespace
}  // namespace lagtrap::cli::event_problems_test
