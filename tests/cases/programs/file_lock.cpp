// A writer waits for a file lock that another process holds while it compacts the file. Usage:
// file_lock FILE
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>

#include "program.hpp"

namespace {

void lock_file(int file, short kind) {
    struct flock lock {};
    lock.l_type = kind;
    lock.l_whence = SEEK_SET;
    if (::fcntl(file, F_SETLKW, &lock) != 0) cases::give_up("fcntl");
}

PLANTED void compact_file() {
    cases::compute_ms(400);
    __asm__ __volatile__("" ::: "memory");
}

[[noreturn]] void run_compactor(int file, int wanted, int begun) {
    ::prctl(PR_SET_NAME, "compactor");
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char byte = 0;
    if (::read(wanted, &byte, 1) != 1) ::_exit(1);
    lock_file(file, F_WRLCK);
    if (::write(begun, "b", 1) != 1) ::_exit(1);
    compact_file();
    lock_file(file, F_UNLCK);
    ::_exit(0);
}

PLANTED void append_record(int file) {
    lock_file(file, F_WRLCK);
    if (::write(file, "record\n", 7) != 7) cases::give_up("write");
    lock_file(file, F_UNLCK);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const int file = ::open(arguments[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int wanted[2];
    int begun[2];
    if (file < 0 || ::pipe(wanted) != 0 || ::pipe(begun) != 0) cases::give_up("open");
    const pid_t compactor = ::fork();
    if (compactor < 0) cases::give_up("fork");
    if (compactor == 0) run_compactor(file, wanted[0], begun[1]);
    const int status = cases::serve([&](bool slow) {
        char byte = 0;
        if (slow && (::write(wanted[1], "w", 1) != 1 || ::read(begun[0], &byte, 1) != 1))
            cases::give_up("pipe");
        append_record(file);
    });
    ::waitpid(compactor, nullptr, 0);
    return status;
}
