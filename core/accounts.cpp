#include "core/accounts.hpp"

#include <grp.h>

#include <cerrno>
#include <vector>

#include "core/text.hpp"

namespace lagtrap {

Result<gid_t> find_group(const std::string& name) {
    std::vector<char> buffer(1 << 14);
    group entry{};
    group* found = nullptr;
    int failed = 0;
    // getgrnam_r() reads all members too, and their number is not limited.
    while ((failed = ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found)) ==
               ERANGE &&
           buffer.size() < (1 << 24))
        buffer.resize(buffer.size() * 4);
    if (failed != 0) return system_error("look up group " + printable(name), failed);
    if (found == nullptr)
        return make_error(ErrorKind::NotFound, "no group \"" + printable(name) + "\"");
    return found->gr_gid;
}

}  // namespace lagtrap
