// The first pass of a merge: collects everything that must be known before the first packet is
// written.
#pragma once

#include "core/result.hpp"
#include "trace/merge/capture_contents.hpp"

namespace lagtrap::trace {

class CaptureLoader {
  public:
    explicit CaptureLoader(CaptureContents& contents) : contents_(contents) {}
    // Fills in the contents.
    [[nodiscard]] Status load();

  private:
    [[nodiscard]] Status load_user_log();
    [[nodiscard]] Status walk_copies();
    [[nodiscard]] Status load_kernel_log();
    [[nodiscard]] Status load_threads();

    CaptureContents& contents_;
};

}  // namespace lagtrap::trace
