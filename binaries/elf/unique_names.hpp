// The names by which a function of a file is found alone.
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
    // `functions`: all of the file. Demangles each of them twice.
    explicit UniqueNames(const std::vector<Function>& functions);

    // By which ProgramFile::find_functions() finds this function and no other: the demangled name, else its symbol.
    // nullopt: each of its names is another function's too.
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
