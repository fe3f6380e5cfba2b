// Functions that are left in every way that compilers generate: returns in separate parts,
// conditional tail calls, jumps through pointers, exceptions, longjmp. ways_out ROUNDS: prints
// "ready", waits for "go", then prints as a JSON object a sum of all results and how often each
// function was called.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#define WATCHED extern "C" __attribute__((noinline, noclone, used, visibility("default")))

namespace {
volatile int sink = 0;
enum Way {
    Leaf,
    Cold,
    Conditional,
    Pointer,
    Switch,
    Throw,
    Catch,
    Recursive,
    Far,
    Near,
    Tail,
    Ways
};
const char* const names[Ways] = {"leaf",  "cold",      "conditional", "pointer", "switch", "throw",
                                 "catch", "recursive", "far",         "near",    "tail"};
unsigned long calls[Ways];
std::jmp_buf place;
}  // namespace

WATCHED int way_leaf(int value) {
    ++calls[Leaf];
    sink = sink + value;
    return value + 1;
}

// gcc moves an unlikely branch to a separate part, which returns by itself.
WATCHED int way_cold(int value) {
    ++calls[Cold];
    std::vector<int> values(static_cast<std::size_t>(value & 7) + 1, value);
    if (__builtin_expect(value % 3 == 0, 0)) {
        std::string text(static_cast<std::size_t>(value % 50), 'x');
        if (text.size() % 2 == 0) return static_cast<int>(text.size()) + way_leaf(value);
        sink = sink + static_cast<int>(text.size());
    }
    return static_cast<int>(values.size()) + way_leaf(1);
}

WATCHED int way_conditional(int value) {
    ++calls[Conditional];
    if (value & 1) return way_leaf(value * 3);
    return value - 1;
}

using Function = int (*)(int);
Function choices[4] = {way_leaf, way_cold, way_conditional, way_leaf};

WATCHED int way_pointer(int value) {
    ++calls[Pointer];
    if (value % 5 == 0) return -value;
    return choices[value & 3](value);
}

WATCHED int way_switch(int value) {
    ++calls[Switch];
    switch (value % 9) {
        case 0: return way_leaf(7) + 1;
        case 1: return way_leaf(1) * 5;
        case 2: return way_conditional(value);
        case 3: return way_leaf(4) / 3;
        case 4: return way_leaf(2) ^ 9;
        case 5: return way_pointer(value);
        case 6: return way_leaf(3) & 6;
        default: return value;
    }
}

WATCHED int way_throw(int value) {
    ++calls[Throw];
    if (value % 4 == 0) throw std::runtime_error("planted");
    return way_leaf(value);
}

WATCHED int way_catch(int value) {
    ++calls[Catch];
    try {
        return way_throw(value) + 2;
    } catch (const std::exception& error) {
        return static_cast<int>(std::strlen(error.what()));
    }
}

WATCHED int way_recursive(int value) {
    ++calls[Recursive];
    return value <= 0 ? 0 : way_recursive(value - 1) + way_leaf(value);
}

WATCHED int way_far(int value) {
    ++calls[Far];
    if (value % 6 == 0) std::longjmp(place, value + 1);
    return way_leaf(value);
}

WATCHED int way_near(int value) {
    ++calls[Near];
    if (setjmp(place) != 0) return 3;
    return way_far(value) + 1;
}

// A conditional jump to another function, a loop without one, and a jump through a pointer without
// a frame.
extern "C" int way_tail(int value);
__asm__(
    ".text\n.globl way_tail\n.type way_tail,@function\nway_tail: .cfi_startproc\n"
    "mov %edi,%eax\n1: sub $1,%eax\njg 1b\ntest $3,%edi\njz way_leaf\ncmp $100,%edi\nja way_leaf\n"
    "lea way_leaf(%rip),%rcx\nlea 2f(%rip),%rdx\ntest $1,%edi\ncmovnz %rdx,%rcx\njmp *%rcx\n2: "
    "ret\n"
    ".cfi_endproc\n.size way_tail,.-way_tail\n");

int main(int argc, char** argv) {
    char line[8];
    std::puts("ready");
    std::fflush(stdout);
    if (argc < 2 || !std::fgets(line, sizeof line, stdin)) return 2;
    const int rounds = std::atoi(argv[1]);
    unsigned long sum = 0;
    const auto add = [&](int value) { sum = sum * 31 + static_cast<unsigned>(value); };
    for (int i = 0; i < rounds; ++i) {
        add(way_cold(i));
        add(way_conditional(i));
        add(way_pointer(i));
        add(way_switch(i));
        add(way_catch(i));
        add(way_recursive(i % 5));
        add(way_near(i));
        ++calls[Tail];
        add(way_tail(i));
    }
    std::printf("{\"sum\":%lu", sum);
    for (int way = 0; way < Ways; ++way) std::printf(",\"%s\":%lu", names[way], calls[way]);
    std::puts("}");
    return 0;
}
