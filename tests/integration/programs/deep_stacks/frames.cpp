// Every kind of frame that compilers make, below every kind of loop.
#include <alloca.h>

#include <cstdint>
#include <cstring>

#include "deep_stacks.hpp"

using deep::Planted;

namespace {
volatile int one = 1;  // keeps sizes and counts from being constants
volatile int sink;
}  // namespace

DEEP_FUNCTION void deep_spin(int rounds) {
    for (int i = 0; i < rounds; ++i) asm volatile("" ::: "memory");
}

DEEP_FUNCTION void deep_below(int frames, int rounds) {
    if (frames > 1) {
        deep_below(frames - 1, rounds);
    } else {
        deep_spin(rounds);
    }
    DEEP_STAY();
}

DEEP_FUNCTION void deep_climb(int frames, Planted& planted) {
    if (frames > 1) {
        deep_climb(frames - 1, planted);
    } else {
        planted.work(planted);
    }
    DEEP_STAY();
}

// Saves every callee-saved register including rbp, and passes arguments on the stack.
DEEP_FUNCTION void deep_many(int a, int b, int c, int d, int e, int f, long g, long h, long i,
                             Planted& planted) {
    sink = a + b + c + d + e + f + static_cast<int>(g + h + i);
    if (a > 1) {
        deep_climb_saved(a - 1, planted);
    } else {
        planted.work(planted);
    }
    DEEP_STAY();
}

DEEP_FUNCTION void deep_climb_saved(int frames, Planted& planted) {
    asm volatile("" ::: "rbx", "rbp", "r12", "r13", "r14", "r15");
    deep_many(frames, 2, 3, 4, 5, 6, 7, 8, 9, planted);
    asm volatile("" ::: "rbx", "rbp", "r12", "r13", "r14", "r15");
}

DEEP_FUNCTION void deep_climb_alloca(int frames, Planted& planted) {
    const std::size_t size = static_cast<std::size_t>(32 + 48 * (frames % 7) * one);
    void* memory = alloca(size);
    std::memset(memory, frames, size);
    if (frames > 1) {
        deep_climb_alloca(frames - 1, planted);
    } else {
        planted.work(planted);
    }
    asm volatile("" ::"r"(memory) : "memory");
}

// An array of variable length, as in C.
DEEP_FUNCTION void deep_climb_variable(int frames, Planted& planted) {
    char memory[static_cast<std::size_t>(16 + 24 * (frames % 5) * one)];
    asm volatile("" ::"r"(memory) : "memory");
    if (frames > 1) {
        deep_climb_variable(frames - 1, planted);
    } else {
        planted.work(planted);
    }
    asm volatile("" ::"r"(memory) : "memory");
}

// Locals that need more alignment than the stack has: the frame is found through a saved pointer.
DEEP_FUNCTION void deep_climb_aligned(int frames, Planted& planted) {
    alignas(64) std::uint64_t vector[8] = {static_cast<std::uint64_t>(frames)};
    asm volatile("" ::"r"(vector) : "memory");
    if (frames > 1) {
        deep_climb_aligned(frames - 1, planted);
    } else {
        planted.work(planted);
    }
    asm volatile("" ::"r"(vector) : "memory");
}

DEEP_FUNCTION void deep_climb_both(int frames, Planted& planted) {
    alignas(128) char vector[128] = {static_cast<char>(frames)};
    void* memory = alloca(static_cast<std::size_t>(40 * (1 + frames % 3) * one));
    asm volatile("" ::"r"(vector), "r"(memory) : "memory");
    if (frames > 1) {
        deep_climb_both(frames - 1, planted);
    } else {
        planted.work(planted);
    }
    asm volatile("" ::"r"(vector), "r"(memory) : "memory");
}

// A different kind of frame at each step.
namespace {
struct Step {
    Planted* planted;
    int frames;
};
thread_local Step step;
}  // namespace

DEEP_FUNCTION void deep_go_on(Planted&) {
    deep_climb_mixed(step.frames, *step.planted);
    DEEP_STAY();
}

DEEP_FUNCTION void deep_climb_mixed(int frames, Planted& planted) {
    static constexpr deep::Climb kinds[] = {deep_climb, deep_climb_alloca, deep_climb_variable,
                                            deep_climb_aligned, deep_climb_both};
    if (frames > 1) {
        static Planted via = {.work = deep_go_on};
        step = {&planted, frames - 1};
        kinds[frames % 5](1, via);
    } else {
        planted.work(planted);
    }
    DEEP_STAY();
}

