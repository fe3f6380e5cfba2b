// Finds names that identify a single function of a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "binaries/elf/program_file.hpp"

namespace lagtrap::binaries {

class UniqueNames {
  public:
    // `functions` must be all functions of the file. Demangles each twice.
    explicit UniqueNames(const std::vector<Function>& functions);

    // A name by which ProgramFile::find_functions() finds only this function: the demangled name,
    // or else its symbol. nullopt if other functions have each of its names too.
    [[nodiscard]] std::optional<std::string> name_of(const Function& function) const;

  private:
    [[nodiscard]] bool is_unique(const std::string& name) const;

    struct Owner {
        std::uint64_t address = 0;
        bool alone = true;
    };
    std::unordered_map<std::string, Owner> owners_;
};

}  // namespace lagtrap::binaries
