// Lines of a watch of objects, as they come, on the terminal or in a file.
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

// What it is given outlives it. Not for several threads at once.
class ObjectsShow {
  public:
    // Calls over `marked_ns` are marked.
    ObjectsShow(const ObjectsOptions& options, Console& console, std::uint64_t marked_ns);

    // Where lines go to a file. Errors: it cannot be made.
    [[nodiscard]] Status prepare();
    // The next line. Errors: it is none of such a watch, or the file cannot be written.
    [[nodiscard]] Status show(const std::string& line);
    [[nodiscard]] bool ended() const { return summary_.ended().has_value(); }
    // Of a watch that goes on elsewhere: what came until now.
    void show_so_far();

  private:
    const ObjectsOptions& options_;
    Console& console_;
    ObjectsLook look_;
    std::ofstream record_;
    calls::ObjectsSummary summary_;
};

}  // namespace lagtrap::cli
