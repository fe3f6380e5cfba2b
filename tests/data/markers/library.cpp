#include "tests/data/markers/shared.hpp"

namespace {
int evaluations = 0;
int evaluate() { return ++evaluations; }
}  // namespace

int library_evaluations() { return evaluations; }

int library_work(int rounds) {
    LAGTRAP_BEGIN_KEY("armed_by_hand", evaluate());
    if (LAGTRAP_ARMED("armed_by_hand")) evaluations += 100;
    return inline_work(rounds) + template_work(rounds);
}

// What the kernel does when somebody listens.
extern unsigned short semaphore __asm__(".lagtrap.semaphore.armed_by_hand")
    __attribute__((visibility("hidden")));
extern "C" void raise_semaphore(int by) { semaphore = static_cast<unsigned short>(semaphore + by); }
