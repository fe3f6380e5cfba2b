// Each bad line of an import throws an exception from deep inside a parser.
#include <stdexcept>

#include "program.hpp"

namespace {

volatile int parsed = 0;

PLANTED void parse_nested(int depth) {
    if (depth == 0) throw std::runtime_error("not a number");
    parse_nested(depth - 1);
    parsed = parsed + 1;
}

PLANTED int import_lines(int lines) {
    int bad = 0;
    for (int line = 0; line < lines; ++line) {
        try {
            parse_nested(40);
        } catch (const std::runtime_error&) {
            ++bad;
        }
    }
    return bad;
}

// Imports until this much CPU time is used.
PLANTED int import_file(std::uint64_t milliseconds) {
    const std::uint64_t end_ns = cases::cpu_time_ns() + milliseconds * 1'000'000;
    int bad = 0;
    while (cases::cpu_time_ns() < end_ns) bad += import_lines(10);
    return bad;
}

}  // namespace

int main() {
    return cases::serve([](bool slow) { (void)import_file(slow ? 400 : 1); });
}
