// Who opens the files of this process. Most processes do it themselves; one that may not open any has it done by the
// process that started it (file_broker.hpp), and the code that reads files needs not know.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap {

class FileAccess {
  public:
    virtual ~FileAccess() = default;
    [[nodiscard]] virtual Result<UniqueFd> open(const std::filesystem::path& path, int flags, unsigned mode) = 0;
    // As mkostemp(), with mode 0640: the X at the end of `name` become what nobody has.
    [[nodiscard]] virtual Result<UniqueFd> make_temporary(std::string& name) = 0;
    [[nodiscard]] virtual Status rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
    virtual void remove(const std::filesystem::path& path) = 0;
};

// From now on this process's files are opened by `access`, which outlives all of it. Before there are threads.
void use_file_access(FileAccess* access);
[[nodiscard]] FileAccess* file_access();  // nullptr: the process opens them itself

}  // namespace lagtrap
