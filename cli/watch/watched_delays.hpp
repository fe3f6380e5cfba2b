// The slow runs that `lagtrap watch` has seen: a report of each, and all of them in the end.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "cli/console/console.hpp"
#include "cli/reports/delay_list.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

class WatchedDelays {
  public:
    // `full`: whole reports. `folder`: where to keep the recordings; empty: nowhere.
    WatchedDelays(Console& console, bool full, std::filesystem::path folder)
        : console_(console), full_(full), folder_(std::move(folder)) {}

    // Makes the folder, so that a bad name is known before something is watched.
    [[nodiscard]] Status prepare() const;
    // The report of the recording at `bundle`. Keeps a copy as `name`, if they are kept.
    [[nodiscard]] Result<std::string> report(const std::filesystem::path& bundle,
                                             const std::string& name);
    // How many reports there were.
    [[nodiscard]] std::size_t reported() const { return list_.files.size(); }
    // Causes, counted, and a line for each delay if there were several; empty otherwise. Call it
    // after the last report().
    [[nodiscard]] std::string text();

  private:
    Console& console_;
    const bool full_;
    const std::filesystem::path folder_;
    DelayList list_;
};

}  // namespace lagtrap::cli
