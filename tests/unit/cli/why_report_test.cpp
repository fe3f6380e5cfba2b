#include "cli/why/why_report.hpp"

#include <cerrno>
#include <sstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "cli/why/report_output.hpp"
#include "cli/why/why_json.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"

namespace lagtrap::cli::why_report_test {
namespace {

using namespace std::chrono_literals;
using test::TraceBuilder;
using testing::StartsWith;

TEST(RecordingLength, IsFromTenMillisecondsToTenMinutes) {
    EXPECT_EQ(recording_length("--for", "10ms").value(), 10ms);
    EXPECT_EQ(recording_length("--for", "10min").value(), 10min);
    EXPECT_EQ(recording_length("--for", "5s").value(), 5s);
    for (const char* length : {"9999us", "0s", "601s"}) {
        const auto outcome = recording_length("--limit", length);
        ASSERT_FALSE(outcome) << length;
        EXPECT_EQ(outcome.error().kind, ErrorKind::Invalid);
        EXPECT_EQ(outcome.error().message, "--limit: expected 10ms to 10min");
    }
    EXPECT_THAT(recording_length("--for", "5s\x1b").error().message, StartsWith("--for 5s\\x1b: "));
}

TEST(WhyReport, IsOfProcessesInTheRecording) {
    TraceBuilder builder(100'000'000, 1);
    builder.process(100, "/usr/bin/shop").thread(100, 100, "shop").switched(0, 0, 0, 0, 100);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const WhyLook look{Paint(false), 80, false, {}};
    const WhyTarget shop{"", false, {7, 100}};
    EXPECT_EQ(why_report(*recording, shop, false, look).value(), why_text(*recording, shop, look));
    EXPECT_EQ(why_report(*recording, shop, true, look).value(),
              boost::json::serialize(why_json(*recording, shop, look)) + "\n");
    const auto gone = why_report(*recording, {"", false, {7, 8}}, false, look);
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().kind, ErrorKind::Vanished);
    EXPECT_EQ(gone.error().message, "process 7 had ended before the recording began");
    EXPECT_EQ(why_report(*recording, {"shop.service", true, {7}}, false, look).error().message,
              "shop.service had ended before the recording began");
}

TEST(WhyRounds, FillTheScreenAndNoMore) {
    EXPECT_EQ(round_on_screen("a\nb\n", 24), "\x1b[H\x1b[2Ja\nb\n");
    EXPECT_EQ(round_on_screen("a\nb\nc\nd\n", 4), "\x1b[H\x1b[2Ja\nb\nc\n")
        << "the last line is the cursor's";
    EXPECT_EQ(round_on_screen("a\nb\nc\n", 4), "\x1b[H\x1b[2Ja\nb\nc\n");
}

TEST(WhyRounds, InAFileAreSeparatedByALine) {
    EXPECT_EQ(round_in_file("a\n"), "a\n\n");
    EXPECT_EQ(round_in_file("{}\n"), "{}\n");
}

TEST(WhyCommandWords, AreThoseOfTheShell) {
    EXPECT_EQ(words_of({"make", "-j", "8"}), "make -j 8");
    EXPECT_EQ(words_of({"make"}), "make");
}

TEST(ExitCodeOfFailedStart, IsThatOfEnv) {
    const auto code = [](int number) {
        return exit_code_of_failed_start(Error{ErrorKind::System, number, "x"});
    };
    EXPECT_EQ(code(ENOENT), 127);
    EXPECT_EQ(code(EACCES), 126);
    EXPECT_EQ(code(ENOEXEC), 125);
    EXPECT_EQ(code(0), 125);
}

TEST(ReportOutput, GoesToTheFileOrTheStream) {
    const test::TemporaryFolder folder;
    std::ostringstream stream;
    ReportOutput none;
    EXPECT_TRUE(none.open(""));
    EXPECT_FALSE(none.is_file());
    EXPECT_TRUE(none.write("report\n", stream));
    EXPECT_EQ(stream.str(), "report\n");

    test::write_text(folder.string("report"), "a longer text that was there before");
    ReportOutput file;
    EXPECT_TRUE(file.open(folder.string("report")));
    EXPECT_TRUE(file.is_file());
    EXPECT_TRUE(file.write("report\n", stream));
    EXPECT_EQ(stream.str(), "report\n");
    EXPECT_EQ(test::text_of_file(folder.string("report")), "report\n");

    ReportOutput bad;
    const Status opened = bad.open(folder.string("none/report"));
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message, StartsWith("--output: "));
    EXPECT_EQ(opened.error().system_errno, 0);
    EXPECT_FALSE(bad.is_file());
    ReportOutput full;
    ASSERT_TRUE(full.open("/dev/full"));
    EXPECT_FALSE(full.write("report\n", stream));
}

TEST(WhyTargets, MayBeNumbersNamesAndUnitsButNotTheCommandItself) {
    const test::TemporaryFolder proc;
    const auto add = [&](const std::string& pid, const std::string& name, const std::string& unit) {
        std::filesystem::create_directories(proc.path() / pid);
        test::write_text(proc.string(pid + "/comm"), name + "\n");
        test::write_text(proc.string(pid + "/cmdline"), name);
        test::write_text(proc.string(pid + "/cgroup"), "0::/system.slice/" + unit + "\n");
    };
    const auto target = [&](const std::string& text) { return find_why_target(text, proc.path()); };
    add("7", "shop", "shop.service");
    add(std::to_string(::getpid()), "shop", "shop.service");
    EXPECT_EQ(target("shop")->pids, std::set<std::uint32_t>{7});
    EXPECT_EQ(target("shop")->name, "") << "a single process";
    EXPECT_FALSE(target("shop")->unit);
    EXPECT_EQ(target("shop.service")->pids, std::set<std::uint32_t>{7});
    EXPECT_EQ(target("shop.service")->name, "shop.service");
    EXPECT_TRUE(target("shop.service")->unit);
    EXPECT_EQ(target("9").error().kind, ErrorKind::NotFound);
    EXPECT_EQ(target("x.timer").error().message,
              "no process is named x.timer, and the unit x.timer has no processes; \"ps -e\" lists "
              "processes, \"systemctl\" units");

    auto unit = target("shop.service").value();
    auto single = target("7").value();
    WhyTarget named{"shop", false, {7}};
    add("8", "shop", "shop.service");
    add("9", "other", "shop.service");
    for (WhyTarget* one : {&unit, &single, &named}) add_new_processes(*one, proc.path());
    EXPECT_EQ(unit.pids, (std::set<std::uint32_t>{7, 8, 9}));
    EXPECT_EQ(single.pids, std::set<std::uint32_t>{7});
    EXPECT_EQ(named.pids, (std::set<std::uint32_t>{7, 8}));
}

}  // namespace
}  // namespace lagtrap::cli::why_report_test
