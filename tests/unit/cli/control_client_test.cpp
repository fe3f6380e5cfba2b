// What comes through the control socket, and what is said if it does not.
#include "cli/control/control_client.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "tests/unit/cli/scripted_daemon.hpp"

namespace lagtrap::cli::control_client_test {
namespace {

using testing::EndsWith;
using testing::StartsWith;

std::string problem_of(const std::string& answer) {
    const auto object = answer_in(answer);
    if (object) return "none";
    EXPECT_EQ(object.error().kind, ErrorKind::Invalid) << answer;
    return object.error().message;
}

TEST(AnswerOfTheDaemon, HasToBeAnObjectThatSaysOk) {
    const auto answer = answer_in(R"({"ok":true,"error":"is no error","a":1})");
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->at("a").as_int64(), 1);
    const std::string no_reason = "lagtrapd refused the request without a reason";
    EXPECT_EQ(problem_of("{}"), no_reason);
    EXPECT_EQ(problem_of(R"({"ok":false})"), no_reason);
    EXPECT_EQ(problem_of(R"({"ok":1,"error":5})"), no_reason);
    EXPECT_EQ(problem_of("{\"ok\":false,\"error\":\"no\\u001bsuch event\"}"), "no\\x1bsuch event");
    EXPECT_EQ(problem_of(R"({"error":"not now"})"), "not now");
}

TEST(AnswerOfTheDaemon, ThatIsNoObjectIsShownInPart) {
    const std::string no_object = "lagtrapd's answer is not a JSON object: ";
    EXPECT_EQ(problem_of(""), no_object + "\"\"");
    EXPECT_EQ(problem_of("[1]"), no_object + "\"[1]\"");
    EXPECT_EQ(problem_of("{\x1b"), no_object + "\"{\\x1b\"");
    EXPECT_EQ(problem_of(std::string(60, 'a') + "b"),
              no_object + "\"" + std::string(60, 'a') + "\"");
    const auto nested = [](int depth) {
        return "{\"ok\":true,\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
    };
    EXPECT_EQ(problem_of(nested(15)), "none");
    EXPECT_THAT(problem_of(nested(16)), StartsWith(no_object));
}

TEST(ConnectionOfTheDaemon, EndsWithNothingOrAReset) {
    errno = ECONNRESET;
    EXPECT_TRUE(is_end_of_connection(0));
    EXPECT_TRUE(is_end_of_connection(-1));
    EXPECT_FALSE(is_end_of_connection(1));
    errno = EIO;
    EXPECT_TRUE(is_end_of_connection(0));
    EXPECT_FALSE(is_end_of_connection(-1));
}

TEST(ConnectionToTheDaemon, SaysWhyThereIsNone) {
    const test::TemporaryFolder folder;
    const auto error_at = [](const std::string& path) {
        return ask_daemon(path, {{"command", "status"}}).error();
    };
    const std::string none = folder.string("none");
    EXPECT_EQ(error_at(none).kind, ErrorKind::NotFound);
    EXPECT_EQ(error_at(none).message,
              "lagtrapd is not running: nothing listens at " + none +
                  "; start it with \"systemctl start lagtrapd\", or name its socket with --socket");
    const std::string file = folder.string("file");
    test::write_text(file, "");
    EXPECT_EQ(error_at(file).kind, ErrorKind::NotFound) << "nobody listens";
    EXPECT_EQ(error_at(file + "/socket").kind, ErrorKind::System);
    EXPECT_THAT(error_at(file + "/socket").message,
                StartsWith("connect to lagtrapd at " + file + "/socket"));
    const std::size_t most = sizeof(sockaddr_un::sun_path) - 1;
    EXPECT_EQ(error_at("/" + std::string(most - 1, 'a')).kind, ErrorKind::NotFound);
    EXPECT_EQ(error_at("/" + std::string(most, 'a')).kind, ErrorKind::Invalid);
    EXPECT_EQ(error_at("/" + std::string(most, 'a')).message,
              "the socket's path has 108 bytes; the limit is 107");
}

TEST(ConnectionToTheDaemon, OneLineIsTheAnswer) {
    const test::TemporaryFolder folder;
    const auto answer_to = [&](const test::ScriptedDaemon::Answer& sent) {
        const std::string socket = folder.string("socket");
        std::filesystem::remove(socket);
        const test::ScriptedDaemon daemon(socket, [&](const std::string&) { return sent; });
        const auto answer = ask_daemon(socket, {{"command", "status"}});
        EXPECT_EQ(daemon.lines().back(), R"({"command":"status"})");
        return answer ? boost::json::serialize(*answer) : answer.error().message;
    };
    EXPECT_EQ(answer_to({R"({"ok":true})"
                         "\nmore\n"}),
              R"({"ok":true})");
    EXPECT_EQ(answer_to({R"({"ok":true,"a":2})", true}), R"({"ok":true,"a":2})") << "its end";
    EXPECT_EQ(answer_to({"", true}), "lagtrapd's answer is not a JSON object: \"\"");
    const std::string begin = R"({"ok":true,"a":")";
    const auto long_answer = [&](std::size_t size) {
        return begin + std::string(size - begin.size() - 2, 'a') + "\"}";
    };
    EXPECT_EQ(answer_to({long_answer(answer_limit_bytes), true}), long_answer(answer_limit_bytes));
    EXPECT_EQ(answer_to({long_answer(answer_limit_bytes + 1), true}),
              "lagtrapd's answer is longer than 4 MiB");
}

TEST(LinesOfTheDaemon, ComeOneByOneUntilItsEnd) {
    const test::TemporaryFolder folder;
    const std::string socket = folder.string("socket");
    const test::ScriptedDaemon daemon(socket, [](const std::string& line) {
        return line.empty() ? test::ScriptedDaemon::Answer{"last\nwithout an end", true}
                            : test::ScriptedDaemon::Answer{"one\n\ntwelve bytes\n"};
    });
    volatile std::sig_atomic_t stop = 0;
    auto lines = DaemonLines::ask(socket, {{"command", "calls"}});
    ASSERT_TRUE(lines) << lines.error().message;
    EXPECT_EQ(lines->next(16, stop)->value(), "one");
    EXPECT_EQ(lines->next(16, stop)->value(), "");
    stop = 1;
    EXPECT_EQ(lines->next(16, stop)->value(), "twelve bytes") << "it has arrived";
    EXPECT_FALSE(lines->next(16, stop)->has_value());
    stop = 0;
    EXPECT_TRUE(lines->say_enough());
    EXPECT_EQ(lines->next(16, stop)->value(), "last");
    EXPECT_FALSE(lines->next(16, stop)->has_value());
}

TEST(LinesOfTheDaemon, HaveALimit) {
    const test::TemporaryFolder folder;
    const std::string socket = folder.string("socket");
    const test::ScriptedDaemon daemon(socket, [](const std::string&) {
        return test::ScriptedDaemon::Answer{"12345678", true};
    });
    volatile const std::sig_atomic_t stop = 0;
    const auto next = [&](std::size_t limit_bytes) {
        return DaemonLines::ask(socket, {{"command", "calls"}})->next(limit_bytes, stop);
    };
    EXPECT_TRUE(next(8)) << "the connection ended";
    ASSERT_FALSE(next(7));
    EXPECT_EQ(next(7).error().kind, ErrorKind::TooLarge);
    EXPECT_THAT(next(7).error().message, EndsWith("has too long a line"));
}

}  // namespace
}  // namespace lagtrap::cli::control_client_test
