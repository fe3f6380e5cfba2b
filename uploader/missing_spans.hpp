#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "spool/spool.hpp"

namespace lagtrap::uploader {

// Makes the spans of bundles that have none, and logs those that cannot be made.
class MissingSpans {
  public:
    // Adds spans to `spool` for each bundle of `ready` that has none in any folder. Call it before
    // a bundle leaves ready/. A bundle that fails is not tried again. Ends early once `keep_going`
    // (span_maker.hpp) returns false.
    [[nodiscard]] Status add(const spool::Spool& spool, const std::vector<spool::SpoolEntry>& ready,
                             const std::string& lagtrap_program,
                             const std::function<bool()>& keep_going);
    // Tries all bundles again.
    void forget_failures() { failed_.clear(); }

  private:
    std::set<std::string> failed_;  // bundles
};

}  // namespace lagtrap::uploader