// ---- loops above the frames ----

DEEP_FUNCTION void deep_loop(Planted& planted) {
    note_base(planted);
    for (;;) deep_spin(1000);
}

// A leaf frame: only its own address is above the noted frames.
DEEP_FUNCTION void deep_stand(Planted& planted) {
    note_base(planted);
    for (;;) asm volatile("" ::: "memory");
}

// So short, and with so many pushes, that most samples hit its prologue or epilogue.
DEEP_FUNCTION void deep_tiny(int) { asm volatile("" ::: "rbx", "rbp", "r12", "r13", "r14", "r15"); }

DEEP_FUNCTION void deep_tiny_frame(int) {
    char room[200];
    asm volatile("" ::"r"(room) : "rbx", "rbp", "r12", "memory");
}

DEEP_FUNCTION void deep_tiny_aligned(int) {
    alignas(64) char room[64];
    void* memory = alloca(static_cast<std::size_t>(16 * one));
    asm volatile("" ::"r"(room), "r"(memory) : "memory");
}

DEEP_FUNCTION void deep_short_calls(Planted& planted) {
    note_base(planted);
    for (int round = 0;; ++round) {
        deep_tiny(round);
        deep_tiny_frame(round);
        deep_tiny_aligned(round);
    }
}

// The same from a frame that is found through rbp: until the function's end, gcc says that the
// caller's rbp is on the stack, though it was restored three instructions earlier.
DEEP_FUNCTION void deep_aligned_calls(Planted& planted) {
    note_base(planted);
    for (int round = 0;; ++round) {
        void* memory = alloca(static_cast<std::size_t>(16 * one));
        asm volatile("" ::"r"(memory) : "memory");
        for (int i = 0; i < 1'000'000'000; ++i) deep_tiny_aligned(i);
    }
}

// Calls that are jumps: the calling functions are no longer on the stack.
DEEP_FUNCTION void deep_tail_three(int rounds) { deep_spin(rounds); }
DEEP_FUNCTION void deep_tail_two(int rounds) { deep_tail_three(rounds + 1); }
DEEP_FUNCTION void deep_tail_one(int rounds) { deep_tail_two(rounds + 1); }

DEEP_FUNCTION void deep_tail_loop(Planted& planted) {
    note_base(planted);
    for (;;) deep_tail_one(50);
}

// Its loop is in a separate part far from its beginning, the part that the compiler thinks is never
// reached.
DEEP_FUNCTION __attribute__((cold)) void deep_unlikely(int rounds) { deep_spin(rounds); }
DEEP_FUNCTION int deep_partly_cold(int rounds) {
    if (__builtin_expect(rounds > 0, 0)) {
        for (int i = 0; i < rounds; ++i) {
            asm volatile("" ::: "memory", "rbx", "r12");
            if (i % 64 == 0) deep_unlikely(20);
        }
        return rounds;
    }
    return one;
}

DEEP_FUNCTION void deep_cold_loop(Planted& planted) {
    note_base(planted);
    for (;;) sink = deep_partly_cold(1000);
}

// Hand-written, with unwind information that compilers rarely produce: the frame is found through
// rbx.
asm(R"(
    .text
    .globl deep_by_rbx
    .type deep_by_rbx, @function
deep_by_rbx:
    .cfi_startproc
    push %rbx
    .cfi_def_cfa_offset 16
    .cfi_offset %rbx, -16
    mov %rsp, %rbx
    .cfi_def_cfa_register %rbx
    sub $264, %rsp
    and $-64, %rsp
    mov %edi, %ecx
1:  dec %ecx
    jnz 1b
    mov %rbx, %rsp
    .cfi_def_cfa_register %rsp
    pop %rbx
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size deep_by_rbx, .-deep_by_rbx
)");
extern "C" void deep_by_rbx(int rounds);

DEEP_FUNCTION void deep_rbx_loop(Planted& planted) {
    note_base(planted);
    for (;;) deep_by_rbx(1000);
}

// Hand-written without unwind information. The second keeps a number in rbp, and where a return
// address is expected, the address of an instruction after a call in a function that never ran.
asm(R"(
    .text
    .globl deep_bare
    .type deep_bare, @function
deep_bare:
    mov %edi, %ecx
1:  dec %ecx
    jnz 1b
    ret
    .size deep_bare, .-deep_bare

    .globl deep_decoy
    .type deep_decoy, @function
deep_decoy:
    call deep_bare
.Lafter_decoy:
    ret
    .size deep_decoy, .-deep_decoy

    .globl deep_bare_frame
    .type deep_bare_frame, @function
deep_bare_frame:
    push %rbp
    lea .Lafter_decoy(%rip), %rax
    push %rax
    mov $12345, %ebp
    mov %edi, %ecx
1:  dec %ecx
    jnz 1b
    pop %rax
    pop %rbp
    ret
    .size deep_bare_frame, .-deep_bare_frame
)");
extern "C" void deep_bare(int rounds);
extern "C" void deep_bare_frame(int rounds);

DEEP_FUNCTION void deep_bare_loop(Planted& planted) {
    note_base(planted);
    for (;;) deep_bare(2'000'000);
}

DEEP_FUNCTION void deep_bare_frame_loop(Planted& planted) {
    note_base(planted);
    for (;;) deep_bare_frame(2'000'000);
}

// Calls a function that is watched: the kernel has replaced each of its return addresses.
DEEP_FUNCTION void deep_watched(int more);
DEEP_FUNCTION void deep_between(int frames, int more) {
    if (frames > 1) {
        deep_between(frames - 1, more);
    } else {
        deep_watched(more);
    }
    DEEP_STAY();
}

DEEP_FUNCTION void deep_watched(int more) {
    deep_spin(20'000);
    if (more > 0) deep_between(4, more - 1);
    deep_spin(20'000);
    DEEP_STAY();
}

DEEP_FUNCTION void deep_watched_loop(Planted& planted) {
    note_base(planted);
    for (;;) deep_watched(2);
}

namespace deep {

std::vector<Planted*> frame_scenarios() {
    static const char* const spin = "deep_loop( deep_spin)?";
    static Planted all[] = {
        {"plain_20", spin, "deep_climb", deep_climb, 20, deep_loop},
        {"plain_100", spin, "deep_climb", deep_climb, 100, deep_loop},
        {"saved_registers", spin, "deep_climb_saved deep_many", deep_climb_saved, 30, deep_loop},
        {"alloca", spin, "deep_climb_alloca", deep_climb_alloca, 40, deep_loop},
        {"variable_length", spin, "deep_climb_variable", deep_climb_variable, 40, deep_loop},
        {"over_aligned", spin, "deep_climb_aligned", deep_climb_aligned, 40, deep_loop},
        {"aligned_and_alloca", spin, "deep_climb_both", deep_climb_both, 40, deep_loop},
        {"mixed_frames", spin, "deep_(climb_\\w+|go_on)( deep_(climb\\w*|go_on)){0,2}",
         deep_climb_mixed, 24, deep_loop},
        {"short_calls", "deep_short_calls( deep_tiny(_frame|_aligned)?)?", "deep_climb", deep_climb,
         30, deep_short_calls},
        {"aligned_calls", "deep_aligned_calls( deep_tiny_aligned)?", "deep_climb_alloca",
         deep_climb_alloca, 30, deep_aligned_calls},
        {"tail_calls", "deep_tail_loop( deep_tail_(one|two|three)| deep_spin)?", "deep_climb",
         deep_climb, 25, deep_tail_loop},
        {"cold_parts", "deep_cold_loop( deep_partly_cold( deep_unlikely| deep_spin)?)?",
         "deep_climb", deep_climb, 25, deep_cold_loop},
        {"frame_by_rbx", "deep_rbx_loop( deep_by_rbx)?", "deep_climb", deep_climb, 25,
         deep_rbx_loop},
        {"bare", "deep_bare_loop( deep_bare)?", "deep_climb", deep_climb, 25, deep_bare_loop},
        {"bare_frame", "deep_bare_frame_loop( deep_bare_frame)?", "deep_climb", deep_climb, 25,
         deep_bare_frame_loop},
        {"watched",
         "deep_watched_loop( deep_watched( deep_between){0,4}){0,3}( deep_spin)?( uprobes)?",
         "deep_climb", deep_climb, 20, deep_watched_loop},
        // A thread's own frames are deep_thread, start_thread and clone3.
        {"frames_127", "deep_stand", "deep_climb", deep_climb, 127 - 3 - 1, deep_stand},
        {"frames_128", "deep_stand", "deep_climb", deep_climb, 128 - 3 - 1, deep_stand},
        {"frames_500", "deep_stand", "deep_climb", deep_climb, 500, deep_stand},
    };
    std::vector<Planted*> list;
    for (Planted& planted : all) list.push_back(&planted);
    return list;
}

}  // namespace deep
