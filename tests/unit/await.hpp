// Waits for what another thread or process does.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace lagtrap {

// Until the condition holds, at most a minute. Leaves the CPU to others between its looks.
template <typename Condition>
void await(const std::string& what, const Condition& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!holds()) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << what;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace lagtrap
