// Makes runs as fast as the machine can: T threads begin and end event "tick" in a loop.
//
//     burst --threads 2 --seconds 10        or        burst --threads 2 --pairs 1000000 (in all)
//
// --event selects "tick" or "tock", whose markers carry a key. --wait prints "ready" and waits for
// a line of input. The program ends with one line of JSON: the number of begin-end pairs, in total
// and per second.
#include <lagtrap.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "examples/program_input.hpp"

namespace {

// Pairs that a thread makes before it reads the clock again.
constexpr std::uint64_t round_pairs = 1024;

struct Share {
    std::uint64_t pairs = 0;  // 0: run until end_ns
    std::uint64_t end_ns = 0;
    std::uint64_t first_key = 0;
};

template <typename Pair>
std::uint64_t make_pairs(const Share& share, Pair pair) {
    std::uint64_t made = 0;
    for (;;) {
        const std::uint64_t round =
            share.pairs == 0 ? round_pairs : std::min(round_pairs, share.pairs - made);
        for (std::uint64_t index = 0; index < round; ++index) pair(share.first_key + made + index);
        made += round;
        if (share.pairs != 0 ? made == share.pairs : lagtrap_now_ns() >= share.end_ns) return made;
    }
}

std::uint64_t make_ticks(const Share& share) {
    return make_pairs(share, [](std::uint64_t) {
        LAGTRAP_BEGIN("tick");
        LAGTRAP_END("tick");
    });
}

std::uint64_t make_tocks(const Share& share) {
    return make_pairs(share, [](std::uint64_t key) {
        LAGTRAP_BEGIN_KEY("tock", key);
        LAGTRAP_END_KEY("tock", key);
    });
}

}  // namespace

int main(int count, char** arguments) {
    const examples::Options options(count, arguments,
                                    {{"--threads", "2"},
                                     {"--seconds", "10"},
                                     {"--pairs", "0"},
                                     {"--event", "tick"},
                                     {"--wait", "no"}});
    const std::uint64_t threads = options.number("--threads", 1);
    const std::uint64_t pairs = options.number("--pairs");
    const std::uint64_t seconds = options.number("--seconds", 1);
    const std::string event = options.text("--event");
    if (event != "tick" && event != "tock")
        options.stop("--event is \"" + event + "\"; expected tick or tock");
    if (pairs != 0 && pairs < threads) options.stop("--pairs is less than --threads");
    if (options.flag("--wait") && !examples::wait_for_go()) return 1;

    const std::uint64_t begin = lagtrap_now_ns();
    std::atomic<std::uint64_t> total{0};
    std::vector<std::thread> makers;
    for (std::uint64_t index = 0; index < threads; ++index) {
        Share share;
        share.pairs = pairs / threads + (index < pairs % threads ? 1 : 0);
        share.end_ns = begin + seconds * 1'000'000'000;
        share.first_key = (index + 1) << 40;  // keys are unique across threads
        makers.emplace_back([&total, share, ticks = event == "tick"] {
            total += ticks ? make_ticks(share) : make_tocks(share);
        });
    }
    for (auto& maker : makers) maker.join();
    const std::uint64_t taken_ns = lagtrap_now_ns() - begin;
    std::printf("{\"event\":\"%s\",\"pid\":%d,\"threads\":%" PRIu64 ",\"pairs\":%" PRIu64
                ",\"duration_ns\":%" PRIu64 ",\"pairs_per_second\":%.0f}\n",
                event.c_str(), static_cast<int>(::getpid()), threads, total.load(), taken_ns,
                static_cast<double>(total.load()) * 1e9 / static_cast<double>(taken_ns));
    return 0;
}
