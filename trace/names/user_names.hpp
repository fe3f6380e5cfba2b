// Names of the machine's users, from its /etc/passwd.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>

#include "sandbox/machine_root.hpp"

namespace lagtrap::trace {

// Reads the file once, at the first query. Not thread-safe.
class UserNames {
  public:
    // `machine` is the root folder for the machine's files.
    explicit UserNames(std::filesystem::path machine = machine_root())
        : machine_(std::move(machine)) {}

    // "postgres", or "999" if the file does not list the user. If a user has several names, the
    // first.
    [[nodiscard]] std::string name_of(std::uint32_t uid);

  private:
    void load();

    std::filesystem::path machine_;
    std::optional<std::unordered_map<std::uint32_t, std::string>> names_;  // nullopt until loaded
};

}  // namespace lagtrap::trace
