#include "cli/add/add_write.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "tests/unit/cli/scripted_daemon.hpp"

namespace lagtrap::cli::add_write_test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using test::ScriptedDaemon;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* event =
    "  <event name=\"sync\" threshold=\"1s\">\n"
    "    <begin tracepoint=\"syscalls:sys_enter_sync\"/>\n"
    "    <end tracepoint=\"syscalls:sys_exit_sync\"/>\n  </event>\n";

class AddWrite : public testing::Test {
  protected:
    AddWrite() {
        test::write_text(file_, "<lagtrap version=\"1\">\n  <!-- mine -->\n</lagtrap>\n");
    }
    static mode_t mode_of(const std::string& path) {
        struct stat facts {};
        EXPECT_EQ(::stat(path.c_str(), &facts), 0);
        return facts.st_mode & 07777;
    }
    test::TemporaryFolder folder_;
    const std::string file_ = folder_.string("settings.xml");
};

TEST_F(AddWrite, AddsTheElementsAndKeepsTheRest) {
    ASSERT_EQ(::chmod(file_.c_str(), 0640), 0);
    const Status added = add_to_settings(file_, event);
    ASSERT_TRUE(added) << added.error().message;
    EXPECT_EQ(test::text_of_file(file_),
              "<lagtrap version=\"1\">\n  <!-- mine -->\n" + std::string(event) + "</lagtrap>\n");
    EXPECT_EQ(mode_of(file_), 0640U);
}

TEST_F(AddWrite, KeepsTheOwner) {
    constexpr uid_t owner = 61'234;
    constexpr gid_t group = 61'235;
    if (::geteuid() != 0) return;  // only root may give files away
    ASSERT_EQ(::chown(file_.c_str(), owner, group), 0);
    ASSERT_TRUE(add_to_settings(file_, event));
    struct stat facts {};
    ASSERT_EQ(::stat(file_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_uid, owner);
    EXPECT_EQ(facts.st_gid, group);
}

TEST_F(AddWrite, ALinkStaysALink) {
    const std::string link = folder_.string("link.xml");
    fs::create_symlink(file_, link);
    ASSERT_TRUE(add_to_settings(link, event));
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_THAT(test::text_of_file(file_), HasSubstr("sys_enter_sync"));
}

TEST_F(AddWrite, RefusesWhatWouldHaveErrors) {
    const std::string before = test::text_of_file(file_);
    ASSERT_TRUE(add_to_settings(file_, event));
    const std::string once = test::text_of_file(file_);
    const Status twice = add_to_settings(file_, event);
    ASSERT_FALSE(twice) << "two events of a name";
    EXPECT_EQ(twice.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(test::text_of_file(file_), once);
    const Status missing =
        add_to_settings(file_,
                        "  <event name=\"x\" threshold=\"1s\" binary=\"/bin/sh\"><function "
                        "name=\"no_such_function\"/></event>\n");
    ASSERT_FALSE(missing) << "the machine is checked, too";
    EXPECT_THAT(missing.error().message,
                StartsWith("the settings would have errors with the new elements:\n" + file_));
    const Status none = add_to_settings(folder_.string("none.xml"), event);
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, StartsWith(folder_.string("none.xml")));
}

// A process that can be told to reload.
class ReloadDaemon : public AddWrite {
  protected:
    std::string status(std::uint64_t loaded, const std::string& error = {}, bool arms = false) {
        json::object answer{
            {"ok", true},
            {"pid", static_cast<std::int64_t>(::getpid())},
            {"arming", nullptr},
            {"settings",
             {{"path", path_}, {"loaded_realtime_ns", loaded}, {"reload_error", error}}}};
        if (arms) answer["arming"] = {{"done", 1}};
        return json::serialize(answer);
    }
    // Plays the process of the daemon, too.
    Result<std::string> reload(const std::vector<std::string>& statuses) {
        told_ = 0;
        (void)::signal(SIGHUP, [](int) { told_ = told_ + 1; });
        const ScriptedDaemon daemon(folder_.string("socket"), test::statuses(statuses));
        auto said = reload_daemon(folder_.string("socket"), file_);
        asked_ = daemon.lines().size();
        fs::remove(folder_.string("socket"));
        fs::remove(folder_.string("socket.log"));
        (void)::signal(SIGHUP, SIG_DFL);
        return said;
    }
    static inline volatile std::sig_atomic_t told_ = 0;
    std::string path_ = file_;
    std::size_t asked_ = 0;
};

TEST_F(ReloadDaemon, WaitsUntilItHasTheNewEvents) {
    const auto said = reload({status(5), status(5), status(6, "", true), status(6)});
    ASSERT_TRUE(said) << said.error().message;
    EXPECT_EQ(*said, "lagtrapd has reloaded it; `lagtrap status` shows the runs.");
    EXPECT_EQ(told_, 1);
    EXPECT_EQ(asked_, 4U);
}

TEST_F(ReloadDaemon, SaysWhyItWasRejected) {
    const auto said = reload({status(5, "old"), status(5, "old"), status(5, "line 3: bad")});
    ASSERT_FALSE(said);
    EXPECT_EQ(said.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(said.error().message, "lagtrapd rejected the settings:\nline 3: bad");
    EXPECT_EQ(asked_, 3U);
}

TEST_F(ReloadDaemon, AnErrorFromBeforeIsNotTheAnswer) {
    EXPECT_TRUE(reload({status(5, "old"), status(6, "old")}));
}

TEST_F(ReloadDaemon, WithoutADaemonSaysHowToStartIt) {
    EXPECT_EQ(reload_daemon("/no/such/socket", file_).value(),
              "lagtrapd is not running; start it with `systemctl enable --now lagtrapd`.");
}

TEST_F(ReloadDaemon, ADaemonWithOtherSettingsIsLeftAlone) {
    path_ = folder_.string("other.xml");
    test::write_text(path_, "x");
    EXPECT_EQ(reload({status(5)}).value(), "lagtrapd uses different settings: " + path_);
    EXPECT_EQ(told_, 0);
}

TEST_F(ReloadDaemon, APathByALinkIsTheSameFile) {
    path_ = folder_.string("link.xml");
    fs::create_symlink(file_, path_);
    EXPECT_TRUE(reload({status(5), status(6)}));
    EXPECT_EQ(told_, 1);
}

}  // namespace
}  // namespace lagtrap::cli::add_write_test
