#include "tests/unit/cli/terminal_session.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <gtest/gtest.h>

namespace lagtrap::test {

TerminalSession::TerminalSession(const std::function<int()>& program, unsigned short columns,
                                 unsigned short rows) {
    int terminal = -1, program_side = -1;
    winsize size{rows, columns, 0, 0};
    EXPECT_EQ(::openpty(&terminal, &program_side, nullptr, nullptr, &size), 0);
    terminal_.reset(terminal);
    program_side_.reset(program_side);
    child_ = ::fork();
    if (child_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    terminal_.reset();
    if (::login_tty(program_side) != 0) ::_exit(99);
    ::_exit(program());
}

TerminalSession::~TerminalSession() {
    if (child_ < 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
}

void TerminalSession::type(const std::string& keys) const {
    EXPECT_EQ(::write(terminal_.get(), keys.data(), keys.size()),
              static_cast<ssize_t>(keys.size()));
}

void TerminalSession::resize(unsigned short columns, unsigned short rows) const {
    const winsize size{rows, columns, 0, 0};
    EXPECT_EQ(::ioctl(terminal_.get(), TIOCSWINSZ, &size), 0);
}

void TerminalSession::signal(int number) const { EXPECT_EQ(::kill(child_, number), 0); }

bool TerminalSession::stops() const {
    siginfo_t facts{};
    return ::waitid(P_PID, static_cast<id_t>(child_), &facts, WSTOPPED | WEXITED | WNOWAIT) == 0 &&
           facts.si_code == CLD_STOPPED;
}

bool TerminalSession::read_more() {
    constexpr int minute_ms = 60'000;
    // The test's own side keeps the terminal open when the program ends.
    for (int waited_ms = 0; waited_ms < minute_ms; waited_ms += 20) {
        pollfd ready{terminal_.get(), POLLIN, 0};
        if (::poll(&ready, 1, 20) > 0) {
            char buffer[65536];
            const ssize_t size = ::read(terminal_.get(), buffer, sizeof(buffer));
            if (size > 0) output_.append(buffer, static_cast<std::size_t>(size));
            return size > 0;
        }
        siginfo_t facts{};
        if (::waitid(P_PID, static_cast<id_t>(child_), &facts, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            facts.si_pid == child_)
            return false;
    }
    return false;
}

bool TerminalSession::shows(const std::string& text) {
    for (;;) {
        if (const auto at = output_.find(text, seen_); at != std::string::npos) {
            seen_ = at + text.size();
            return true;
        }
        if (!read_more()) return false;
    }
}

int TerminalSession::end() {
    while (read_more()) {
    }
    int status = 0;
    if (::waitpid(child_, &status, WNOHANG) != child_) {
        ADD_FAILURE() << "the program does not end; it has shown " << output_;
        ::kill(child_, SIGKILL);
        ::waitpid(child_, &status, 0);
    }
    child_ = -1;
    return status;
}

bool TerminalSession::echoes() const {
    termios state{};
    EXPECT_EQ(::tcgetattr(program_side_.get(), &state), 0);
    return (state.c_lflag & ECHO) != 0 && (state.c_lflag & ICANON) != 0;
}

}  // namespace lagtrap::test
