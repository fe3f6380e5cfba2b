#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "cli/commands.hpp"
#include "cli/console/interrupt.hpp"
#include "core/files.hpp"
#include "core/unique_fd.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::ask_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Says that a breach waits for an answer, keeps other requests, and at the second question for its
// status interrupts `asker`.
void be_daemon(int listening, pid_t asker, const std::string& log,
               const std::string& seconds_left) {
    for (int asked = 0; asked < 2;) {
        const UniqueFd peer(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
        std::string request;
        for (char letter = 0; ::recv(peer.get(), &letter, 1, 0) == 1 && letter != '\n';)
            request += letter;
        std::string answer = "{\"ok\":true}\n";
        if (request.find("\"status\"") == std::string::npos) {
            std::ofstream(log, std::ios::app) << request << "\n";
        } else if (++asked == 1) {
            answer =
                "{\"ok\":true,\"pending\":{\"event\":\"buy\",\"process\":\"shop\","
                "\"session\":\"s1\",\"seconds_left\":" +
                seconds_left + "}}\n";
        } else {
            ::kill(asker, SIGINT);
        }
        (void)::send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    }
}

// What the command sends to the daemon if the asked program is this shell script.
class Ask : public testing::Test {
  protected:
    std::string requests_after(const std::string& script, bool tell = false) {
        const std::string path = folder_.string("socket"), log = folder_.string("log");
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
        const UniqueFd listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::bind(listening.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)),
                  0);
        EXPECT_EQ(::listen(listening.get(), 4), 0);
        const pid_t asker = ::getpid(), daemon = ::fork();
        if (daemon == 0) {
            be_daemon(listening.get(), asker, log, seconds_left_);
            ::_exit(0);
        }
        AskOptions options;
        options.socket = path;
        options.command = {"/bin/sh", "-c", script, "sh"};
        options.tell = tell;
        Console console{out_, err_, Paint(false)};
        EXPECT_EQ(ask_person(options, console), 0) << err_.str();
        interrupted = 0;
        (void)::signal(SIGINT, SIG_DFL);
        (void)::signal(SIGTERM, SIG_DFL);
        ::waitpid(daemon, nullptr, 0);
        const auto text = read_file(log, 1 << 16);
        return text ? *text : std::string();
    }
    test::TemporaryFolder folder_;
    std::string seconds_left_ = "600";
    std::ostringstream out_, err_;
};

TEST_F(Ask, NoughtApproves) {
    const std::string sentence = folder_.string("sentence");
    const std::string requests = requests_after("echo \"$1\" > " + sentence + "; exit 0");
    EXPECT_THAT(requests, HasSubstr("\"approve\""));
    EXPECT_THAT(requests, HasSubstr("\"s1\""));
    EXPECT_THAT(out_.str(), HasSubstr("buy: kept"));
    const auto text = read_file(sentence, 4096);
    ASSERT_TRUE(text);
    EXPECT_EQ(*text,
              "lagtrap: buy was too slow in shop. Keep the recording? Without an answer, it is "
              "kept in 600 s.\n");
}

TEST_F(Ask, OneDeclines) {
    EXPECT_THAT(requests_after("exit 1"), HasSubstr("\"decline\""));
    EXPECT_THAT(out_.str(), HasSubstr("buy: discarded"));
}

TEST_F(Ask, AFailureIsNoAnswer) {
    for (const char* script : {"exit 2", "kill -9 $$"}) {
        EXPECT_THAT(requests_after(script), IsEmpty()) << script;
        EXPECT_THAT(out_.str(), HasSubstr("buy: no answer"));
        ::unlink(folder_.string("socket").c_str());
    }
}

TEST_F(Ask, ACommandEndsWhenTheTimeForAnAnswerIsOver) {
    seconds_left_ = "0.05";
    EXPECT_THAT(requests_after("exec sleep 1000"), IsEmpty());
    EXPECT_EQ(out_.str(), "buy: no answer\n");
    ::unlink(folder_.string("socket").c_str());
    out_.str("");
    EXPECT_THAT(requests_after("exec sleep 1000", true), IsEmpty());
    EXPECT_EQ(out_.str(), "buy: /bin/sh ended with 143\n");
}

TEST_F(Ask, WhatOnlyTellsAnswersNothing) {
    EXPECT_THAT(requests_after("exit 1", true), IsEmpty());
    EXPECT_EQ(out_.str(), "buy: /bin/sh ended with 1\n");
    ::unlink(folder_.string("socket").c_str());
    out_.str("");
    const std::string sentence = folder_.string("sentence");
    EXPECT_THAT(requests_after("echo \"$1\" > " + sentence, true), IsEmpty());
    EXPECT_EQ(out_.str(), "buy: notified\n");
    EXPECT_EQ(read_file(sentence, 4096).value(),
              "lagtrap: buy was too slow in shop. \"lagtrap approve\" keeps the recording, "
              "\"lagtrap decline\" discards it. Without an answer, it is kept in 600 s.\n");
}

}  // namespace
}  // namespace lagtrap::cli::ask_test
