// Deep stacks through libraries: callbacks from libc, templates of libstdc++, the vDSO, PLTs,
// libraries that are opened and closed.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "deep_library.h"
#include "deep_stacks.hpp"

using deep::Planted;

namespace {

std::uint32_t next_random(std::uint32_t& state) {
    state ^= state << 13;
    state ^= state >> 17;
    return state ^= state << 5;
}

volatile std::uint64_t sink;
volatile std::size_t unknown_size = 0;  // keeps sizes from being constants

constexpr std::size_t sorted_count = 2000;

}  // namespace

DEEP_FUNCTION int deep_compare(const void* left, const void* right) {
    const auto a = *static_cast<const std::uint32_t*>(left),
               b = *static_cast<const std::uint32_t*>(right);
    deep_below(5, 30);
    return a < b ? -1 : a > b;
}

DEEP_FUNCTION void deep_qsort(Planted& planted) {
    note_base(planted);
    std::uint32_t state = 1, numbers[sorted_count];
    for (;;) {
        for (auto& number : numbers) number = next_random(state);
        std::qsort(numbers, sorted_count, sizeof(numbers[0]), deep_compare);
    }
}

DEEP_FUNCTION bool deep_less(std::uint32_t a, std::uint32_t b) {
    deep_below(5, 30);
    return a < b;
}

DEEP_FUNCTION void deep_sort(Planted& planted) {
    note_base(planted);
    std::uint32_t state = 1, numbers[sorted_count];
    for (;;) {
        for (auto& number : numbers) number = next_random(state);
        std::sort(numbers, numbers + sorted_count, deep_less);
    }
}

DEEP_FUNCTION void deep_malloc(Planted& planted) {
    note_base(planted);
    std::uint32_t state = 1;
    void* kept[64] = {};
    for (;;) {
        const std::uint32_t random = next_random(state);
        void*& place = kept[random % 64];
        std::free(place);
        place = std::malloc(random % 61 == 0 ? 300'000 : random % 3000);
    }
}

DEEP_FUNCTION void deep_copy(Planted& planted) {
    note_base(planted);
    const std::size_t size = (8U << 20) + unknown_size;
    std::vector<char> from(size, 'a'), to(size, 'b');
    for (;;) {
        std::memcpy(to.data(), from.data(), size);
        asm volatile("" ::: "memory");
    }
}

DEEP_FUNCTION void deep_clock(Planted& planted) {
    note_base(planted);
    for (;;) {
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        sink = static_cast<std::uint64_t>(now.tv_nsec);
    }
}

// In the kernel most of the time, on the CPU.
DEEP_FUNCTION void deep_read_zero(Planted& planted) {
    note_base(planted);
    const int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    std::vector<char> buffer(1U << 20);
    for (;;) sink = static_cast<std::uint64_t>(read(file, buffer.data(), buffer.size()));
}

DEEP_FUNCTION void deep_touch(Planted& planted) {
    note_base(planted);
    constexpr std::size_t size = 4U << 20;
    auto* memory = static_cast<volatile char*>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (;;) {
        for (std::size_t at = 0; at < size; at += 4096) memory[at] = 1;
        madvise(const_cast<char*>(memory), size, MADV_DONTNEED);
    }
}

// Nodes that call each other by virtual functions, 20 to 100 deep.
namespace {

struct Node {
    virtual ~Node() = default;
    virtual int visit(int depth) = 0;
    Node* next[2] = {};
};

struct Branch : Node {
    int visit(int depth) override __asm__("deep_visit_branch");
};

struct Leaf : Node {
    int visit(int depth) override __asm__("deep_visit_leaf");
};

}  // namespace

__attribute__((noinline)) int Branch::visit(int depth) {
    char room[96];
    asm volatile("" ::"r"(room) : "memory");
    const int below = next[depth & 1]->visit(depth - 1);
    return below + room[0] * 0;
}

__attribute__((noinline)) int Leaf::visit(int depth) {
    if (depth <= 0) {
        deep_spin(300);
        return 1;
    }
    const int below = next[depth % 3 == 0]->visit(depth - 1);
    DEEP_STAY();
    return below + 1;
}

DEEP_FUNCTION void deep_visit(Planted& planted) {
    note_base(planted);
    std::unique_ptr<Node> branch(new Branch), leaf(new Leaf);
    branch->next[0] = leaf->next[0] = leaf.get();
    branch->next[1] = leaf->next[1] = branch.get();
    std::uint32_t state = 1;
    for (;;)
        sink = static_cast<std::uint64_t>(
            leaf->visit(static_cast<int>(2 * (next_random(state) % 40))));
}

// ---- the library that the program is linked with ----

DEEP_FUNCTION void deep_plt_loop(Planted& planted) {
    note_base(planted);
    for (;;) deep_linked_tiny(1);
}

DEEP_FUNCTION void deep_linked_loop(Planted& planted) {
    note_base(planted);
    for (;;) deep_linked_enter(12, 2000);
}

// ---- code whose only unwind information is .debug_frame ----

DEEP_FUNCTION void deep_debug_frame_loop(Planted& planted) {
    note_base(planted);
    for (;;) deep_frames_enter(12, 2000);
}

// ---- libraries opened at run time ----
#ifdef DEEP_CAN_OPEN
namespace {

using Enter = void (*)(int frames, int rounds);

struct Opened {
    void* handle;
    Enter enter;
};

// Beside the program; its folder may be a different one in another mount namespace.
Opened open_library(const char* name, const char* function) {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
    if (length <= 0) std::abort();
    path[length] = 0;
    std::strcpy(std::strrchr(path, '/') + 1, name);
    void* handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) std::abort();
    Enter enter = nullptr;
    void* found = dlsym(handle, function);
    std::memcpy(&enter, &found, sizeof(enter));
    return {handle, enter};
}

}  // namespace

