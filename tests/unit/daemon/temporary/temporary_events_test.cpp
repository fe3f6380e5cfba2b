#include "daemon/temporary/temporary_events.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::temporary_events_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* event =
    "<event name=\"sync\" threshold=\"1s\"><begin tracepoint=\"syscalls:sys_enter_sync\"/>"
    "<end tracepoint=\"syscalls:sys_exit_sync\"/></event>";

// With a script in place of lagtrapd.
class TemporaryEventsTest : public testing::Test {
  protected:
    TemporaryEventsTest() {
        std::string pattern = fs::temp_directory_path() / "lagtrap-temporary-XXXXXX";
        if (::mkdtemp(pattern.data()) != nullptr) root_ = pattern;
        const Log log([this](Log::Level, const std::string& line) { said_ += line + "\n"; });
        events_ = std::make_unique<TemporaryEvents>(
            context_,
            TemporaryEvents::Options{
                root_ / "clients", {"--merge-program", "/merge"}, log, root_ / "lagtrapd"});
    }
    ~TemporaryEventsTest() override {
        events_.reset();
        fs::remove_all(root_);
    }

    void child_does(const std::string& what) const {
        std::ofstream(root_ / "lagtrapd") << "#!/bin/sh\n" << what << "\n";
        ::chmod((root_ / "lagtrapd").c_str(), 0755);
    }
    // Returns the client's end.
    UniqueFd begin(uid_t user, Status* outcome = nullptr) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        UniqueFd ours(ends[0]);
        const UniqueFd theirs(ends[1]);
        const Status begun = events_->begin(event, Caller{user, {}, party_of_user(user)},
                                            theirs.get(), service_, used_ppm_);
        if (outcome != nullptr)
            *outcome = begun;
        else
            EXPECT_TRUE(begun.ok()) << begun.error().message;
        return ours;
    }
    std::size_t folders() const {
        std::error_code none;
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(root_ / "clients", none), {}));
    }
    bool all_end() {
        for (int i = 0; i < 600 && !events_->report().empty(); ++i) context_.run_for(100ms);
        return events_->report().empty() && folders() == 0;
    }
    static std::string read(const UniqueFd& client) {
        std::string text(4096, '\0');
        const ssize_t size = ::recv(client.get(), text.data(), text.size(), MSG_DONTWAIT);
        text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
        return text;
    }

    boost::asio::io_context context_{1};
    fs::path root_;
    std::string said_;
    settings::Settings service_;
    std::uint64_t used_ppm_ = 0;
    std::unique_ptr<TemporaryEvents> events_;
};

TEST_F(TemporaryEventsTest, AnEventEndsWithItsClient) {
    child_does("exec sleep 1000");
    UniqueFd client = begin(1000);
    EXPECT_EQ(read(client), "{\"ok\":true,\"event\":\"sync\"}\n");
    context_.run_for(300ms);
    const auto report = events_->report();
    ASSERT_EQ(report.size(), 1U);
    EXPECT_EQ(report.front().at("event"), "sync");
    EXPECT_EQ(report.front().at("user").to_number<int>(), 1000);
    EXPECT_EQ(folders(), 1U);
    client.reset();
    EXPECT_TRUE(all_end());
    EXPECT_THAT(said_, HasSubstr("the temporary event sync of user 1000 has ended"));
}

TEST_F(TemporaryEventsTest, AClientLearnsWhyItsEventFailed) {
    child_does("echo no such tracepoint >&2; exit 3");
    const UniqueFd client = begin(1000);
    EXPECT_TRUE(all_end());
    EXPECT_THAT(read(client), HasSubstr("\n{\"ok\":false,\"error\":\"no such tracepoint\"}\n"));
    EXPECT_THAT(said_,
                HasSubstr("the temporary event sync of user 1000 failed: no such tracepoint"));
}

TEST_F(TemporaryEventsTest, AChildGetsItsSettingsAndBothConnections) {
    child_does("cp \"$3\" " + (root_ / "seen").string() + "; echo \"$@\" >> " +
               (root_ / "seen").string() + "; echo from the child >&3; echo to the service >&4");
    const UniqueFd client = begin(1000);
    EXPECT_TRUE(all_end());
    EXPECT_THAT(read(client), HasSubstr("from the child\n"));
    std::ifstream seen(root_ / "seen");
    const std::string text((std::istreambuf_iterator<char>(seen)), {});
    EXPECT_THAT(text, HasSubstr(event));
    EXPECT_THAT(text, HasSubstr("--merge-program /merge"));
    EXPECT_THAT(said_, testing::Not(HasSubstr("failed")));
}

