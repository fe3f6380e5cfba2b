// Lists the delays of a capture in its system file.
#pragma once

#include <cstdint>
#include <set>

#include "trace/merge/capture_contents.hpp"
#include "trace/merge/run_writer.hpp"
#include "trace/names/package_versions.hpp"
#include "trace/names/user_names.hpp"
#include "trace/processes/thread_table.hpp"

namespace lagtrap::trace {

class DelayList {
  public:
    explicit DelayList(CaptureContents& contents)
        : contents_(contents),
          packages_(contents.options.symbols.machine),
          users_(contents.options.symbols.machine) {}

    // Adds a run that is a delay, or counts it if there are too many. `threads` as of its begin.
    void add(const lagtrap_run& run, const RunFacts& facts, const ThreadTable& threads);
    // Those of the listed delays.
    [[nodiscard]] const std::set<std::uint32_t>& processes() const { return processes_; }

  private:
    CaptureContents& contents_;
    std::set<std::uint32_t> processes_;
    PackageVersions packages_;
    UserNames users_;
};

}  // namespace lagtrap::trace
