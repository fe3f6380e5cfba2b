// Opens the programs and libraries that a settings file names, each once. Internal to settings/.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "binaries/elf/program_file.hpp"
#include "settings/build.hpp"
#include "settings/diagnostics.hpp"

namespace lagtrap::settings {

class CheckedFiles {
  public:
    explicit CheckedFiles(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

    // Opens the file that holds the marker. If it cannot be read, reports that and returns nullptr.
    [[nodiscard]] const binaries::ProgramFile* open(const MarkerSource& source);
    // Reports why the marker's file cannot be used: once for each place that names the file, even
    // if several markers inherit it.
    void refuse(const MarkerSource& source, const Error& error);

  private:
    Diagnostics& diagnostics_;
    std::map<std::string, Result<binaries::ProgramFile>> files_;
    std::set<std::pair<Place, std::string>> refused_;
};

}  // namespace lagtrap::settings
