#include "cli/reports/cause_json.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace lagtrap::cli::cause_json_test {
namespace {

using analysis::CallLine;
using analysis::DelayCauses;
using analysis::ThreadDoing;
using analysis::TimeKind;
using analysis::WaitEnd;
using boost::json::serialize;
using boost::json::value;

ThreadDoing doing_of(TimeKind kind, std::uint64_t time_ns = 25) {
    ThreadDoing doing;
    doing.kind = kind;
    doing.time_ns = time_ns;
    doing.count = 2;
    return doing;
}

DelayCauses causes_of(const ThreadDoing& doing) {
    DelayCauses causes;
    causes.wall_ns = 100;
    causes.causes.resize(1);
    causes.causes[0].doing = doing;
    return causes;
}

value part_of(const ThreadDoing& doing) { return causes_json(causes_of(doing)).at("parts").at(0); }

bool has(const value& object, const char* name) { return object.as_object().contains(name); }

TEST(CauseJson, TimeOnACpuHasAPlace) {
    ThreadDoing doing = doing_of(TimeKind::OnCpu);
    doing.focus.place = {"work", "/bin/app", "/src/work.c", 7, "memcpy", "/lib/libc.so"};
    doing.focus.caller = "main";
    doing.focus.time_ns = 20;
    CallLine line;
    line.place.function = "inner";
    line.on_cpu_ns = 1;
    line.blocked_ns = 2;
    line.waiting_ns = 4;
    doing.focus.parts = {line};
    const value part = part_of(doing);
    EXPECT_EQ(part.at("kind"), "on CPU");
    EXPECT_EQ(part.at("time_ns"), 25U);
    EXPECT_EQ(part.at("share").as_double(), 0.25);
    EXPECT_EQ(part.at("count"), 2U);
    EXPECT_EQ(serialize(part.at("place")),
              R"({"function":"work","module":"/bin/app","source":"/src/work.c","line":7,)"
              R"("called":"memcpy","called_module":"/lib/libc.so","caller":"main","time_ns":20,)"
              R"("parts":[{"function":"inner","module":"","source":"","line":0,"called":"",)"
              R"("called_module":"","time_ns":7}]})");
    for (const char* name : {"kernel", "cpu", "file", "waited", "ended_by", "wakers", "turns"})
        EXPECT_FALSE(has(part, name)) << name;
    doing.kernel = "clear_page";
    EXPECT_EQ(part_of(doing).at("kernel"), "clear_page");
}

TEST(CauseJson, WaitingForACpuHasItsHolders) {
    ThreadDoing doing = doing_of(TimeKind::Runnable);
    doing.cpu.cpus = {3, 5};
    doing.cpu.idle_ns = 1;
    doing.cpu.elsewhere_ns = 2;
    doing.cpu.unknown_ns = 3;
    doing.cpu.holders.resize(1);
    auto& holder = doing.cpu.holders[0];
    holder.pid = 10;
    holder.tid = 11;
    holder.process = "p";
    holder.thread = "t";
    holder.unit = "u";
    holder.threads = 4;
    holder.time_ns = 19;
    holder.function = "f";
    holder.caller = "c";
    holder.priority = 49;
    const value part = part_of(doing);
    EXPECT_EQ(serialize(part.at("cpu")),
              R"({"cpus":[3,5],"idle_ns":1,"elsewhere_ns":2,"unknown_ns":3,"holders":[{"pid":10,)"
              R"("tid":11,"process":"p","thread":"t","unit":"u","threads":4,"time_ns":19,)"
              R"("function":"f","caller":"c","real_time_priority":50}]})");
    EXPECT_FALSE(has(part, "waited"));
    EXPECT_FALSE(has(part_of(doing_of(TimeKind::Blocked)), "cpu"));
}

TEST(CauseJson, ABlockedThreadHasItsWakersAndItsFile) {
    ThreadDoing doing = doing_of(TimeKind::Blocked);
    doing.reason = "disk";
    doing.wakers = {{{1, 2, "p", "t", "u"}, 9}};
    doing.waker_count = 5;
    doing.turns = 3;
    value part = part_of(doing);
    EXPECT_EQ(serialize(part.at("wakers")),
              R"([{"pid":1,"tid":2,"process":"p","thread":"t","unit":"u","time_ns":9}])");
    EXPECT_EQ(part.at("waker_count"), 5U);
    EXPECT_EQ(part.at("turns"), 3U);
    EXPECT_EQ(part.at("waited").as_string(), words_of_wait(doing.wait, doing.reason));
    EXPECT_FALSE(has(part, "file"));
    doing.likely = true;
    doing.files.disk = "vda";
    doing.files.time_ns = 6;
    doing.files.files = 2;
    doing.files.queue_depth = 4;
    part = part_of(doing);
    EXPECT_EQ(part.at("wakers").at(0).at("likely"), true);
    EXPECT_EQ(serialize(part.at("file")),
              R"({"path":"","time_ns":6,"files":2,"disk":"vda","queue_depth":4})");
    doing.files.disk = "";
    doing.files.path = "/var/data";
    doing.files.holder_pid = 8;
    doing.files.holder = "backup";
    EXPECT_EQ(serialize(part_of(doing).at("file")),
              R"({"path":"/var/data","time_ns":6,"files":2,"disk":"","queue_depth":4,)"
              R"("lock_holder":{"pid":8,"process":"backup"}})");
}

TEST(CauseJson, SaysHowAWaitEnded) {
    ThreadDoing doing = doing_of(TimeKind::Blocked);
    const auto end = [&] { return std::string(part_of(doing).at("ended_by").as_string()); };
    const std::pair<WaitEnd, const char*> ends[] = {{WaitEnd::Unknown, "unknown"},
                                                    {WaitEnd::Thread, "thread"},
                                                    {WaitEnd::Timeout, "timeout"},
                                                    {WaitEnd::Interrupt, "interrupt"},
                                                    {WaitEnd::NotYet, "not yet"}};
    for (const auto& [how, word] : ends) {
        doing.end = how;
        EXPECT_EQ(end(), word);
    }
    doing.end = WaitEnd::Thread;
    doing.outlasts = true;
    EXPECT_EQ(end(), "not yet");
    doing.timed_out = true;
    EXPECT_EQ(end(), "timeout");
    doing.interruption = static_cast<analysis::Interruption>(1);
    EXPECT_EQ(end(), "thread");
}

TEST(CauseJson, SharesInAChainAreOfTheWaitBefore) {
    DelayCauses causes = causes_of(doing_of(TimeKind::Blocked));
    analysis::CauseLink link;
    link.who = {1, 2, "p", "t", "u"};
    link.whole_ns = 50;
    link.doings = {doing_of(TimeKind::OnCpu)};
    causes.causes[0].chain = {link, link};
    causes.causes[0].chain[1].likely = true;
    const value parts = causes_json(causes).at("parts");
    const value& chain = parts.at(0).at("chain");
    EXPECT_EQ(chain.at(0).at("tid"), 2U);
    EXPECT_EQ(chain.at(0).at("whole_ns"), 50U);
    EXPECT_FALSE(has(chain.at(0), "likely"));
    EXPECT_EQ(chain.at(1).at("likely"), true);
    EXPECT_EQ(chain.at(0).at("doings").at(0).at("share").as_double(), 0.5);
}

TEST(CauseJson, NamesTheRequestsThatHeldItUp) {
    ThreadDoing waited = doing_of(TimeKind::Blocked);
    waited.wait = analysis::WaitKind::Lock;
    DelayCauses causes = causes_of(waited);
    causes.request.event = "checkout";
    causes.request.run_id = 1;
    analysis::CauseLink link;
    link.who = {1, 2, "p", "t", "u"};
    link.whole_ns = 50;
    link.doings = {doing_of(TimeKind::OnCpu)};
    link.doings[0].focus.place.function = "dumps";
    causes.causes[0].chain = {link};
    EXPECT_FALSE(has(causes_json(causes), "held_up_by"));
    analysis::RequestPart part;
    part.request.event = "report";
    part.request.run_id = 7;
    part.request.key = 17;
    part.request.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    part.request.span_id = "00f067aa0ba902b7";
    part.request.route = "/report";
    part.request.attributes = {{"tenant", "B"}};
    part.time_ns = 40;
    causes.causes[0].chain[0].request = part;
    const value json = causes_json(causes);
    const std::string request =
        R"({"event":"report","run":7,"key":17,"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",)"
        R"("span_id":"00f067aa0ba902b7","route":"/report",)"
        R"("attributes":[{"name":"tenant","value":"B"}]})";
    EXPECT_EQ(serialize(json.at("parts").at(0).at("chain").at(0).at("request")), request);
    EXPECT_EQ(serialize(json.at("held_up_by")),
              R"([{"pid":1,"tid":2,"process":"p","thread":"t","unit":"u","request":)" + request +
                  R"(,"how":"lock","lost_ns":40,"place":"dumps"}])");
    ThreadDoing runnable = doing_of(TimeKind::Runnable);
    runnable.cpu.holders.resize(1);
    runnable.cpu.holders[0].request = part;
    EXPECT_EQ(serialize(part_of(runnable).at("cpu").at("holders").at(0).at("request")), request);
}

TEST(CauseJson, HasAtMost50Parts) {
    DelayCauses causes = causes_of(doing_of(TimeKind::OnCpu, 1));
    causes.causes.assign(50, causes.causes[0]);
    causes.causes.back().doing.count = 77;
    EXPECT_EQ(causes_json(causes).at("parts").as_array().back().at("count"), 77U);
    causes.causes.push_back(causes.causes[0]);
    EXPECT_EQ(causes_json(causes).at("parts").as_array().size(), 50U);
}

TEST(CallsJson, HasTheTimesOfEachLine) {
    CallLine line;
    line.functions = {"main", "work"};
    line.place.function = "work";
    line.depth = 1;
    line.on_cpu_ns = 10;
    line.blocked_ns = 20;
    line.waiting_ns = 40;
    line.own_ns = 5;
    line.called_ns = 3;
    line.nameless_ns = 2;
    line.reason = "disk";
    EXPECT_EQ(serialize(calls_json({line}, 140)),
              R"([{"function":"work","module":"","source":"","line":0,"called":"",)"
              R"("called_module":"","functions":["main","work"],"depth":1,"share":5E-1,)"
              R"("on_cpu_ns":10,"blocked_ns":20,"waiting_ns":40,"own_ns":5,"called_ns":3,)"
              R"("nameless_ns":2,"reason":"disk"}])");
    EXPECT_EQ(calls_json({line}, 0).at(0).at("share").as_double(), 0);
}

}  // namespace
}  // namespace lagtrap::cli::cause_json_test
