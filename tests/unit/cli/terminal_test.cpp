#include "cli/status/terminal.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include <gmock/gmock.h>

#include "tests/unit/cli/terminal_session.hpp"

namespace lagtrap::cli::terminal_test {
namespace {

using namespace std::chrono_literals;
using test::TerminalSession;
using testing::HasSubstr;

constexpr const char* begin = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr const char* finish = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

std::string name_of(const std::optional<KeyPress>& press) {
    if (!press) return "none";
    if (press->key == Key::Letter) return std::string("letter ") + press->letter;
    const char* const names[] = {"letter", "up",  "down",   "page up", "page down",
                                 "home",   "end", "escape", "resized", "closed"};
    return names[static_cast<int>(press->key)];
}

// Prints the name of each key until "q", and the size of the screen for "s".
int show_keys() {
    ::setenv("TERM", "xterm", 1);
    const auto terminal = Terminal::open();
    if (!terminal) return 1;
    (*terminal)->draw({"ready"});
    for (;;) {
        const auto press = (*terminal)->wait(10min);
        const ScreenSize size = (*terminal)->size();
        (*terminal)->draw({"<" + name_of(press) + ">",
                           std::to_string(size.columns) + "x" + std::to_string(size.rows)});
        if (!press || press->letter == 'q' || press->key == Key::Closed) return 7;
    }
}

TEST(Terminal, KnowsEachKey) {
    const std::pair<const char*, const char*> keys[] = {
        {"\x1b[A", "up"},       {"\x1bOA", "up"},         {"k", "up"},
        {"\x1b[B", "down"},     {"\x1bOB", "down"},       {"j", "down"},
        {"\x1b[5~", "page up"}, {"\x1b[6~", "page down"}, {"\x1b[H", "home"},
        {"\x1bOH", "home"},     {"\x1b[1~", "home"},      {"\x1b[F", "end"},
        {"\x1bOF", "end"},      {"\x1b[4~", "end"},       {"\x1b", "escape"},
        {"a", "letter a"},      {" ", "letter  "},        {"\x1b[99~", "none"}};
    for (const auto& [typed, name] : keys) {
        TerminalSession session(show_keys);
        ASSERT_TRUE(session.shows("ready"));
        session.type(typed);
        EXPECT_TRUE(session.shows(std::string("<") + name + ">")) << name << session.output();
    }
}

TEST(Terminal, KeysTypedTogetherComeOneByOne) {
    TerminalSession session(show_keys);
    ASSERT_TRUE(session.shows("ready"));
    session.type("a\x1b[Bq");
    EXPECT_TRUE(session.shows("<letter a>"));
    EXPECT_TRUE(session.shows("<down>"));
    EXPECT_TRUE(session.shows("<letter q>"));
    EXPECT_EQ(session.end(), 7 << 8);
}

TEST(Terminal, TakesTheScreenAndGivesItBack) {
    TerminalSession session(show_keys);
    ASSERT_TRUE(session.shows(std::string(begin) + "\x1b[Hready\x1b[K\x1b[J"));
    EXPECT_FALSE(session.echoes());
    session.type("q");
    EXPECT_EQ(session.end(), 7 << 8);
    EXPECT_THAT(session.output(), testing::EndsWith(finish));
    EXPECT_TRUE(session.echoes());
}

TEST(Terminal, DrawsLinesBelowEachOther) {
    TerminalSession session(show_keys, 77, 33);
    ASSERT_TRUE(session.shows("ready"));
    session.type("a");
    EXPECT_TRUE(session.shows("\x1b[H<letter a>\x1b[K\r\r\n77x33\x1b[K\x1b[J")) << session.output();
}

TEST(Terminal, NoticesANewSize) {
    TerminalSession session(show_keys, 77, 33);
    ASSERT_TRUE(session.shows("ready"));
    session.resize(60, 20);
    EXPECT_TRUE(session.shows("<resized>"));
    EXPECT_TRUE(session.shows("60x20"));
    session.resize(0, 0);
    EXPECT_TRUE(session.shows("80x24")) << "the usual size if the terminal knows none";
}

TEST(Terminal, SignalsThatEndGiveTheScreenBack) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        TerminalSession session(show_keys);
        ASSERT_TRUE(session.shows("ready"));
        session.signal(number);
        const int status = session.end();
        EXPECT_TRUE(WIFSIGNALED(status)) << number;
        EXPECT_EQ(WTERMSIG(status), number);
        EXPECT_THAT(session.output(), testing::EndsWith(finish));
        EXPECT_TRUE(session.echoes());
    }
}

TEST(Terminal, AStopGivesTheScreenBackForAWhile) {
    TerminalSession session(show_keys);
    ASSERT_TRUE(session.shows("ready"));
    session.signal(SIGTSTP);
    ASSERT_TRUE(session.shows(finish));
    ASSERT_TRUE(session.stops());
    session.signal(SIGCONT);
    EXPECT_TRUE(session.shows(begin));
    EXPECT_TRUE(session.shows("<resized>")) << "everything is drawn again";
    EXPECT_FALSE(session.echoes());
}

TEST(Terminal, WaitsNoLongerThanItMay) {
    TerminalSession session([] {
        ::setenv("TERM", "xterm", 1);
        const auto terminal = Terminal::open();
        return terminal && !(*terminal)->wait(1ms) ? 0 : 1;
    });
    EXPECT_EQ(session.end(), 0);
}

TEST(Terminal, NeedsOneThatUnderstandsIt) {
    for (const char* kind : {"dumb", ""}) {
        TerminalSession session([kind] {
            *kind == '\0' ? ::unsetenv("TERM") : ::setenv("TERM", kind, 1);
            const auto terminal = Terminal::open();
            if (terminal || terminal.error().kind != ErrorKind::Unsupported) return 1;
            return terminal.error().message ==
                           "this needs a terminal; \"lagtrap status\" prints the same once"
                       ? 0
                       : 2;
        });
        EXPECT_EQ(session.end(), 0) << kind;
        EXPECT_EQ(session.output(), "");
    }
    for (const int lacks : {STDIN_FILENO, STDOUT_FILENO}) {
        TerminalSession session([lacks] {
            ::setenv("TERM", "xterm", 1);
            ::close(lacks);
            return Terminal::open() ? 1 : 0;
        });
        EXPECT_EQ(session.end(), 0);
    }
}

}  // namespace
}  // namespace lagtrap::cli::terminal_test
