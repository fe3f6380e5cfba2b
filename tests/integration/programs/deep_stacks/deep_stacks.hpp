// Threads whose call stacks are known to the last frame. Each planted thread climbs some frames,
// notes the return addresses as the compiler's own unwinder sees them, and then works forever above
// them. Names of planted functions begin with "deep_"; all other frames are of the C or C++
// library.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <vector>

// Keeps each planted function separate, whatever the optimiser would do.
#if defined(__clang__)
#define DEEP_FUNCTION extern "C" __attribute__((noinline))
#else
#define DEEP_FUNCTION extern "C" __attribute__((noinline, noclone, noipa))
#endif

// After a call that must not become a jump.
#define DEEP_STAY() asm volatile("" ::: "memory")

namespace deep {

struct Planted;
using Work = void (*)(Planted&);
using Climb = void (*)(int frames, Planted& planted);

inline constexpr int max_frames = 600;
inline constexpr std::size_t own_stack_bytes = 1U << 20;

// One planted thread.
struct Planted {
    const char* name = "";
    // Frames allowed above the noted ones, outermost first: a regular expression over names of
    // planted functions. "lib" stands for any library function; "plt", "vdso" and "uprobes" mean
    // what they say.
    const char* inner = "";
    const char* climb_name = "";  // what one step of the climb adds, in the same form
    Climb climb = nullptr;
    int frames = 0;
    Work work = nullptr;
    const char* outer = "( lib){1,2} deep_thread";  // what is below the climb
    // a stack of own_stack_bytes for the thread; null: the default
    void* own_stack = nullptr;

    pid_t pid = 0;
    pid_t tid = 0;
    int base_count = 0;  // the noted frames, innermost first; base_count is set last
    void* base[max_frames] = {};
    std::atomic<bool> ready{false};
};

// Notes the frames below the caller, which must be the working function; call it once.
void note_base(Planted& planted);

// All scenarios of this program.
std::vector<Planted*> frame_scenarios();  // frames of every kind, below a plain loop
// inside libc, libstdc++, the vDSO, PLTs, reopened libraries
std::vector<Planted*> library_scenarios();
std::vector<Planted*> blocked_scenarios();  // off CPU
std::vector<Planted*> signal_scenarios();   // signal handlers, fibers, jumps, exceptions
std::vector<Planted*> process_scenarios();  // threads that fork

// Starts the thread of a scenario and waits until it works.
void start(Planted& planted);

// Forks a child whose only thread continues to climb and work as `planted` says, and waits until it
// works.
void start_in_child(Planted& planted);
// Such a scenario, in memory shared with the child.
Planted* shared_planted();
// For a child: ends it when the thread that forked it ends.
void end_with_parent();

}  // namespace deep

DEEP_FUNCTION void deep_climb(int frames, deep::Planted& planted);
DEEP_FUNCTION void deep_climb_saved(int frames, deep::Planted& planted);
DEEP_FUNCTION void deep_climb_alloca(int frames, deep::Planted& planted);
DEEP_FUNCTION void deep_climb_variable(int frames, deep::Planted& planted);
DEEP_FUNCTION void deep_climb_aligned(int frames, deep::Planted& planted);
DEEP_FUNCTION void deep_climb_both(int frames, deep::Planted& planted);
DEEP_FUNCTION void deep_climb_mixed(int frames, deep::Planted& planted);
DEEP_FUNCTION void deep_loop(deep::Planted& planted);
DEEP_FUNCTION void deep_tiny(int);
DEEP_FUNCTION void deep_tiny_frame(int);
DEEP_FUNCTION void deep_tiny_aligned(int round);
DEEP_FUNCTION void deep_spin(int rounds);
DEEP_FUNCTION void deep_below(int frames, int rounds);
