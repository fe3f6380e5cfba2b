// Deep stacks that are left other than by a return: signal handlers on either stack, fibers, jumps,
// exceptions.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdlib>

#include "deep_stacks.hpp"

using deep::Planted;

namespace {

void interrupt_every(long ns, int signal_number) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal_number;
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    timer_t timer = nullptr;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) std::abort();
    const itimerspec period{{0, ns}, {0, ns}};
    timer_settime(timer, 0, &period, nullptr);
}

void handle(int signal_number, void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigaction(signal_number, &action, nullptr);
}

void use_alternate_stack(void* memory) {
    stack_t alternate{};
    alternate.ss_sp = memory;
    alternate.ss_size = deep::own_stack_bytes;
    if (sigaltstack(&alternate, nullptr) != 0) std::abort();
}

void* map_stacks(std::size_t count) {
    return mmap(nullptr, count * deep::own_stack_bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

char* stacks_of_both_kinds;

constexpr int handler_rounds = 1'000'000;

[[noreturn]] void call_short_functions() __asm__("deep_interrupted");
__attribute__((noinline)) void call_short_functions() {
    for (int round = 0;; ++round) {
        deep_tiny(round);
        deep_tiny_frame(round);
        deep_tiny_aligned(round);
    }
}

}  // namespace

DEEP_FUNCTION void deep_on_signal(int) {
    deep_below(5, handler_rounds);
    DEEP_STAY();
}

DEEP_FUNCTION void deep_on_sleep(int) {
    const timespec length{0, 1'000'000};
    nanosleep(&length, nullptr);
    DEEP_STAY();
}

DEEP_FUNCTION void deep_signal(Planted& planted) {
    note_base(planted);
    interrupt_every(3'000'000, SIGALRM);
    call_short_functions();
}

DEEP_FUNCTION void deep_signal_nested(Planted& planted) {
    note_base(planted);
    interrupt_every(3'000'000, SIGALRM);
    interrupt_every(2'100'000, SIGVTALRM);
    call_short_functions();
}

// The other stack is above the thread's own ...
DEEP_FUNCTION void deep_signal_above(Planted& planted) {
    note_base(planted);
    use_alternate_stack(stacks_of_both_kinds + deep::own_stack_bytes);
    interrupt_every(3'000'000, SIGALRM);
    call_short_functions();
}

// ... or below it.
DEEP_FUNCTION void deep_signal_below(Planted& planted) {
    note_base(planted);
    use_alternate_stack(stacks_of_both_kinds + 2 * deep::own_stack_bytes);
    interrupt_every(3'000'000, SIGALRM);
    call_short_functions();
}

DEEP_FUNCTION void deep_sleepy(Planted& planted) {
    note_base(planted);
    interrupt_every(5'000'000, SIGPROF);
    for (;;) {
        const timespec length{1, 0};
        nanosleep(&length, nullptr);
    }
}

// ---- a separate stack, started by makecontext ----
namespace {
Planted* fiber;
ucontext_t fiber_context;
}  // namespace

DEEP_FUNCTION void deep_fiber_start() {
    fiber->climb(fiber->frames, *fiber);
    DEEP_STAY();
}

DEEP_FUNCTION void deep_fiber(int, Planted& planted) {
    fiber = &planted;
    static ucontext_t back;
    getcontext(&fiber_context);
    fiber_context.uc_stack.ss_sp = map_stacks(1);
    fiber_context.uc_stack.ss_size = deep::own_stack_bytes;
    fiber_context.uc_link = nullptr;
    planted.climb = deep_climb;
    makecontext(&fiber_context, deep_fiber_start, 0);
    swapcontext(&back, &fiber_context);
}

// ---- jumps ----
namespace {
thread_local jmp_buf landing;
volatile bool always = true;
}  // namespace

DEEP_FUNCTION void deep_jumper(int frames) {
    if (frames > 1) {
        deep_jumper(frames - 1);
    } else {
        deep_spin(200);
        if (always) longjmp(landing, 1);
    }
    DEEP_STAY();
}

DEEP_FUNCTION void deep_jump(Planted& planted) {
    note_base(planted);
    for (;;)
        if (setjmp(landing) == 0) deep_jumper(10);
}

// ---- exceptions ----
DEEP_FUNCTION void deep_cleanup() { deep_spin(200); }

namespace {
struct Cleaned {
    ~Cleaned() {
        deep_cleanup();
        DEEP_STAY();
    }
};
}  // namespace

DEEP_FUNCTION void deep_throw(int frames) {
    const Cleaned cleaned;
    if (frames > 1) {
        deep_throw(frames - 1);
    } else {
        throw frames;
    }
    DEEP_STAY();
}

DEEP_FUNCTION void deep_catch(Planted& planted) {
    note_base(planted);
    for (;;) {
        try {
            deep_throw(10);
        } catch (int) {
            deep_spin(50);
        }
    }
}

#define HANDLED "( lib( deep_on_signal( deep_below){0,5}( deep_spin)?)?)"
#define INTERRUPTED " deep_interrupted( deep_tiny(_frame|_aligned)?)?"

namespace deep {

std::vector<Planted*> signal_scenarios() {
    static Planted all[] = {
        {"signal", "deep_signal" INTERRUPTED HANDLED "?", "deep_climb", deep_climb, 20,
         deep_signal},
        {"signal_nested", "deep_signal_nested" INTERRUPTED HANDLED "{0,2}", "deep_climb",
         deep_climb, 20, deep_signal_nested},
        {"signal_stack_above", "deep_signal_above" INTERRUPTED HANDLED "?",
         "deep_climb_saved deep_many", deep_climb_saved, 15, deep_signal_above},
        {"signal_stack_below", "deep_signal_below" INTERRUPTED HANDLED "?", "deep_climb_aligned",
         deep_climb_aligned, 20, deep_signal_below},
        {"signal_in_sleep", "deep_sleepy( lib| plt)*( deep_on_sleep( lib| plt)*)?", "deep_climb",
         deep_climb, 20, deep_sleepy},
        {"fiber", "deep_loop( deep_spin)?", "deep_climb", deep_fiber, 20, deep_loop,
         "( lib){0,2} deep_fiber_start"},
        {"longjmp", "deep_jump( lib| plt)*( deep_jumper){0,10}( deep_spin|( lib| plt)*)",
         "deep_climb", deep_climb, 20, deep_jump},
        // Once an exception has found its handler, the return address of the throwing function is
        // replaced before its frame is removed: for that moment the handler is on the stack twice.
        {"exceptions",
         "deep_catch( deep_spin|( deep_throw){0,10}(( lib| plt)*|( deep_cleanup)?( deep_spin)?| "
         "deep_catch( lib| plt)+))",
         "deep_climb", deep_climb, 30, deep_catch},
    };
    for (const int number : {SIGALRM, SIGVTALRM}) handle(number, deep_on_signal);
    handle(SIGPROF, deep_on_sleep);
    // From low to high: one thread's stack and its other stack; the second thread's other stack and
    // its own.
    stacks_of_both_kinds = static_cast<char*>(map_stacks(4));
    all[2].own_stack = stacks_of_both_kinds;
    all[3].own_stack = stacks_of_both_kinds + 3 * own_stack_bytes;
    std::vector<Planted*> list;
    for (Planted& planted : all) list.push_back(&planted);
    return list;
}

}  // namespace deep
