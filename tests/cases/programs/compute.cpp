// A block that takes much CPU time. Usage: compute MILLISECONDS
#include "program.hpp"

namespace {

PLANTED void transform(std::uint64_t milliseconds) {
    cases::compute_ms(milliseconds);
    __asm__ __volatile__("" ::: "memory");
}

PLANTED void compress_block(std::uint64_t milliseconds) {
    transform(milliseconds);
    __asm__ __volatile__("" ::: "memory");
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const std::uint64_t slow_ms = std::strtoull(arguments[1], nullptr, 10);
    return cases::serve([slow_ms](bool slow) { compress_block(slow ? slow_ms : 1); });
}