DEEP_FUNCTION void deep_opened(Planted& planted) {
    note_base(planted);
    const Opened library = open_library("libdeep_one.so", "deep_one_enter");
    for (;;) library.enter(12, 2000);
}

// Two libraries alternately, usually at the same address.
DEEP_FUNCTION void deep_reopened(Planted& planted) {
    note_base(planted);
    for (int round = 0;; ++round) {
        const bool first = round % 2 == 0;
        const Opened library = first ? open_library("libdeep_two.so", "deep_two_enter")
                                     : open_library("libdeep_three.so", "deep_three_enter");
        timespec begun{}, now{};
        clock_gettime(CLOCK_MONOTONIC, &begun);
        do {
            library.enter(12, 2000);
            clock_gettime(CLOCK_MONOTONIC, &now);
        } while ((now.tv_sec - begun.tv_sec) * 1'000'000'000LL + now.tv_nsec - begun.tv_nsec <
                 100'000'000);
        dlclose(library.handle);
    }
}
#endif

namespace deep {

std::vector<Planted*> library_scenarios() {
    static Planted all[] = {
        {"qsort", "deep_qsort( lib| plt)*( deep_compare( deep_below){0,5}( deep_spin)?)?",
         "deep_climb", deep_climb, 20, deep_qsort},
        {"std_sort", "deep_sort( lib| plt)*( deep_less( deep_below){0,5}( deep_spin)?)?",
         "deep_climb", deep_climb, 20, deep_sort},
        {"malloc_free", "deep_malloc( lib| plt)*", "deep_climb_saved deep_many", deep_climb_saved,
         15, deep_malloc},
        {"memcpy", "deep_copy( lib| plt)*", "deep_climb", deep_climb, 25, deep_copy},
        {"vdso", "deep_clock( lib| plt)*( vdso)*", "deep_climb", deep_climb, 25, deep_clock},
        {"read_in_kernel", "deep_read_zero( lib| plt)*", "deep_climb", deep_climb, 25,
         deep_read_zero},
        {"page_faults", "deep_touch( lib| plt)*", "deep_climb", deep_climb, 25, deep_touch},
        {"virtual_calls", "deep_visit( deep_visit_(branch|leaf)){0,100}( deep_spin)?", "deep_climb",
         deep_climb, 10, deep_visit},
        {"plt", "deep_plt_loop( plt)?( deep_linked_tiny)?", "deep_climb", deep_climb, 25,
         deep_plt_loop},
        {"linked_library",
         "deep_linked_loop( plt)?( deep_linked_enter( deep_linked_climb){0,12}( deep_linked_spin| "
         "plt)?)?",
         "deep_climb", deep_climb, 20, deep_linked_loop},
        {"debug_frame",
         "deep_debug_frame_loop( plt)?( deep_frames_enter( deep_frames_climb){0,12}( "
         "deep_frames_spin| plt)?)?",
         "deep_climb", deep_climb, 20, deep_debug_frame_loop},
#ifdef DEEP_CAN_OPEN
        {"opened_library",
         "deep_opened( deep_one_enter( deep_one_climb){0,12}( deep_one_spin| plt)?)?", "deep_climb",
         deep_climb, 20, deep_opened},
        {"reopened_libraries",
         "deep_reopened( lib| plt)*( vdso)*( deep_two_enter( deep_two_climb){0,12}( deep_two_spin| "
         "plt)?"
         "| deep_three_enter( deep_three_climb){0,12}( deep_three_spin| plt)?)?",
         "deep_climb", deep_climb, 20, deep_reopened},
#endif
    };
    std::vector<Planted*> list;
    for (Planted& planted : all) list.push_back(&planted);
    return list;
}

}  // namespace deep
