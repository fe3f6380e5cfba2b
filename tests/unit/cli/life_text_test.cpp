#include "cli/why/life_text.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/why/life_json.hpp"
#include "cli/why/losses.hpp"

namespace lagtrap::cli::life_text_test {
namespace {

using analysis::CommandLife;
using analysis::LongWait;
using analysis::TimeKind;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::uint64_t ms = 1'000'000, s = 1'000'000'000;

class LifeText : public testing::Test {
  protected:
    LifeText() {
        life_.delay.duration_ns = life_.split.wall_ns = s;
        facts_.command = "make all";
        facts_.took_ns = 1200 * ms;
        recording_.end_ns = s;
        recording_.cpu_count = 2;
    }
    [[nodiscard]] std::string text(std::size_t columns = 80) const {
        return life_text(recording_, life_, facts_, Paint(false), columns);
    }
    void add_part(const std::string& process, std::size_t processes, TimeKind kind,
                  const std::string& reason, std::uint64_t time_ns) {
        life_.parts.push_back({process, processes, kind, reason, time_ns});
    }
    LongWait& add_wait(std::uint64_t offset_ns, std::uint64_t length_ns) {
        LongWait wait;
        wait.offset_ns = offset_ns;
        wait.length_ns = length_ns;
        wait.reason = "disk";
        life_.waits.push_back(wait);
        return life_.waits.back();
    }
    void add_process(std::uint64_t offset_ns, std::uint64_t life_ns, const std::string& name) {
        analysis::StartedProcess process;
        process.offset_ns = offset_ns;
        process.life_ns = life_ns;
        process.on_cpu_ns = life_ns / 2;
        process.name = name;
        life_.started.push_back(process);
    }
    analysis::Recording recording_;
    CommandLife life_;
    LifeFacts facts_;
};

TEST_F(LifeText, BeginsWithTheCommandAndItsEnd) {
    EXPECT_THAT(text(), StartsWith("make all took 1.20 s\n\nWhere the time went  in the command "
                                   "and in processes it waited for\n"));
    facts_.exit_code = 2;
    facts_.beyond_limit = true;
    EXPECT_THAT(text(), StartsWith("make all took 1.20 s, exit status 2\n"
                                   "  The recording ended first, after 1.00 s. --limit records "
                                   "more.\n\nWhere"));
    facts_.beyond_limit = false;
    facts_.command = std::string(100, 'x');
    EXPECT_THAT(text(),
                StartsWith(std::string(80 - 27 - 3, 'x') + "... took 1.20 s, exit status 2\n"));
    EXPECT_THAT(text(30), StartsWith(std::string(17, 'x') + "... took 1.20 s"));
    life_.delay.duration_ns = 0;
    facts_.command = "true";
    EXPECT_EQ(text(),
              "true took 1.20 s, exit status 2\n  It ended before anything was recorded.\n");
}

TEST_F(LifeText, HasPartsOfAtLeastAHundredth) {
    add_part("cc1plus", 1200, TimeKind::OnCpu, "", 600 * ms);
    add_part("make", 1, TimeKind::Runnable, "", 200 * ms);
    add_part("", 1, TimeKind::Blocked, "disk", 100 * ms);
    add_part("ld", 2, TimeKind::Unknown, "thread ended", 10 * ms);
    add_part("small", 1, TimeKind::OnCpu, "", 10 * ms - 1);
    const std::string rows =
        "     600 ms   60 %  cc1plus (1,200 processes)   on a CPU\n"
        "     200 ms   20 %  make                        waiting for a CPU\n"
        "     100 ms   10 %  unknown process             blocked: disk\n"
        "    10.0 ms    1 %  ld (2 processes)            unknown: thread ended\n";
    EXPECT_THAT(text(), HasSubstr("waited for\n" + rows + "\nThe machine's"));
    add_part("small", 1, TimeKind::OnCpu, "", 1);
    EXPECT_THAT(text(), HasSubstr(rows + "    10.0 ms    1 %  other\n\nThe machine's"));
}

TEST_F(LifeText, HasAtMostEightParts) {
    for (int i = 0; i < 8; ++i)
        add_part("process-" + std::to_string(i), 1, TimeKind::OnCpu, "", 50 * ms);
    EXPECT_THAT(text(), HasSubstr("process-7"));
    EXPECT_THAT(text(), Not(HasSubstr("other\n")));
    add_part("process-8", 1, TimeKind::OnCpu, "", 50 * ms);
    add_part("process-9", 1, TimeKind::OnCpu, "", 50 * ms);
    EXPECT_THAT(text(), Not(HasSubstr("process-8")));
    EXPECT_THAT(text(), HasSubstr("     100 ms   10 %  other\n"));
}

TEST_F(LifeText, TellsHowWaitsEnded) {
    EXPECT_THAT(text(), Not(HasSubstr("Longest waits")));
    LongWait& first = add_wait(5 * ms, 300 * ms);
    first.went_on = first.timed_out = true;
    first.ended_by.tid = 9;
    LongWait& second = add_wait(400 * ms, 200 * ms);
    second.timed_out = true;
    second.ended_by.tid = 9;
    LongWait& third = add_wait(0, 10 * ms);
    third.ended_by.pid = 8;
    third.ended_by.tid = 9;
    third.ended_by.process = "server";
    third.ended_by.thread = "pool";
    EXPECT_THAT(text(),
                HasSubstr("\nLongest waits  of its main thread: start, length, reason\n"
                          "   +5.00 ms    300 ms  disk, it was still waiting\n"
                          "    +400 ms    200 ms  disk, timed out\n"
                          "      +0 ns   10.0 ms  disk, ended by server (8)\n\nThe machine's"));
    life_.waits[2].ended_by.process = "";
    EXPECT_THAT(text(), HasSubstr("disk, ended by pool (8)\n"));
    life_.waits[2].ended_by.tid = 0;
    EXPECT_THAT(text(), HasSubstr("   10.0 ms  disk\n"));
    life_.waits[2].length_ns = 10 * ms - 1;  // less than a hundredth
    EXPECT_THAT(text(), HasSubstr("timed out\n\nThe machine's"));
    life_.waits[2].length_ns = 10 * ms;
    add_wait(700 * ms, 10 * ms);
    EXPECT_THAT(text(), Not(HasSubstr("+700 ms")));
}

TEST_F(LifeText, HasTheFiveProcessesThatLivedLongestInOrder) {
    EXPECT_THAT(text(), Not(HasSubstr("It started")));
    add_process(30 * ms, 100 * ms, "third");
    EXPECT_THAT(text(), HasSubstr("\nIt started  1 process: start, length, CPU time\n"
                                  "   +30.0 ms    100 ms   50.0 ms  third\n"));
    add_process(10 * ms, 200 * ms, "first");
    add_process(20 * ms, 50 * ms, "short");
    for (const std::uint64_t at : {40, 50}) add_process(at * ms, 60 * ms, "later");
    EXPECT_THAT(text(), HasSubstr("It started  5 processes: start"));
    add_process(60 * ms, 70 * ms, "cc1");
    life_.started.back().command_line = "cc1 -O2 a.c";
    EXPECT_THAT(text(),
                HasSubstr("\nIt started  6 processes; the longest 5: start, length, CPU time\n"
                          "   +10.0 ms    200 ms    100 ms  first\n"
                          "   +30.0 ms    100 ms   50.0 ms  third\n"
                          "   +40.0 ms   60.0 ms   30.0 ms  later\n"
                          "   +50.0 ms   60.0 ms   30.0 ms  later\n"
                          "   +60.0 ms   70.0 ms   35.0 ms  cc1 -O2 a.c\n\nThe machine's"));
}

TEST_F(LifeText, HasTheCause) {
    EXPECT_THAT(text(), Not(HasSubstr("Cause")));
    life_.causes.wall_ns = s;
    life_.causes.who.process = life_.causes.who.thread = "make";
    life_.causes.causes.resize(1);
    life_.causes.causes[0].doing.kind = TimeKind::OnCpu;
    life_.causes.causes[0].doing.time_ns = s;
    const std::string sentence = analysis::life_sentences(life_).at(0);
    EXPECT_THAT(text(200), HasSubstr("took 1.20 s\n\nCause\n  " + sentence + "\n\nWhere"));
}

TEST_F(LifeText, JsonHasEverything) {
    life_.delay.begin_pid = 42;
    life_.split.on_cpu_ns = 1;
    life_.split.runnable_ns = 2;
    life_.split.blocked_ns = 3;
    life_.split.not_recorded_ns = 4;
    facts_.exit_code = 130;
    add_part("cc1", 2, TimeKind::Blocked, "disk", 7);
    add_wait(8, 9);
    life_.waits[0].timed_out = true;
    add_wait(10, 11).ended_by = {3, 4, "server", "pool", "unit"};
    life_.waits[1].went_on = true;
    add_process(12, 14, "cc1");
    life_.started[0].pid = 43;
    life_.started[0].parent_pid = 42;
    life_.started[0].command_line = "cc1 -O2";
    const auto json = life_json(recording_, life_, facts_);
    EXPECT_EQ(boost::json::serialize(json.at("parts")),
              R"([{"process":"cc1","processes":2,"kind":"blocked","reason":"disk","time_ns":7}])");
    EXPECT_EQ(boost::json::serialize(json.at("waits")),
              R"([{"offset_ns":8,"length_ns":9,"reason":"disk","timed_out":true,"went_on":false},)"
              R"({"offset_ns":10,"length_ns":11,"reason":"disk","timed_out":false,"went_on":true,)"
              R"("ended_by":{"pid":3,"tid":4,"process":"server","thread":"pool"}}])");
    EXPECT_EQ(boost::json::serialize(json.at("started")),
              R"([{"pid":43,"parent_pid":42,"process":"cc1","command_line":"cc1 -O2",)"
              R"("offset_ns":12,"life_ns":14,"on_cpu_ns":7}])");
    const auto number = [&](const char* name) { return json.at(name).to_number<std::uint64_t>(); };
    EXPECT_EQ(json.at("command"), "make all");
    EXPECT_EQ(number("pid"), 42U);
    EXPECT_EQ(number("took_ns"), 1200 * ms);
    EXPECT_EQ(number("exit_status"), 130U);
    EXPECT_EQ(json.at("beyond_limit"), false);
    EXPECT_EQ(number("wall_ns"), s);
    EXPECT_EQ(number("on_cpu_ns"), 1U);
    EXPECT_EQ(number("runnable_ns"), 2U);
    EXPECT_EQ(number("blocked_ns"), 3U);
    EXPECT_EQ(number("not_recorded_ns"), 4U);
    EXPECT_TRUE(json.at("causes").at("sentences").is_array());
}

TEST(Losses, TellCostAndWhatWasLost) {
    analysis::Recording recording;
    recording.end_ns = s;
    recording.cpu_count = 2;
    recording.system.quality.daemon_cpu_ns = 40 * ms;
    EXPECT_EQ(losses_part(recording, 80),
              "\nThe machine's CPUs were 100 % idle; recording cost 2 % of them.\n");
    recording.system.quality.samples_taken = 1990;
    recording.system.quality.samples_lost = 10;
    recording.system.quality.wakings_lost = 7;
    EXPECT_EQ(losses_part(recording, 80),
              "\nThe machine's CPUs were 100 % idle; recording cost 2 % of them. Lost: 10 of\n"
              "2,000 samples, 7 wakings.\n");
}

}  // namespace
}  // namespace lagtrap::cli::life_text_test
