// Shows the lines of an object trace as they arrive, on the terminal or in a file.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "calls/object_summary.hpp"
#include "cli/console/console.hpp"
#include "cli/objects/objects_options.hpp"
#include "cli/objects/objects_text.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

// Everything passed in must outlive it. Not thread-safe.
class ObjectsShow {
  public:
    // Calls longer than `marked_ns` are marked.
    ObjectsShow(const ObjectsOptions& options, Console& console, std::uint64_t marked_ns);

    // Creates the output file, if lines go to one; fails if that is impossible.
    [[nodiscard]] Status prepare();
    // Shows the next line. Fails if it is not a line of an object trace, or if the file cannot be
    // written.
    [[nodiscard]] Status show(const std::string& line);
    [[nodiscard]] bool ended() const { return summary_.ended().has_value(); }
    // For a watch that continues elsewhere: shows the results so far.
    void show_so_far();

  private:
    const ObjectsOptions& options_;
    Console& console_;
    ObjectsLook look_;
    std::ofstream record_;
    calls::ObjectsSummary summary_;
};

}  // namespace lagtrap::cli
