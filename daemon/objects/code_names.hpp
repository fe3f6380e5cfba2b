// Names places in the code of a process.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "binaries/elf/program_file.hpp"
#include "daemon/processes/process_files.hpp"

namespace lagtrap::daemon {

class CodeNames {
  public:
    // `code` must outlive it.
    explicit CodeNames(ProcessFiles& code) : code_(code) {}
    // Function and file at an address in the process: "load_page (shop)"; empty if unknown.
    [[nodiscard]] std::string name_of(std::uint64_t address);

  private:
    [[nodiscard]] std::string name_in(std::uint32_t file, std::uint64_t offset);

    ProcessFiles& code_;
    std::map<std::uint32_t, std::vector<binaries::Function>> symbols_;  // by file
};

}  // namespace lagtrap::daemon
