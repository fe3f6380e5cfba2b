#include "cli/console/console.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <sstream>

#include <gmock/gmock.h>

#include "cli/console/interrupt.hpp"
#include "tests/unit/cli/terminal_session.hpp"

namespace lagtrap::cli::console_test {
namespace {

TEST(Paint, EachColourHasItsCode) {
    const std::pair<Colour, const char*> codes[] = {
        {Colour::Bold, "\x1b[1m"},   {Colour::Dim, "\x1b[2m"},     {Colour::Red, "\x1b[31m"},
        {Colour::Green, "\x1b[32m"}, {Colour::Yellow, "\x1b[33m"}, {Colour::Blue, "\x1b[34m"}};
    for (const auto& [colour, code] : codes) {
        EXPECT_EQ(Paint(true)(colour, "x y"), std::string(code) + "x y\x1b[0m");
        EXPECT_EQ(Paint(true)(colour, ""), "");
        EXPECT_EQ(Paint(false)(colour, "x y"), "x y");
    }
}

TEST(Console, SaysWhyACommandFailed) {
    std::ostringstream out, err;
    Console console{out, err, Paint(false)};
    EXPECT_EQ(console.fail("no such file"), 1);
    EXPECT_EQ(err.str(), "lagtrap: no such file\n");
    EXPECT_EQ(out.str(), "");
}

// What a program prints on a terminal of this size, with these variables.
std::string on_terminal(const std::function<int()>& program, unsigned short columns = 100,
                        unsigned short rows = 30) {
    test::TerminalSession session(
        [&] {
            for (const char* name : {"NO_COLOR", "COLUMNS"}) ::unsetenv(name);
            ::setenv("TERM", "xterm", 1);
            const std::string text = std::to_string(program()) + ".";
            return ::write(STDOUT_FILENO, text.data(), text.size()) > 0 ? 0 : 1;
        },
        columns, rows);
    (void)session.end();
    return session.output();
}

std::string columns_with(const char* value, unsigned short columns) {
    return on_terminal(
        [&] {
            if (value != nullptr) ::setenv("COLUMNS", value, 1);
            return static_cast<int>(screen_columns());
        },
        columns);
}

TEST(Screen, IsAsWideAsTheTerminalWithinLimits) {
    EXPECT_EQ(columns_with(nullptr, 100), "100.");
    EXPECT_EQ(columns_with(nullptr, 59), "60.");
    EXPECT_EQ(columns_with(nullptr, 241), "240.");
    EXPECT_EQ(columns_with(nullptr, 0), "80.") << "unknown";
    EXPECT_EQ(columns_with("120", 100), "120.") << "as the person wants it";
    EXPECT_EQ(columns_with("10", 100), "60.");
    EXPECT_EQ(columns_with("1000", 100), "240.");
    EXPECT_EQ(columns_with("wide", 100), "100.");
    EXPECT_EQ(columns_with("0", 100), "100.");
}

TEST(Screen, IsAsHighAsTheTerminal) {
    const auto rows = [](unsigned short of) {
        return on_terminal([] { return static_cast<int>(screen_rows()); }, 100, of);
    };
    EXPECT_EQ(rows(31), "31.");
    EXPECT_EQ(rows(1), "1.");
    EXPECT_EQ(rows(0), "24.") << "unknown";
}

TEST(Screen, HasColoursUnlessThePersonOrTheTerminalHasNone) {
    const auto coloured = [](const char* name, const char* value) {
        return on_terminal([=] {
            if (name != nullptr) ::setenv(name, value, 1);
            return wants_colours() ? 1 : 0;
        });
    };
    EXPECT_EQ(coloured(nullptr, nullptr), "1.");
    EXPECT_EQ(coloured("NO_COLOR", "1"), "0.");
    EXPECT_EQ(coloured("NO_COLOR", ""), "1.") << "empty is as if it were not set";
    EXPECT_EQ(coloured("TERM", "dumb"), "0.");
    EXPECT_EQ(on_terminal([] {
                  ::unsetenv("TERM");
                  return wants_colours() ? 1 : 0;
              }),
              "1.");
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    EXPECT_EQ(on_terminal([&] {
                  const int terminal = ::dup(STDOUT_FILENO);
                  ::dup2(ends[1], STDOUT_FILENO);
                  const bool wants = wants_colours();
                  ::dup2(terminal, STDOUT_FILENO);
                  return wants ? 1 : 0;
              }),
              "0.")
        << "not in a pipe";
    ::close(ends[0]);
    ::close(ends[1]);
}

// How a process ends that raises these signals one after the other: "exit CODE", or "signal N". The
// code says whether the last one was noted.
std::string end_of(void (*begin)(), const std::vector<int>& signals) {
    const pid_t child = ::fork();
    if (child == 0) {
        interrupted = 1;
        begin();
        if (interrupted != 0) ::_exit(9);
        for (const int signal : signals) ::raise(signal);
        ::_exit(interrupted);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                               : "exit " + std::to_string(WEXITSTATUS(status));
}

TEST(Interrupts, TheFirstIsNotedAndTheSecondEndsTheProgram) {
    EXPECT_EQ(end_of(note_interrupts, {}), "exit 0");
    EXPECT_EQ(end_of(note_interrupts, {SIGINT}), "exit 1");
    EXPECT_EQ(end_of(note_interrupts, {SIGINT, SIGINT}), "signal " + std::to_string(SIGINT));
    EXPECT_EQ(end_of(note_interrupts, {SIGTERM}), "signal " + std::to_string(SIGTERM));
    EXPECT_EQ(end_of(note_interrupts_while_waiting, {SIGINT}), "exit 1");
    EXPECT_EQ(end_of(note_interrupts_while_waiting, {SIGTERM}), "exit 1");
    EXPECT_EQ(end_of(note_interrupts_while_waiting, {SIGTERM, SIGTERM}),
              "signal " + std::to_string(SIGTERM));
}

TEST(Interrupts, EndAWaitIfTheCommandWaits) {
    const auto flags_after = [](void (*begin)()) {
        struct sigaction before {
        }, after{};
        ::sigaction(SIGINT, nullptr, &before);
        begin();
        ::sigaction(SIGINT, &before, &after);
        return (after.sa_flags & SA_RESTART) != 0;
    };
    EXPECT_TRUE(flags_after(note_interrupts)) << "a write goes on";
    EXPECT_FALSE(flags_after(note_interrupts_while_waiting));
}

}  // namespace
}  // namespace lagtrap::cli::console_test
