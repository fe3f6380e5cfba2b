// Mapped files as the kernel's events describe them, each kept once while a piece uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "bpf/records.h"
#include "daemon/processes/code_pieces.hpp"

namespace lagtrap::daemon {

// Not thread-safe.
class ReportedFiles {
  public:
    [[nodiscard]] std::shared_ptr<const ReportedFile> file_of(const lagtrap_mapping& mapping);

  private:
    using Description = std::tuple<std::uint64_t, std::uint64_t, std::string, std::string>;
    std::map<Description, std::weak_ptr<const ReportedFile>> files_;
    std::size_t swept_ = 0;  // files after the last sweep
};

}  // namespace lagtrap::daemon
