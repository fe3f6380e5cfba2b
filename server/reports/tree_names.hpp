// Names and texts of a CauseTree, each once. Internal to server/reports/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/run_profile.hpp"
#include "server/reports/causes.hpp"

namespace lagtrap::server::reports {

enum class NameKind : std::uint8_t {
    Function,
    // "[on CPU]", below the function that ran: a function's own time is a place of its own
    OnCpu,
    Blocked,   // "[disk]"; the other thread's functions are below it
    Runnable,  // "[waits for a CPU]"
    Unknown,   // "[not recorded]"
};

struct TreeName {
    CauseFrame frame;
    NameKind kind = NameKind::Function;
    bool of_kernel = false;  // a function of the kernel, where no function of a program called it
};

// Bounded, because machines that are not trusted may send any number of names.
class TreeNames {
  public:
    static constexpr std::size_t bytes_limit = 64 << 20;
    // A frame that has no name of its own, such as one of a run-time system.
    static constexpr std::uint32_t part_of_caller = UINT32_MAX;

    // The name's number. Beyond the limit, all new functions are "[other]".
    [[nodiscard]] std::uint32_t number_of(std::string function, std::string module, NameKind kind);
    // The number of the frame's function, or part_of_caller. nullopt: it is new, and beyond the
    // limit.
    [[nodiscard]] std::optional<std::uint32_t> number_of(const analysis::ProfileFrame& frame);
    // By number. Number 0 is that of the root, and empty.
    [[nodiscard]] const std::vector<TreeName>& all() const { return names_; }

  private:
    std::vector<TreeName> names_{TreeName{}};
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::unordered_map<std::string, std::uint32_t> of_frames_;
    std::size_t bytes_ = 0;
};

class TreeTexts {
  public:
    static constexpr std::size_t threads_limit_bytes = 16 << 20;

    [[nodiscard]] std::uint32_t number_of(const std::string& text);
    // The same for names of threads, of which there may be any number. 0 for new ones beyond the
    // limit.
    [[nodiscard]] std::uint32_t number_of_thread(const std::string& name);
    // By number. Number 0 is empty.
    [[nodiscard]] const std::vector<std::string>& all() const { return texts_; }

  private:
    std::vector<std::string> texts_{std::string()};
    std::unordered_map<std::string, std::uint32_t> numbers_{{std::string(), 0}};
    std::size_t thread_bytes_ = 0;
};

}  // namespace lagtrap::server::reports
