// A process that waits, for tests that look at one.
#pragma once

#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace lagtrap::daemon {

// sleep(1), until its destruction.
class Sleeper {
  public:
    Sleeper() {
        std::string name = "sleep", time = "1000";
        std::array<char*, 3> arguments{name.data(), time.data(), nullptr};
        pid_t started = 0;
        EXPECT_EQ(::posix_spawnp(&started, "sleep", nullptr, nullptr, arguments.data(), environ),
                  0);
        pid_ = static_cast<std::uint32_t>(started);
        // Until it is in the program's own code.
        const std::string state = "/proc/" + std::to_string(pid_) + "/syscall";
        for (std::string call; call != std::to_string(SYS_clock_nanosleep);)
            std::ifstream(state) >> call;
    }
    ~Sleeper() {
        ::kill(static_cast<pid_t>(pid_), SIGKILL);
        ::waitpid(static_cast<pid_t>(pid_), nullptr, 0);
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    [[nodiscard]] std::uint32_t pid() const { return pid_; }

  private:
    std::uint32_t pid_ = 0;
};

}  // namespace lagtrap::daemon
