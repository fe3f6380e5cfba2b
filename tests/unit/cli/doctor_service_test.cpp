// The findings about the service, with settings, a spool and a daemon of the test's own.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "cli/doctor/doctor_findings.hpp"
#include "core/unique_fd.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"

namespace lagtrap::cli::doctor_service_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* entry =
    "3f0c1c5e-0000-4000-8000-00000000000a-0123456789abcdef.lagtrap.tar.zst";

std::string line_of(const Finding& finding) {
    const char* const healths[] = {"works", "otherwise", "missing", "unknown"};
    return finding.name + "|" + healths[static_cast<int>(finding.health)] + "|" +
           (finding.needed ? "needed" : "extra") + "|" + finding.reason + "|" + finding.advice;
}

class DoctorService : public testing::Test {
  protected:
    DoctorService() {
        places_.root = folder_.path() / "root";
        places_.settings = folder_.string("settings.xml");
        places_.socket = folder_.string("socket");
        set("");
    }
    // Settings with a spool in the test's folder.
    void set(const std::string& more) const {
        test::write_text(places_.settings, "<lagtrap version=\"1\"><spool path=\"" +
                                               spool().string() + "\"/>" + more + "</lagtrap>");
    }
    [[nodiscard]] fs::path spool() const { return folder_.path() / "spool"; }
    void add_process(const std::string& pid, const std::string& name) const {
        fs::create_directories(places_.root / "proc" / pid);
        test::write_text((places_.root / "proc" / pid / "comm").string(), name + "\n");
    }
    [[nodiscard]] std::string line(const std::string& name) const {
        for (const Finding& finding : service_findings(places_))
            if (finding.name == name) return line_of(finding);
        return "none";
    }
    static std::string upload_to(const std::string& url, const std::string& more = {}) {
        return "<upload url=\"" + url + "\" " + more + "/>";
    }

    test::TemporaryFolder folder_;
    DoctorPlaces places_;
};

// A port of this machine that accepts connections, or none once it is closed.
class Port {
  public:
    Port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        auto* const general = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(::bind(socket_.get(), general, size), 0);
        EXPECT_EQ(::getsockname(socket_.get(), general, &size), 0);
        url_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    }
    void listen() const { EXPECT_EQ(::listen(socket_.get(), 4), 0); }
    [[nodiscard]] const std::string& address() const { return url_; }

  private:
    UniqueFd socket_;
    std::string url_;
};

TEST_F(DoctorService, LinesComeInThisOrder) {
    const auto order = [this] {
        std::vector<std::string> names;
        for (const Finding& finding : service_findings(places_)) names.push_back(finding.name);
        return names;
    };
    EXPECT_THAT(order(), ElementsAre("settings", "watched files", "room for recordings", "daemon",
                                     "reader of files", "uploader", "sending", "debug files"));
    places_.ask_server = true;
    EXPECT_THAT(order(),
                ElementsAre("settings", "watched files", "room for recordings", "daemon",
                            "reader of files", "uploader", "sending", "server", "debug files"));
}

TEST_F(DoctorService, TheDaemonIsAskedAtItsSocket) {
    EXPECT_THAT(line("daemon"),
                StartsWith("daemon|missing|extra|lagtrapd is not running: nothing listens at " +
                           places_.socket));
    EXPECT_THAT(line("reader of files"), testing::Not(HasSubstr("|needed|")));
    const test::ScriptedDaemon daemon(
        places_.socket,
        test::statuses({R"({"ok":true,"pid":7,"events":[],"file_reader":{"user":5}})"}));
    EXPECT_THAT(line("daemon"), StartsWith("daemon|works|extra|running, process 7: 0 events"));
    EXPECT_EQ(line("reader of files"),
              "reader of files|works|needed|runs as user 5, without capabilities|");
    EXPECT_EQ(daemon.lines().at(0), "{\"command\":\"status\"}");
}

TEST_F(DoctorService, RoomIsThatOfTheNearestFolder) {
    EXPECT_THAT(line("room for recordings"),
                HasSubstr(" free at " + folder_.path().string() + "; the spool may take "));
    fs::create_directories(spool());
    EXPECT_THAT(line("room for recordings"), HasSubstr(" free at " + spool().string() + ";"));
}

TEST_F(DoctorService, WithoutUploadNothingIsSent) {
    EXPECT_EQ(line("uploader"), "uploader|otherwise|extra|not needed without <upload>|");
    EXPECT_EQ(line("sending"),
              "sending|otherwise|extra|the settings have no <upload>|bundles stay in the spool");
    places_.ask_server = true;
    EXPECT_EQ(line("server"), "server|otherwise|extra|the settings have no <upload>|");
}

TEST_F(DoctorService, TheUploaderIsAProcess) {
    set(upload_to("https://127.0.0.1"));
    add_process("12", "lagtrapd");
    EXPECT_EQ(line("uploader"),
              "uploader|missing|extra|not running|systemctl enable --now lagtrap-uploader");
    add_process("13", "lagtrap-uploade");  // as the kernel cuts it
    EXPECT_EQ(line("uploader"), "uploader|works|extra|running, process 13|");
}

