#include "core/timed_call.hpp"

#include <atomic>
#include <system_error>
#include <thread>

namespace lagtrap {
namespace {

std::atomic<unsigned> calls_on_their_way{0};

}  // namespace

bool run_apart(std::function<void()> action) {
    if (calls_on_their_way.fetch_add(1) >= left_calls_limit) {
        calls_on_their_way.fetch_sub(1);
        return false;
    }
    try {
        std::thread([action = std::move(action)]() mutable {
            action();
            action = nullptr;  // destroy what it owns before it counts as returned
            calls_on_their_way.fetch_sub(1);
        }).detach();
    } catch (const std::system_error&) {
        calls_on_their_way.fetch_sub(1);
        return false;
    }
    return true;
}

}  // namespace lagtrap
