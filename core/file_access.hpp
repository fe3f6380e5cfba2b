// Decides who opens this process's files. Most processes open them directly. A sandboxed one asks
// its parent to open them (file_broker.hpp), and the code that reads files does not notice.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap {

class FileAccess {
  public:
    virtual ~FileAccess() = default;
    [[nodiscard]] virtual Result<UniqueFd> open(const std::filesystem::path& path, int flags,
                                                unsigned mode) = 0;
    // Like mkostemp(), but with mode 0640. Replaces the X at the end of `name` to make it unique.
    [[nodiscard]] virtual Result<UniqueFd> make_temporary(std::string& name) = 0;
    [[nodiscard]] virtual Status rename(const std::filesystem::path& from,
                                        const std::filesystem::path& to) = 0;
    virtual void remove(const std::filesystem::path& path) = 0;
};

// From now on, `access` opens this process's files. It must outlive all uses. Call before starting
// threads.
void use_file_access(FileAccess* access);
[[nodiscard]] FileAccess* file_access();  // nullptr if the process opens files itself

}  // namespace lagtrap
