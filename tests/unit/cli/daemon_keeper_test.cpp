#include "cli/daemons/daemon_keeper.hpp"

#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>

#include "core/files.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::daemon_keeper_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Starts shell scripts instead of lagtrapd.
class DaemonKeeperTest : public testing::Test {
  protected:
    Result<std::unique_ptr<DaemonKeeper>> start(const std::string& script) {
        fs::create_directory(files());
        const std::string program = folder_.string("daemon");
        std::ofstream(program) << "#!/bin/sh\n" << script;
        ::chmod(program.c_str(), 0755);
        return DaemonKeeper::start(program, "settings.xml", log(), files());
    }
    static void await(const auto& condition) {
        while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    [[nodiscard]] fs::path files() const { return folder_.path() / "files"; }
    [[nodiscard]] std::string log() const { return folder_.string("log"); }
    [[nodiscard]] std::string logged() const {
        const auto text = read_file(log(), 1 << 16);
        return text ? *text : std::string();
    }

    test::TemporaryFolder folder_;
};

TEST_F(DaemonKeeperTest, ADaemonThatEndsLeavesItsLogAndThenNoFolder) {
    auto keeper = start("echo \"$@\"; exit 3\n");
    ASSERT_TRUE(keeper) << keeper.error().message;
    await([&] { return (*keeper)->daemon_has_ended(); });
    EXPECT_EQ(logged(), "--settings settings.xml\n");
    EXPECT_FALSE((*keeper)->reload());
    EXPECT_TRUE(fs::exists(files())) << "its owner may still read them";
    keeper->reset();
    EXPECT_FALSE(fs::exists(files()));
}

// As a shell does for background jobs, and nohup for SIGHUP.
TEST_F(DaemonKeeperTest, ADaemonIgnoresNoSignalThatTheKeeperIgnores) {
    auto keeper = start("grep SigIgn /proc/self/status\n");
    ASSERT_TRUE(keeper) << keeper.error().message;
    await([&] { return (*keeper)->daemon_has_ended(); });
    const std::string text = logged();
    ASSERT_THAT(text, HasSubstr("SigIgn:"));
    const std::uint64_t ignored = std::stoull(text.substr(text.find(':') + 1), nullptr, 16);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
        EXPECT_EQ(ignored >> (signal - 1) & 1, 0U) << signal;
}

TEST_F(DaemonKeeperTest, ADaemonReloadsAndEndsWithItsOwner) {
    auto keeper = start(
        "trap 'echo reload' HUP\ntrap 'echo end; exit 0' TERM\necho ready\n"
        "while :; do sleep 0.01; done\n");
    ASSERT_TRUE(keeper) << keeper.error().message;
    await([&] { return logged() == "ready\n"; });
    EXPECT_FALSE((*keeper)->daemon_has_ended());
    ASSERT_TRUE((*keeper)->reload());
    await([&] { return logged() == "ready\nreload\n"; });
    keeper->reset();
    EXPECT_EQ(logged(), "ready\nreload\nend\n");
    EXPECT_FALSE(fs::exists(files()));
}

TEST_F(DaemonKeeperTest, AProgramThatCannotBeStartedIsNamed) {
    auto keeper = DaemonKeeper::start("/nowhere/lagtrapd", "settings.xml", log(), files());
    ASSERT_TRUE(keeper) << keeper.error().message;
    await([&] { return (*keeper)->daemon_has_ended(); });
    EXPECT_THAT(logged(), HasSubstr("/nowhere/lagtrapd cannot be started: No such file"));
}

}  // namespace
}  // namespace lagtrap::cli::daemon_keeper_test
