// The programs and libraries that a settings file names, each opened once. Used by the checks of this folder.
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

    // The file that holds the marker. nullptr: it cannot be read, which is said.
    [[nodiscard]] const binaries::ProgramFile* open(const MarkerSource& source);
    // Says why the marker's file cannot be used: once for each place that names it, however many markers inherit it.
    void refuse(const MarkerSource& source, const Error& error);

  private:
    Diagnostics& diagnostics_;
    std::map<std::string, Result<binaries::ProgramFile>> files_;
    std::set<std::pair<Place, std::string>> refused_;
};

}  // namespace lagtrap::settings
