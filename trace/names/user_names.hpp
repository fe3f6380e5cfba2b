// Names of the machine's users, of its /etc/passwd.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>

#include "sandbox/machine_root.hpp"

namespace lagtrap::trace {

// One thread's. Reads nothing before it is asked, and then once.
class UserNames {
  public:
    // `machine`: where the machine's files are found.
    explicit UserNames(std::filesystem::path machine = machine_root()) : machine_(std::move(machine)) {}

    // "postgres"; "999" where the file names no such user. Of several names the first.
    [[nodiscard]] std::string name_of(std::uint32_t uid);

  private:
    void load();

    std::filesystem::path machine_;
    std::optional<std::unordered_map<std::uint32_t, std::string>> names_;  // once it was looked for
};

}  // namespace lagtrap::trace
