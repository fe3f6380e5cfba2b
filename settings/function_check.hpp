// Checks that functions exist and that the daemon can probe them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "binaries/code/function_places.hpp"
#include "settings/checked_files.hpp"

namespace lagtrap::settings {

// Looks up all functions of a file in one pass: call expect() for each marker first, then check().
class FunctionCheck {
  public:
    FunctionCheck(CheckedFiles& files, Diagnostics& diagnostics)
        : files_(files), diagnostics_(diagnostics) {}

    void expect(const MarkerSource& source);
    // `source` must have been passed to expect() before.
    void check(const MarkerSource& source);

  private:
    // a function's name, and whether its return is meant
    using Query = std::pair<std::string, bool>;
    using Places = Result<binaries::FunctionPlaces>;
    struct Asked {
        std::map<Query, std::size_t> numbers;  // index into `queries`
        std::vector<binaries::FunctionQuery> queries;
        std::optional<Result<std::vector<Places>>> answers;
    };
    void ask_for(const std::string& binary, const std::string& name, bool at_return);
    void report_missing(const MarkerSource& source, const binaries::ProgramFile& file);
    void report_ambiguous(const MarkerSource& source,
                          const std::vector<binaries::Function>& functions);
    void report_unwatched(const MarkerSource& source, const binaries::ProgramFile& file,
                          const Error& error);

    CheckedFiles& files_;
    Diagnostics& diagnostics_;
    std::map<std::string, Asked> asked_;  // by file
    std::size_t missing_ = 0;             // functions not found in their file
};

}  // namespace lagtrap::settings
