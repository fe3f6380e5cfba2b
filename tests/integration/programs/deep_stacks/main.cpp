// deep_stacks [--only NAME,...]: starts the planted threads, prints "ready" and one line of JSON
// that describes them, and ends when its standard input does.
// deep_stacks --exec ROUNDS OTHER: works on a deep stack for a while, then executes OTHER in the
// same process, which in turn executes this one.
// deep_stacks --stand FRAMES: prints "ready" and loops on a stack of this many frames until it is
// killed.
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "deep_stacks.hpp"

using deep::Planted;

namespace {

struct Noting {
    Planted* planted;
    int skip;
    int count;
};

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* argument) {
    auto& noting = *static_cast<Noting*>(argument);
    const auto address = _Unwind_GetIP(context);
    if (address == 0 || noting.count == deep::max_frames) return _URC_END_OF_STACK;
    if (noting.skip > 0)
        --noting.skip;
    else
        noting.planted->base[noting.count++] = reinterpret_cast<void*>(address);
    return _URC_NO_REASON;
}

std::vector<Planted*> scenarios;

bool wanted(const Planted& planted, const std::string& only) {
    return only.empty() ||
           ("," + only + ",").find("," + std::string(planted.name) + ",") != std::string::npos;
}

std::string as_json(const Planted& planted) {
    std::string inner;
    for (const char* letter = planted.inner; *letter != 0; ++letter)
        inner += *letter == '\\' ? "\\\\" : std::string(1, *letter);
    std::string climb;
    for (const char* letter = planted.climb_name; *letter != 0; ++letter)
        climb += *letter == '\\' ? "\\\\" : std::string(1, *letter);
    std::string text = std::string("{\"name\":\"") + planted.name + "\",\"inner\":\"" + inner +
                       "\",\"climb\":\"" + climb + "\",\"outer\":\"" + planted.outer +
                       "\",\"frames\":" + std::to_string(planted.frames) +
                       ",\"pid\":" + std::to_string(planted.pid) +
                       ",\"tid\":" + std::to_string(planted.tid) + ",\"base\":[";
    for (int i = 0; i < planted.base_count; ++i)
        text +=
            (i == 0 ? "" : ",") + std::to_string(reinterpret_cast<unsigned long>(planted.base[i]));
    return text + "]}";
}

void say(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

}  // namespace

__attribute__((noinline)) void deep::note_base(Planted& planted) {
    planted.pid = getpid();
    planted.tid = static_cast<pid_t>(syscall(SYS_gettid));
    // neither this function's frame nor its caller's, which is still working
    Noting noting{&planted, 2, 0};
    _Unwind_Backtrace(note_frame, &noting);
    planted.base_count = noting.count;
    planted.ready = true;
}

DEEP_FUNCTION void* deep_thread(void* argument) {
    auto& planted = *static_cast<Planted*>(argument);
    planted.climb(planted.frames, planted);
    DEEP_STAY();
    return nullptr;
}

void deep::start(Planted& planted) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (planted.own_stack != nullptr)
        pthread_attr_setstack(&attributes, planted.own_stack, own_stack_bytes);
    pthread_t thread{};
    if (pthread_create(&thread, &attributes, deep_thread, &planted) != 0) std::abort();
    pthread_attr_destroy(&attributes);
    while (!planted.ready) usleep(1000);
}

DEEP_FUNCTION void deep_main(Planted& planted) {
    note_base(planted);
    std::string list = as_json(planted);
    for (Planted* other : scenarios) {
        if (std::strcmp(other->name, "forked_by_main") == 0)
            deep::start_in_child(*other);
        else if (std::strcmp(other->name, "forked_by_thread") != 0)
            deep::start(*other);
    }
    for (Planted* other : scenarios) list += "," + as_json(*other);
    say("ready\n[" + list + "]\n");
    char letter = 0;
    while (read(STDIN_FILENO, &letter, 1) == 1) continue;
    _exit(0);
}

namespace {

int exec_rounds;
const char* exec_other;

long now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000L + now.tv_nsec;
}

}  // namespace

DEEP_FUNCTION void deep_exec(Planted&) {
    const long end_ns = now_ns() + 100'000'000;
    while (now_ns() < end_ns) deep_spin(1000);
    if (exec_rounds <= 0) _exit(0);
    char self[4096] = {};
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0) std::abort();
    execl(exec_other, exec_other, "--exec", std::to_string(exec_rounds - 1).c_str(), self, nullptr);
    std::abort();
}

DEEP_FUNCTION void deep_stand_forever(Planted&) {
    say("ready\n");
    for (;;) asm volatile("" ::: "memory");
}

int main(int argc, char** argv) {
    alignas(64) volatile unsigned long locals[8] = {};
    static Planted planted = {
        "main",    "deep_main( lib| plt)*", "deep_climb_aligned", deep_climb_aligned, 10,
        deep_main, "( lib){1,3} main"};
    locals[0] = 1;
    const std::string mode = argc > 2 ? argv[1] : "";
    if (mode == "--exec" && argc > 3) {
        exec_rounds = std::atoi(argv[2]);
        exec_other = argv[3];
        planted.climb = deep_climb;
        planted.frames = 20;
        planted.work = deep_exec;
        planted.climb(planted.frames, planted);
        return static_cast<int>(locals[1]);
    }
    if (mode == "--stand") {
        // main and its callers are four frames, the loop is one.
        planted.work = deep_stand_forever;
        deep_climb(std::atoi(argv[2]) - 5, planted);
        return static_cast<int>(locals[1]);
    }
    const std::string only = mode == "--only" ? argv[2] : "";
    Planted* child = deep::shared_planted();
    child->name = "forked_by_main";
    child->inner = "deep_loop( deep_spin)?";
    child->climb_name = "deep_climb_alloca";
    child->climb = deep_climb_alloca;
    child->frames = 25;
    child->work = deep_loop;
    child->outer =
        "( lib){1,3} main( deep_climb_aligned){10} deep_main( lib| plt)* deep_start_in_child "
        "deep_in_child";
    scenarios.push_back(child);
    // Scenarios that fork come first: a forked child may find the unwinder's locks held if other
    // threads are unwinding.
    for (auto* const make :
         {deep::process_scenarios, deep::frame_scenarios, deep::library_scenarios,
          deep::blocked_scenarios, deep::signal_scenarios})
        for (Planted* each : make()) scenarios.push_back(each);
    std::erase_if(scenarios, [&](const Planted* each) { return !wanted(*each, only); });
    planted.climb(planted.frames, planted);
    return static_cast<int>(locals[1]);
}
