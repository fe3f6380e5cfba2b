#include "cli/doctor/service_findings.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "tests/unit/cli/scripted_daemon.hpp"

namespace lagtrap::cli::service_findings_test {
namespace {

using testing::HasSubstr;

// "name|health|needed|reason|advice"
std::string line_of(const Finding& finding) {
    const char* const healths[] = {"works", "otherwise", "missing", "unknown"};
    return finding.name + "|" + healths[static_cast<int>(finding.health)] + "|" +
           (finding.needed ? "needed" : "extra") + "|" + finding.reason + "|" + finding.advice;
}

TEST(SettingsFinding, CountsEventsAndWhatCouldNotBeChecked) {
    settings::ParseOutcome outcome;
    outcome.settings.events.resize(3);
    EXPECT_EQ(line_of(settings_finding("/s.xml", outcome)),
              "settings|works|needed|/s.xml: 3 events|");
    outcome.notes.resize(2);
    EXPECT_EQ(line_of(settings_finding("/s.xml", outcome)),
              "settings|unknown|needed|/s.xml: 3 events; 2 of their markers or files could not be "
              "checked|run `lagtrap doctor` as root");
}

TEST(SettingsFinding, OfErrorsShowsTheFirst) {
    const test::TemporaryFolder folder;
    const std::string file = folder.string("s.xml");
    settings::ParseOutcome outcome;
    outcome.diagnostics = {{4, 7, "a\x1b", "b", "c"}, {5, 1, "d", "e", ""}};
    outcome.notes.resize(1);
    EXPECT_EQ(line_of(settings_finding(file, outcome)),
              "settings|missing|needed|" + file + " does not exist|create it, or use --settings");
    test::write_text(file, "x");
    EXPECT_EQ(line_of(settings_finding(file, outcome)),
              "settings|missing|needed|" + file +
                  ":4:7: a\\x1b (2 in total)|`lagtrap check` shows every error and how to fix it");
}

TEST(FilesFinding, ShowsTheFirstWarning) {
    settings::ParseOutcome outcome;
    EXPECT_EQ(line_of(files_finding(outcome)),
              "watched files|works|extra|only root and the owners can change or replace them|");
    outcome.warnings = {{1, 2, "others can write\x1b"}, {3, 4, "too"}};
    EXPECT_EQ(line_of(files_finding(outcome)),
              "watched files|otherwise|extra|others can write\\x1b (2 in total)|they are still "
              "watched; remove write permission for others from the file or its folder");
}

TEST(RoomFinding, ComparesWithALittleAndWithTheLimit) {
    constexpr std::uint64_t mib = 1 << 20;
    const auto room = [](std::uint64_t free_bytes) {
        return line_of(room_finding("/var", free_bytes, 100 * mib));
    };
    EXPECT_EQ(room(64 * mib - 1),
              "room for recordings|missing|needed|64.0 MiB free at /var; the spool may take "
              "100.0 MiB|free some space: a recording takes some megabytes");
    EXPECT_EQ(room(64 * mib),
              "room for recordings|otherwise|extra|64.0 MiB free at /var; the spool may take 100.0 "
              "MiB|the "
              "disk may fill up before old bundles are deleted: lower <spool size-limit>");
    EXPECT_THAT(room(100 * mib - 1), HasSubstr("|otherwise|"));
    EXPECT_EQ(
        room(100 * mib),
        "room for recordings|works|needed|100.0 MiB free at /var; the spool may take 100.0 MiB|");
}

TEST(SendingFinding, CountsWhatWaitsAndWhatWasRejected) {
    const auto now = std::filesystem::file_time_type::clock::now();
    FolderCount ready{2, now, true}, sent{5, std::nullopt, true}, rejected;
    EXPECT_EQ(line_of(sending_finding(ready, sent, rejected, now)),
              "sending|works|extra|nothing sent yet; 2 waiting, 0 rejected|");
    sent.newest = now - std::chrono::seconds(90);
    EXPECT_EQ(line_of(sending_finding(ready, sent, rejected, now)),
              "sending|works|extra|last sent 90.0 s ago; 2 waiting, 0 rejected|");
    sent.newest = now + std::chrono::seconds(90);
    rejected.entries = 1;
    EXPECT_EQ(line_of(sending_finding(ready, sent, rejected, now)),
              "sending|otherwise|extra|last sent 0 ns ago; 2 waiting, 1 rejected|see "
              "rejected/*.reason in the spool");
    EXPECT_EQ(line_of(not_sending()),
              "sending|otherwise|extra|the settings have no <upload>|bundles stay in the spool");
}

std::string daemon_line(const std::string& events) {
    return line_of(daemon_finding(
        boost::json::parse(R"({"ok":true,"pid":812,"events":[)" + events + "]}").as_object()));
}

TEST(DaemonFinding, CountsEventsByTheirState) {
    const std::string armed = R"({"armed":true})", off = R"({"armed":false})",
                      disabled = R"({"armed":false,"disabled":true})",
                      in_part = R"({"armed":false,"disabled":true,"watched_share":0.5})";
    EXPECT_EQ(daemon_line(armed + "," + in_part + ",1"),
              "daemon|works|extra|running, process 812: 2 events armed, 0 disabled by the budget, "
              "0 off|");
    EXPECT_EQ(daemon_line(armed + "," + off),
              "daemon|otherwise|extra|running, process 812: 1 events armed, 0 disabled by the "
              "budget, 1 off|`lagtrap status` says why");
    EXPECT_EQ(daemon_line(disabled + "," + disabled),
              "daemon|otherwise|extra|running, process 812: 0 events armed, 2 disabled by the "
              "budget, 0 off|`lagtrap status` says why");
}

TEST(DaemonFinding, ADaemonThatMayNotBeAskedMayRun) {
    EXPECT_EQ(line_of(daemon_finding(make_error(ErrorKind::Denied, "no"))),
              "daemon|unknown|extra|no|");
    EXPECT_EQ(line_of(daemon_finding(make_error(ErrorKind::NotFound, "none"))),
              "daemon|missing|extra|none|");
}

TEST(ReaderFinding, IsWhatTheDaemonSays) {
    const auto reader = [](const std::string& fields) {
        return line_of(
            reader_finding(boost::json::parse(R"({"file_reader":{)" + fields + "}}").as_object()));
    };
    EXPECT_EQ(reader(R"("user":998,"problem":"","as_root":false)"),
              "reader of files|works|needed|runs as user 998, without capabilities|");
    EXPECT_EQ(reader(R"("user":0,"as_root":true)"),
              "reader of files|otherwise|needed|runs as root, without capabilities and with a "
              "system call filter|give the daemon CAP_SETUID and CAP_SETGID, so that it can use a "
              "separate user");
    EXPECT_EQ(reader(R"("as_root":true,"problem":"cannot start")"),
              "reader of files|missing|needed|cannot start|reinstall lagtrapd; the daemon retries "
              "by itself");
}

TEST(PortOf, IsTheOneInTheAddressOrTheUsualOne) {
    const std::pair<const char*, const char*> ports[] = {
        {"https://oak.example", "443"},          {"http://oak.example", "80"},
        {"socks5://oak.example", "1080"},        {"https://oak.example:8443/path:9", "8443"},
        {"http://oak.example/a:b", "80"},        {"https://[2001:db8::1]", "443"},
        {"https://[2001:db8::1]:8443/", "8443"}, {"http://user:secret@oak:81", "81"}};
    for (const auto& [address, port] : ports) EXPECT_EQ(port_of(address), port) << address;
}

}  // namespace
}  // namespace lagtrap::cli::service_findings_test
