// `lagtrap symbolize` on recordings of a real program whose file was gone when they were merged.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/recording.hpp"
#include "tests/unit/cli/cli_test.hpp"
#include "tests/unit/test_paths.hpp"
#include "tests/unit/trace/planted_program.hpp"
#include "trace/bundle/bundle.hpp"
#include "trace/merge/merge.hpp"

namespace lagtrap::symbolize_tests {
namespace {

namespace fs = std::filesystem;
using test::run_lagtrap;
using testing::ElementsAre;
using testing::HasSubstr;

// Debian's debuginfod, serving a folder on the loopback interface.
class DebugServer {
  public:
    explicit DebugServer(const fs::path& folder) : port_(free_port()) {
        child_ = ::fork();
        if (child_ != 0) return;
        const std::string log = (folder / "../debuginfod.log").string();
        if (std::freopen(log.c_str(), "w", stdout) == nullptr ||
            ::dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
            ::_exit(1);
        ::unsetenv("DEBUGINFOD_URLS");
        ::execlp("debuginfod", "debuginfod", "-F", "-d", ":memory:", "-t", "1", "-p",
                 std::to_string(port_).c_str(), folder.c_str(), nullptr);
        ::_exit(127);
    }
    ~DebugServer() {
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
    }
    DebugServer(const DebugServer&) = delete;
    DebugServer& operator=(const DebugServer&) = delete;

    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
    // Waits until it has scanned the folder and has the file.
    [[nodiscard]] bool serves(const std::string& build_id) const {
        const std::string ask =
            "curl -sf -o /dev/null '" + url() + "/buildid/" + build_id + "/debuginfo'";
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (std::chrono::steady_clock::now() < end && ::waitpid(child_, nullptr, WNOHANG) == 0)
            if (std::system(ask.c_str()) == 0) return true;
        return false;
    }

  private:
    static std::uint16_t free_port() {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                           ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
        ::close(fd);
        return bound ? ntohs(address.sin_port) : std::uint16_t{0};
    }

    std::uint16_t port_;
    pid_t child_ = -1;
};

class Symbolize : public testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(folder_.path() / "gone");
        fs::create_directories(folder_.path() / "found");
        fs::copy_file(build_folder() + "/trace/trace_planted_program", gone());
        make_bundle();
        fs::rename(gone(), found());
    }
    [[nodiscard]] fs::path gone() const { return folder_.path() / "gone" / "planted"; }
    [[nodiscard]] fs::path found() const { return folder_.path() / "found" / "planted"; }
    [[nodiscard]] std::string output() const { return folder_.string("named.lagtrap.tar.zst"); }

    void make_bundle() {
        const fs::path capture = folder_.path() / "capture";
        fs::create_directories(capture);
        const trace::Session session = trace::synthetic_session();
        {
            const trace::PlantedProgram planted(gone());
            trace::SyntheticCapture records(capture, session);
            planted.record(records, gone(), trace::raw_build_id(gone()));
            records.flush();
        }
        std::ofstream(capture / "settings.xml") << "<lagtrap/>";
        const fs::path aside = folder_.path() / "aside";
        fs::rename(gone(), aside);
        ASSERT_TRUE(trace::merge_capture(capture));
        fs::rename(aside, gone());
        const auto bundle = trace::write_bundle(capture, session.id, folder_.path());
        ASSERT_TRUE(bundle) << bundle.error().message;
        bundle_ = bundle->path.string();
    }

    void in_found(const std::string& command) {
        ASSERT_EQ(
            std::system(("cd '" + found().parent_path().string() + "' && " + command).c_str()), 0)
            << command;
    }

    // "function@file:line" for the only sample, outermost first, without C++ parameters.
    static std::vector<std::string> stack_in(const std::string& bundle) {
        const auto recording = analysis::read_recording(bundle);
        if (!recording) return {recording.error().message};
        std::vector<std::string> frames;
        for (const auto& thread : recording->threads) {
            for (const auto& sample : thread.samples) {
                for (const std::uint32_t id : recording->stacks[sample.stack]) {
                    const auto& frame = recording->frames[id];
                    std::string text = recording->name(frame.label);
                    text.resize(std::min(text.find('('), text.size()));
                    if (frame.source != 0) {
                        const std::string& source = recording->name(frame.source);
                        text += "@" + source.substr(source.rfind('/') + 1) + ":" +
                                std::to_string(frame.line);
                    }
                    frames.push_back(std::move(text));
                }
            }
        }
        return frames;
    }
    static auto with_lines() {
        const auto at = [](const char* which) {
            return std::string(which) +
                   "_function@inlined.cpp:" + std::to_string(trace::line_of(which));
        };
        return ElementsAre(at("outermost"), at("middle"), at("innermost"));
    }

