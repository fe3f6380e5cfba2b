// Keeps a CPU busy until it is killed; it is the cause of no case.
#include <sys/prctl.h>

#include <csignal>

#include "program.hpp"

namespace {

PLANTED void fold_proteins() {
    for (;;) cases::compute_ms(1000);
}

}  // namespace

int main() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    fold_proteins();
}
