// A process with real-time priority takes the only CPU that the watched thread may use.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>

#include "program.hpp"

namespace {

// With `mixer`, tells the mixer to begin in the middle of the run.
PLANTED void encode_frame(int mixer) {
    cases::compute_ms(1);
    if (mixer >= 0 && ::write(mixer, "m", 1) != 1) cases::give_up("write");
    cases::compute_ms(1);
}

PLANTED void mix_audio() { cases::compute_ms(500); }

// The mixer computes once for each byte in the pipe.
pid_t start_mixer(int wanted) {
    const pid_t mixer = ::fork();
    if (mixer < 0) cases::give_up("fork");
    if (mixer > 0) return mixer;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, "mixer");
    sched_param priority{};
    priority.sched_priority = 10;
    if (::sched_setscheduler(0, SCHED_FIFO, &priority) != 0) cases::give_up("sched_setscheduler");
    char byte = 0;
    if (::read(wanted, &byte, 1) == 1) mix_audio();
    ::_exit(0);
}

}  // namespace

int main() {
    cases::stay_on_last_cpu();
    int wanted[2];
    if (::pipe(wanted) != 0) cases::give_up("pipe");
    const pid_t mixer = start_mixer(wanted[0]);
    const int status = cases::serve([&wanted](bool slow) { encode_frame(slow ? wanted[1] : -1); });
    ::waitpid(mixer, nullptr, 0);
    return status;
}
