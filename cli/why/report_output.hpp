// Where `lagtrap why` writes its report.
#pragma once

#include <ostream>
#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::cli {

// The file of --output, or else a stream of the console.
class ReportOutput {
  public:
    // Opens the file, so that a bad name is known before anything is recorded.
    [[nodiscard]] Status open(const std::string& file);
    [[nodiscard]] bool is_file() const { return file_.valid(); }
    // To the file if there is one, otherwise to the stream.
    [[nodiscard]] Status write(const std::string& text, std::ostream& stream) const;

  private:
    UniqueFd file_;
};

}  // namespace lagtrap::cli
