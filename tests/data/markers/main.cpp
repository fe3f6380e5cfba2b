// Exit status 0: arguments were evaluated exactly while the semaphore was up, and markers changed
// no result.
#include "tests/data/markers/shared.hpp"

extern "C" void raise_semaphore(int by);

int main() {
    const unsigned long long before = lagtrap_now_ns();
    if (first_work(5) != 12 || second_work(5) != 12 || library_work(5) != 12) return 1;
    if (library_evaluations() != 0) return 2;
    raise_semaphore(1);
    library_work(5);
    if (library_evaluations() != 101) return 3;
    raise_semaphore(-1);
    library_work(5);
    if (library_evaluations() != 101) return 4;
    return lagtrap_now_ns() > before ? 0 : 5;
}
