// Deep stacks of forked children, which run their parent's code and never execute a program.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "deep_stacks.hpp"

using deep::Planted;

DEEP_FUNCTION void deep_in_child(Planted& planted) {
    planted.climb(planted.frames, planted);
    DEEP_STAY();
}

namespace deep {

void end_with_parent() { prctl(PR_SET_PDEATHSIG, SIGKILL); }

Planted* shared_planted() {
    void* memory =
        mmap(nullptr, sizeof(Planted), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return new (memory) Planted;
}

}  // namespace deep

// Forks as part of the planted chain, so its name is like the others'.
DEEP_FUNCTION void deep_start_in_child(Planted& planted) {
    if (fork() == 0) {
        deep::end_with_parent();
        deep_in_child(planted);
    }
    DEEP_STAY();
}

void deep::start_in_child(Planted& planted) {
    deep_start_in_child(planted);
    while (!planted.ready) usleep(1000);
}

namespace {
Planted* child_of_thread;
}

// A thread that forks a long-lived child, and then children that live for some milliseconds, one
// after the other.
DEEP_FUNCTION void deep_fork(Planted& planted) {
    deep_start_in_child(*child_of_thread);
    while (!child_of_thread->ready) usleep(1000);
    note_base(planted);
    for (;;) {
        const pid_t child = fork();
        if (child == 0) {
            deep::end_with_parent();
            deep_spin(20'000'000);
            _exit(0);
        }
        waitpid(child, nullptr, 0);
    }
}

namespace deep {

std::vector<Planted*> process_scenarios() {
    static Planted storm = {"fork_storm", "deep_fork( lib| plt)*( deep_spin)?",
                            "deep_climb", deep_climb,
                            20,           deep_fork};
    child_of_thread = shared_planted();
    child_of_thread->name = "forked_by_thread";
    child_of_thread->inner = "deep_loop( deep_spin)?";
    child_of_thread->climb_name = "deep_climb_aligned";
    child_of_thread->climb = deep_climb_aligned;
    child_of_thread->frames = 15;
    child_of_thread->work = deep_loop;
    child_of_thread->outer =
        "( lib){1,2} deep_thread( deep_climb){20} deep_fork deep_start_in_child deep_in_child";
    return {&storm, child_of_thread};
}

}  // namespace deep