TEST_F(DoctorService, EntriesOfTheSpoolAreCounted) {
    set(upload_to("https://127.0.0.1"));
    EXPECT_EQ(line("sending"),
              "sending|otherwise|extra|the spool does not exist yet|the daemon creates it");
    for (const char* state : {"ready", "sent", "rejected"}) fs::create_directories(spool() / state);
    test::write_text((spool() / "ready" / entry).string(), "x");
    test::write_text((spool() / "ready" / ".retention").string(), "x");
    EXPECT_EQ(line("sending"), "sending|works|extra|nothing sent yet; 1 waiting, 0 rejected|");
    test::write_text((spool() / "sent" / entry).string(), "x");
    test::write_text((spool() / "rejected" / entry).string(), "x");
    EXPECT_THAT(line("sending"), AllOf(StartsWith("sending|otherwise|extra|last sent "),
                                       HasSubstr(" ago; 1 waiting, 1 rejected|see ")));
    fs::remove_all(spool() / "sent");
    EXPECT_EQ(line("sending"), "sending|unknown|extra|no permission to read the spool " +
                                   spool().string() + "|run as root or join the group lagtrap");
}

TEST_F(DoctorService, TheServerAcceptsConnectionsOrNot) {
    places_.ask_server = true;
    const Port port;
    set(upload_to("http://" + port.address() + "/x", "allow-http=\"yes\""));
    const std::string refused = line("server");
    EXPECT_THAT(refused, AllOf(StartsWith("server|missing|extra|127.0.0.1 port "),
                               HasSubstr("Connection refused"),
                               HasSubstr("|check <upload>, the network and the server; `lagtrap "
                                         "upload` tests all of it")));
    port.listen();
    EXPECT_EQ(line("server"), "server|works|extra|http://" + port.address() +
                                  "/x accepts connections; `lagtrap upload` tests certificate and "
                                  "token|");
    set(upload_to("http://none.invalid/", "allow-http=\"yes\""));
    EXPECT_THAT(line("server"), StartsWith("server|missing|extra|cannot resolve none.invalid: "));
}

TEST_F(DoctorService, AProxyIsAskedInstead) {
    places_.ask_server = true;
    const Port port;
    set(upload_to("https://none.invalid/", "proxy=\"http://" + port.address() + "\""));
    EXPECT_THAT(line("server"), StartsWith("server|missing|extra|the proxy 127.0.0.1 port "));
    port.listen();
    EXPECT_THAT(line("server"), StartsWith("server|works|extra|the proxy http://" + port.address() +
                                           " accepts connections"));
}

TEST_F(DoctorService, DebugFilesAreInstalledOrOnServers) {
    ::unsetenv("DEBUGINFOD_URLS");
    const std::string none =
        "debug files|otherwise|extra|none installed: stripped programs have no function "
        "names|install -dbgsym packages, or add names later with `lagtrap symbolize`";
    EXPECT_EQ(line("debug files"), none);
    ::setenv("DEBUGINFOD_URLS", "", 1);
    EXPECT_EQ(line("debug files"), none);
    ::setenv("DEBUGINFOD_URLS", "https://debuginfod.example", 1);
    EXPECT_EQ(line("debug files"),
              "debug files|works|extra|`lagtrap symbolize --debuginfod` can ask the servers in "
              "DEBUGINFOD_URLS|");
    fs::create_directories(places_.root / "usr/lib/debug/.build-id");
    EXPECT_EQ(line("debug files"), "debug files|works|extra|found in /usr/lib/debug|");
    ::unsetenv("DEBUGINFOD_URLS");
}

TEST_F(DoctorService, TheCommandPrintsEverythingAndSaysWhetherItWorks) {
    const auto run = [this](std::vector<std::string> more) {
        std::vector<std::string> words{"doctor", "--settings", places_.settings, "--socket",
                                       places_.socket};
        words.insert(words.end(), more.begin(), more.end());
        return test::run_lagtrap(words);
    };
    const auto outcome = run({});
    EXPECT_EQ(test::line_with(outcome.out, "settings "),
              "settings                 ok                    " + places_.settings + ": 0 events");
    EXPECT_THAT(outcome.out, StartsWith("kernel  "));
    EXPECT_EQ(test::line_with(outcome.out, "server "), "");
    EXPECT_NE(test::line_with(run({"--server"}).out, "server "), "");
    const auto json = run({"--json"});
    const auto parsed = boost::json::parse(json.out);
    EXPECT_EQ(json.code, parsed.at("ok").as_bool() ? 0 : 1);
    EXPECT_EQ(outcome.code, json.code);
    test::write_text(places_.settings, "<lagtrap");
    EXPECT_EQ(run({}).code, 1);
    EXPECT_THAT(run({}).out, testing::EndsWith("Something that lagtrap needs is missing.\n"));
}

}  // namespace
}  // namespace lagtrap::cli::doctor_service_test
