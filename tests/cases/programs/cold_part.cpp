// A damaged record is repaired in the part of the parser that the compiler took for cold and put
// elsewhere.
#include "program.hpp"

namespace {

volatile int parsed = 0;

PLANTED __attribute__((cold)) int repair_record() {
    cases::compute_ms(400);
    return 1;
}

// NOLINTNEXTLINE(readability-function-size)
PLANTED int parse_record(bool damaged) {
    parsed = parsed + 1;
    if (__builtin_expect(damaged, false)) {
        const int repaired = repair_record();
        parsed = parsed + repaired;
        return repaired;
    }
    parsed = parsed + 2;
    return 0;
}

}  // namespace

int main() {
    return cases::serve([](bool slow) { (void)parse_record(slow); });
}
