#include "cli/status/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace lagtrap::cli {

namespace {

// Alternate buffer, no cursor, lines cut instead of wrapped; and back.
constexpr std::string_view enter_sequence = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view leave_sequence = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// State for signal handlers.
termios terminal_before{};
termios terminal_raw{};
volatile std::sig_atomic_t screen_is_ours = 0;
volatile std::sig_atomic_t size_changed = 0;

void put(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

// These two functions are async-signal-safe.
void take_screen() {
    ::tcsetattr(STDIN_FILENO, TCSANOW, &terminal_raw);
    put(enter_sequence);
    screen_is_ours = 1;
}

void give_screen_back() {
    if (screen_is_ours == 0) return;
    screen_is_ours = 0;
    put(leave_sequence);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
}

void end_by(int signal) {
    give_screen_back();
    // SA_RESETHAND: this time the signal ends the program, with the right status.
    ::raise(signal);
}

void stop_for_a_while(int) {
    const int saved = errno;
    give_screen_back();
    ::raise(SIGSTOP);
    take_screen();
    size_changed = 1;
    errno = saved;
}

void note_size(int) { size_changed = 1; }

// Blocked except while waiting for a key, so that none is missed just before.
sigset_t redrawing_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGWINCH);
    sigaddset(&signals, SIGTSTP);
    return signals;
}

void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    ::sigaction(signal, &action, nullptr);
}

std::optional<KeyPress> decode(std::string& unread) {
    if (unread.empty()) return std::nullopt;
    constexpr std::array<std::pair<std::string_view, Key>, 14> sequences{
        {{"\x1b[A", Key::Up},
         {"\x1bOA", Key::Up},
         {"\x1b[B", Key::Down},
         {"\x1bOB", Key::Down},
         {"\x1b[5~", Key::PageUp},
         {"\x1b[6~", Key::PageDown},
         {"\x1b[H", Key::Home},
         {"\x1bOH", Key::Home},
         {"\x1b[1~", Key::Home},
         {"\x1b[F", Key::End},
         {"\x1bOF", Key::End},
         {"\x1b[4~", Key::End},
         {"k", Key::Up},
         {"j", Key::Down}}};
    for (const auto& [sequence, key] : sequences) {
        if (!unread.starts_with(sequence)) continue;
        unread.erase(0, sequence.size());
        return KeyPress{key, 0};
    }
    const char first = unread.front();
    if (first != '\x1b') {
        unread.erase(0, 1);
        return KeyPress{Key::Letter, first};
    }
    // An unknown key, or Escape itself.
    const bool alone = unread.size() == 1;
    unread.clear();
    return alone ? std::optional(KeyPress{Key::Escape, 0}) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Terminal>> Terminal::open() {
    const char* kind = std::getenv("TERM");
    if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1 || kind == nullptr ||
        std::string_view(kind) == "dumb")
        return make_error(ErrorKind::Unsupported,
                          "this needs a terminal; \"lagtrap status\" prints the same once");
    if (::tcgetattr(STDIN_FILENO, &terminal_before) != 0)
        return system_error("reading the terminal settings");
    terminal_raw = terminal_before;
    terminal_raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    terminal_raw.c_cc[VMIN] = 0;
    terminal_raw.c_cc[VTIME] = 0;
    const sigset_t redrawing = redrawing_signals();
    ::sigprocmask(SIG_BLOCK, &redrawing, nullptr);
    for (const int signal : ending_signals)
        handle(signal, end_by, static_cast<int>(SA_RESETHAND | SA_NODEFER));
    handle(SIGTSTP, stop_for_a_while, SA_RESTART);
    handle(SIGWINCH, note_size, 0);
    take_screen();
    return std::unique_ptr<Terminal>(new Terminal());
}

Terminal::~Terminal() {
    const sigset_t redrawing = redrawing_signals();
    ::sigprocmask(SIG_UNBLOCK, &redrawing, nullptr);
    give_screen_back();
    for (const int signal : ending_signals) handle(signal, SIG_DFL, 0);
    handle(SIGTSTP, SIG_DFL, 0);
    handle(SIGWINCH, SIG_DFL, 0);
}

ScreenSize Terminal::size() const {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
        return {};
    return {size.ws_col, size.ws_row};
}

void Terminal::draw(const std::vector<std::string>& lines) {
    std::string frame = "\x1b[H";
    for (std::size_t i = 0; i < lines.size(); ++i)
        frame += (i > 0 ? "\r\n" : "") + lines[i] + "\x1b[K";
    put(frame + "\x1b[J");
}

std::optional<KeyPress> Terminal::wait(std::chrono::milliseconds timeout) {
    if (auto key = decode(unread_)) return key;
    sigset_t none;
    ::sigprocmask(SIG_SETMASK, nullptr, &none);
    sigdelset(&none, SIGWINCH);
    sigdelset(&none, SIGTSTP);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
    const timespec time{seconds.count(), std::chrono::nanoseconds(timeout - seconds).count()};
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = ::ppoll(&input, 1, &time, &none);
    if (size_changed != 0) {
        size_changed = 0;
        return KeyPress{Key::Resized, 0};
    }
    if (ready <= 0) return std::nullopt;
    std::array<char, 64> bytes;
    const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got <= 0)
        return (input.revents & POLLHUP) != 0 || got == 0 ? std::optional(KeyPress{Key::Closed, 0})
                                                          : std::nullopt;
    unread_.append(bytes.data(), static_cast<std::size_t>(got));
    return decode(unread_);
}

}  // namespace lagtrap::cli
