// A program opens its settings, which a scanner checks before it lets anybody open them, as virus
// scanners do (fanotify). Usage: file_check FILE
#include <fcntl.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>

#include "program.hpp"

namespace {

PLANTED void scan_file() {
    cases::compute_ms(400);
    __asm__ __volatile__("" ::: "memory");
}

// Checks one opening, then ends. The kernel allows all others from then on.
[[noreturn]] void run_scanner(const char* path, int wanted, int begun) {
    ::prctl(PR_SET_NAME, "scanner");
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char byte = 0;
    if (::read(wanted, &byte, 1) != 1) ::_exit(1);
    const int watch = ::fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY);
    if (watch < 0 || ::fanotify_mark(watch, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, path) != 0)
        ::_exit(1);
    if (::write(begun, "b", 1) != 1) ::_exit(1);
    fanotify_event_metadata opening{};
    if (::read(watch, &opening, sizeof opening) != static_cast<ssize_t>(sizeof opening)) ::_exit(1);
    scan_file();
    const fanotify_response answer{opening.fd, FAN_ALLOW};
    if (::write(watch, &answer, sizeof answer) != static_cast<ssize_t>(sizeof answer)) ::_exit(1);
    ::_exit(0);
}

PLANTED void load_settings(const char* path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) cases::give_up("open");
    ::close(file);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const int file = ::open(arguments[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int wanted[2];
    int begun[2];
    if (file < 0 || ::pipe(wanted) != 0 || ::pipe(begun) != 0) cases::give_up("open");
    const pid_t scanner = ::fork();
    if (scanner < 0) cases::give_up("fork");
    if (scanner == 0) run_scanner(arguments[1], wanted[0], begun[1]);
    ::close(begun[1]);
    const int status = cases::serve([&](bool slow) {
        char byte = 0;
        if (slow && (::write(wanted[1], "w", 1) != 1 || ::read(begun[0], &byte, 1) != 1))
            cases::give_up("scanner");
        load_settings(arguments[1]);
    });
    ::waitpid(scanner, nullptr, 0);
    return status;
}
