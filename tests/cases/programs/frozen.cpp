// Writes to a mapped file whose file system the test freezes. The argument is the file.
#include <fcntl.h>
#include <sys/mman.h>

#include "program.hpp"

namespace {

volatile int* counters = nullptr;

PLANTED void count_request() { *counters = *counters + 1; }

}  // namespace

int main(int, char** arguments) {
    const int file = ::open(arguments[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ::ftruncate(file, 4096) != 0) cases::give_up(arguments[1]);
    void* const mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) cases::give_up("mmap");
    counters = static_cast<volatile int*>(mapped);
    if (!examples::wait_for_go()) return 1;
    count_request();
    return 0;
}
