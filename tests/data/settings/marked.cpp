// What the tests of the settings look for: overloads, functions that only their file knows, markers
// with and without keys.
#include "markers/lagtrap.h"

namespace store {

int get(int key) { return key + 1; }
int get(long key) { return static_cast<int>(key) + 2; }
int get(const char* key) { return key[0]; }
int get(int key, int fallback) { return key + fallback; }
int get(double key) { return static_cast<int>(key); }
int get(bool key) { return key ? 3 : 4; }
int put(int key) { return key - 1; }

}  // namespace store

// Names that no XML file holds as they are, and names that are not theirs alone.
namespace app {

template <typename Goods>
struct Shop {
    Goods goods;
    int sold(Goods wanted) const { return wanted == goods ? 1 : 0; }
    bool operator<(const Shop& other) const { return goods < other.goods; }
    bool operator&&(const Shop& other) const { return goods != other.goods; }
    Shop& operator--() {
        --goods;
        return *this;
    }
    explicit operator bool() const { return goods != 0; }
};
template struct Shop<long>;

long operator""_cents(unsigned long long cents) { return static_cast<long>(cents); }

namespace {
__attribute__((noinline, used)) int hidden(int (*work)(int), int value) { return work(value) + 1; }
}  // namespace

struct Counted {
    Counted(int* count);
    int* count_;
};
Counted::Counted(int* count) : count_(count) { ++*count_; }

}  // namespace app

extern "C" void serve(int request) {
    LAGTRAP_BEGIN_KEY("request", request);
    LAGTRAP_STAGE_KEY("request", "parsed", request);
    LAGTRAP_END_KEY("request", request);
}

extern "C" void draw() {
    LAGTRAP_BEGIN("frame");
    LAGTRAP_STAGE("frame", "decode");
    LAGTRAP_END("frame");
}

// One of two places has no key.
extern "C" void mix(int request) {
    LAGTRAP_BEGIN_KEY("mixed", request);
    LAGTRAP_END_KEY("mixed", request);
}

extern "C" void mix_all() {
    LAGTRAP_BEGIN("mixed");
    LAGTRAP_END("mixed");
}

extern "C" void draw_late(unsigned long long since_ns) {
    LAGTRAP_BEGIN_AT("late", since_ns);
    LAGTRAP_END("late");
}

// A library that exceptions may pass, so that the ends of its functions are looked for in their
// code.
extern "C" void hold(void (*work)(), int* held) {
    struct Release {
        int* held;
        ~Release() { --*held; }
    } release{held};
    work();
}

// Ends before the function that it calls.
extern "C" __attribute__((naked, nocf_check)) void hand_over(void (*)()) {
    asm("mov %rdi, %rax\n jmp *%rax");
}

// Functions whose end cannot be watched.
extern "C" __attribute__((naked, nocf_check)) void idle() { asm("ret"); }
extern "C" __attribute__((naked, nocf_check)) void serve_for_ever() { asm("pause\n0: jmp 0b"); }

// USDT probes: with arguments of several forms at two places, and one that is outside the code.
#define PROBE(place, name, arguments)            \
    ".pushsection .note.stapsdt,\"\",\"note\"\n" \
    ".balign 4\n"                                \
    ".4byte 992f-991f, 994f-993f, 3\n"           \
    "991: .asciz \"stapsdt\"\n"                  \
    "992: .balign 4\n"                           \
    "993: .8byte " place                         \
    ", _.stapsdt.base, 0\n"                      \
    ".asciz \"shop\"\n"                          \
    ".asciz \"" name                             \
    "\"\n"                                       \
    ".asciz \"" arguments                        \
    "\"\n"                                       \
    "994: .balign 4\n"                           \
    ".popsection\n"
extern "C" __attribute__((naked, nocf_check)) void sell() {
    asm("990: nop\n" PROBE("990b", "sold", "8@%rdi -4@%esi 8@%xmm0")
            PROBE("990b", "sold", "8@%rdi 8@%xmm1") PROBE("990b", "one", "8@%rdi")
                PROBE("0x7000000", "lost", "") "ret");
}

// Another file has a function of the same name.
__attribute__((noinline, used)) static int twin(int value) { return value * 3 + 1; }
