// The merge of a capture reads what processes of other users wrote: programs, debug files, maps of JIT code.
// So it is done by a process without any privileges, which can open no file; its parent opens those that a merge needs,
// and looks at nothing in them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/result.hpp"

namespace lagtrap::trace {

enum class Programs { Opened, LeftAlone };

// Calls `merge` in a child that has given up everything, with a broker for the files of this capture and its bundle
// (session `session_id`), for the programs that the capture names and their debug files (ELF) unless they are left alone, and for what the machine says of itself. The child's exit
// status, which is what `merge` returns; where a signal ended it, it ends this process too. One thread; nothing was
// read yet that did not come from the daemon. Errors: no child could be made, or it could not be confined.
[[nodiscard]] Result<int> merge_confined(const std::filesystem::path& capture, const std::filesystem::path& output,
                                         const std::string& session_id, Programs programs,
                                         const std::function<int()>& merge);

}  // namespace lagtrap::trace