TEST_F(TemporaryEventsTest, AUserHasTwoUntilOneEnds) {
    child_does("exec sleep 1000");
    UniqueFd first = begin(1000);
    const UniqueFd second = begin(1000);
    Status third = success();
    (void)begin(1000, &third);
    ASSERT_FALSE(third.ok());
    EXPECT_EQ(third.error().kind, ErrorKind::Busy);
    EXPECT_EQ(folders(), 2U) << "a refused event leaves nothing";
    first.reset();
    for (int i = 0; i < 600 && events_->report().size() == 2; ++i) context_.run_for(100ms);
    const UniqueFd another = begin(1000);
    EXPECT_EQ(events_->report().size(), 2U);
}

TEST_F(TemporaryEventsTest, EventsEndWithTheRight) {
    child_does("exec sleep 1000");
    const UniqueFd client = begin(1000);
    const UniqueFd other = begin(1001);
    events_->end_unless([](const Caller& caller) { return caller.uid == 1001; });
    for (int i = 0; i < 600 && events_->report().size() == 2; ++i) context_.run_for(100ms);
    ASSERT_EQ(events_->report().size(), 1U);
    EXPECT_EQ(events_->report().front().at("user").to_number<int>(), 1001);
    EXPECT_THAT(said_, HasSubstr("the temporary event sync of user 1000 has ended"));
    events_->stop();
    EXPECT_TRUE(events_->report().empty());
    EXPECT_EQ(folders(), 0U);
}

TEST_F(TemporaryEventsTest, TheReportHasWhatEachMayUseAndUses) {
    child_does("printf '\\005\\000\\000\\000\\000\\000\\000\\000' >&4; exec sleep 1000");
    service_.budget.share_ppm = 100'000;
    used_ppm_ = 20'000;
    const auto before = std::chrono::steady_clock::now();
    const UniqueFd first = begin(1000), second = begin(1001);
    EXPECT_EQ(said_,
              "watching the temporary event sync for user 1000\n"
              "watching the temporary event sync for user 1001\n");
    for (int i = 0; i < 600 && events_->report().back().at("used_ppm") == 0; ++i)
        context_.run_for(100ms);
    const auto report = events_->report();
    EXPECT_EQ(report.at(0).at("share_ppm"), 40'000);
    EXPECT_EQ(report.at(1).at("share_ppm"), 20'000);
    EXPECT_EQ(report.at(1).at("used_ppm"), 5);
    const double lasted =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    EXPECT_GT(report.at(0).at("seconds").as_double(), 0.0);
    EXPECT_LE(report.at(0).at("seconds").as_double(), lasted);
    EXPECT_GT(report.at(0).at("pid").to_number<int>(), 1);
    EXPECT_NE(report.at(0).at("pid"), report.at(1).at("pid"));
}

TEST_F(TemporaryEventsTest, AChildHasTheEnvironmentAndAGroupOfItsOwn) {
    ASSERT_EQ(::setenv("LAGTRAP_TEST_WORD", "seen", 1), 0);
    child_does("echo $LAGTRAP_TEST_WORD $$ $(cut -d' ' -f5 /proc/$$/stat) > " +
               (root_ / "word").string());
    const UniqueFd client = begin(1000);
    EXPECT_TRUE(all_end());
    ASSERT_EQ(::unsetenv("LAGTRAP_TEST_WORD"), 0);
    std::ifstream file(root_ / "word");
    std::string word, pid, group;
    file >> word >> pid >> group;
    EXPECT_EQ(word, "seen");
    EXPECT_FALSE(pid.empty());
    EXPECT_EQ(pid, group);
}

TEST_F(TemporaryEventsTest, EventsEndWithTheService) {
    child_does("echo $$ > " + (root_ / "pid").string() + "; exec sleep 1000");
    const UniqueFd client = begin(1000);
    pid_t pid = 0;
    for (int i = 0; i < 600 && pid == 0; ++i) {
        std::ifstream(root_ / "pid") >> pid;
        context_.run_for(100ms);
    }
    ASSERT_NE(pid, 0);
    events_.reset();
    EXPECT_NE(::kill(pid, 0), 0);
}

TEST_F(TemporaryEventsTest, AChildThatCannotStartIsAnError) {
    Status begun = success();
    const UniqueFd client = begin(1000, &begun);
    EXPECT_FALSE(begun.ok());
    EXPECT_EQ(folders(), 0U);
}

}  // namespace
}  // namespace lagtrap::daemon::temporary_events_test