    test::TemporaryFolder folder_;
    std::string bundle_;
};

TEST_F(Symbolize, finds_names_in_a_folder_of_programs) {
    EXPECT_THAT(stack_in(bundle_), ElementsAre("[planted]"));
    const auto outcome = run_lagtrap(
        {"symbolize", bundle_, "-o", output(), "--debug-dir", found().parent_path().string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(stack_in(output()), with_lines());
    EXPECT_THAT(outcome.out, HasSubstr("1/1  " + gone().string()));
    EXPECT_THAT(outcome.out, HasSubstr("by " + found().string()));
    EXPECT_THAT(outcome.out,
                HasSubstr("named frames 0 % -> 100 %, with source lines 0 % -> 100 %\n"));
    EXPECT_THAT(outcome.out, HasSubstr("wrote " + output() + "\n"));

    const auto content = trace::read_bundle(output());
    ASSERT_TRUE(content) << content.error().message;
    EXPECT_EQ(content->settings_xml, "<lagtrap/>");
    const auto system = trace::read_system_file(content->system_xml);
    ASSERT_TRUE(system);
    EXPECT_EQ(system->session_id, trace::synthetic_session().id);
    EXPECT_EQ(system->stacks.frames, 3U);
    EXPECT_EQ(system->stacks.frames_named, 3U);
    EXPECT_EQ(system->stacks.frames_located, 3U);
    EXPECT_EQ(system->stacks.naming.modules_gone, 0U);
    // The input bundle is unchanged, and there are no other files.
    EXPECT_THAT(stack_in(bundle_), ElementsAre("[planted]"));
    for (const auto& entry : fs::directory_iterator(folder_.path()))
        EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
}

TEST_F(Symbolize, what_is_written_is_a_good_trace) {
    ASSERT_EQ(run_lagtrap({"symbolize", bundle_, "-o", output(), "--debug-dir",
                           found().parent_path().string()})
                  .code,
              0);
    const std::string trace = folder_.string("trace.pftrace");
    ASSERT_EQ(run_lagtrap({"export", "--format", "pftrace", "-o", trace, output()}).code, 0);
    const std::string decoded = folder_.string("decoded.json");
    ASSERT_EQ(std::system((test_python() + " " + test_data_folder() + "/trace/decode_trace.py '" +
                           trace + "' 100 >" + decoded)
                              .c_str()),
              0);
    std::ifstream file(decoded);
    const auto found = boost::json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
    ASSERT_EQ(found.at("symbols").as_object().size(), 1U);
    EXPECT_EQ(found.at("symbols").as_object().begin()->value().as_array().size(), 3U);
}

TEST_F(Symbolize, finds_names_in_debug_files_alone) {
    in_found("objcopy --only-keep-debug planted planted.debug && rm planted");
    const auto outcome = run_lagtrap(
        {"symbolize", bundle_, "-o", output(), "--debug-dir", found().parent_path().string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(stack_in(output()), with_lines());
}

TEST_F(Symbolize, asks_servers_if_told_to) {
    in_found("objcopy --only-keep-debug planted planted.debug && rm planted");
    const DebugServer server(found().parent_path());
    const auto said =
        boost::json::parse(run_lagtrap({"symbolize", "--json", bundle_, "-o", output()}).out);
    ASSERT_EQ(said.at("modules").at(0).at("found").to_number<int>(), 0);
    const std::string build_id(said.at("modules").at(0).at("build_id").as_string());
    ASSERT_TRUE(server.serves(build_id));
    ::setenv("DEBUGINFOD_URLS", server.url().c_str(), 1);
    ::setenv("DEBUGINFOD_CACHE_PATH", folder_.string("cache").c_str(), 1);
    const auto outcome = run_lagtrap({"symbolize", bundle_, "-o", output(), "--debuginfod"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(stack_in(output()), with_lines());
    EXPECT_THAT(outcome.out, HasSubstr("by " + folder_.string("cache")));
}

TEST_F(Symbolize, lines_may_come_after_names) {
    in_found(
        "mkdir ../debug && objcopy --only-keep-debug planted ../debug/planted.debug && strip -g "
        "planted");
    ASSERT_EQ(run_lagtrap({"symbolize", bundle_, "-o", output(), "--debug-dir",
                           found().parent_path().string()})
                  .code,
              0);
    EXPECT_THAT(stack_in(output()), ElementsAre("outermost_function"));
    const auto again = run_lagtrap(
        {"symbolize", output(), "-o", output(), "--debug-dir", folder_.string("debug"), "--json"});
    ASSERT_EQ(again.code, 0) << again.err;
    EXPECT_THAT(stack_in(output()), with_lines());
    const auto said = boost::json::parse(again.out);
    EXPECT_EQ(said.at("before").at("frames_named").to_number<int>(), 1);
    EXPECT_EQ(said.at("after").at("frames_located").to_number<int>(), 3);
    EXPECT_EQ(said.at("bundle").as_string(), output());
    ASSERT_EQ(said.at("modules").as_array().size(), 1U);
    EXPECT_EQ(said.at("modules").at(0).at("found").to_number<int>(), 1);
    // All names are known now.
    const auto third = run_lagtrap({"symbolize", output(), "-o", output()});
    EXPECT_THAT(third.out, HasSubstr("No names or source lines are missing."));
}

TEST_F(Symbolize, files_without_debug_information_are_counted) {
    in_found("strip planted");
    const auto outcome = run_lagtrap(
        {"symbolize", bundle_, "-o", output(), "--debug-dir", found().parent_path().string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out,
              "No debug information for 1 file on this machine.\n"
              "named frames 0 % -> 0 %, with source lines 0 % -> 0 %\nwrote " +
                  output() + "\n");
}

TEST_F(Symbolize, a_file_of_another_build_is_not_used) {
    in_found("objcopy --remove-section=.note.gnu.build-id planted");
    const auto outcome = run_lagtrap(
        {"symbolize", bundle_, "-o", output(), "--debug-dir", found().parent_path().string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("no file with build id "));
    EXPECT_THAT(stack_in(output()), ElementsAre("[planted]"));
    EXPECT_EQ(analysis::read_recording(output())->system.stacks.naming.modules_gone, 1U);
}

TEST_F(Symbolize, writes_by_the_bundles_own_name_into_a_folder) {
    const auto outcome = run_lagtrap({"symbolize", "--json", bundle_, "-o", folder_.string("found"),
                                      "--debug-dir", folder_.string("found")});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto said = boost::json::parse(outcome.out);
    const std::string name = fs::path(std::string(said.at("bundle").as_string())).filename();
    EXPECT_EQ(name, trace::synthetic_session().id + "-" +
                        std::string(said.at("digest").as_string()).substr(0, 16) +
                        ".lagtrap.tar.zst");
    EXPECT_THAT(stack_in(folder_.string("found/" + name)), with_lines());
}

TEST_F(Symbolize, reads_merged_captures_too) {
    const auto outcome = run_lagtrap({"symbolize", folder_.string("capture"), "-o", output(),
                                      "--debug-dir", found().parent_path().string()});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(stack_in(output()), with_lines());
}

TEST_F(Symbolize, says_what_is_wrong) {
    const auto folder =
        run_lagtrap({"symbolize", bundle_, "-o", output(), "--debug-dir", "/no/such"});
    EXPECT_EQ(folder.code, 1);
    EXPECT_EQ(folder.err, "lagtrap: no such folder: /no/such\n");
    EXPECT_EQ(run_lagtrap({"symbolize", folder_.string("none.lagtrap.tar.zst")}).code, 1);
    EXPECT_EQ(run_lagtrap({"symbolize", bundle_, "-o", "/no/such/folder/x"}).code, 1);
    EXPECT_EQ(run_lagtrap({"symbolize", bundle_, "--debug-dir"}).code, 2);
    ::unsetenv("DEBUGINFOD_URLS");
    const auto servers = run_lagtrap({"symbolize", bundle_, "-o", output(), "--debuginfod"});
    EXPECT_EQ(servers.code, 1);
    EXPECT_THAT(servers.err, HasSubstr("DEBUGINFOD_URLS"));
    std::ofstream(folder_.path() / "x.lagtrap.tar.zst") << "no archive";
    EXPECT_EQ(run_lagtrap({"symbolize", folder_.string("x.lagtrap.tar.zst")}).code, 1);
}

}  // namespace
}  // namespace lagtrap::symbolize_tests
