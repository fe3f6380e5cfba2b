#include "server/store/store_address.hpp"

#include <fcntl.h>
#include <libpq-fe.h>
#include <sys/stat.h>

#include <memory>
#include <string_view>

#include "core/files.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint64_t file_limit_bytes = 4096;
constexpr const char* expected = "expected sqlite:PATH or postgresql://...";

struct FreeOptions {
    void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

}  // namespace

bool is_postgres_address(std::string_view where) {
    return where.starts_with("postgresql://") || where.starts_with("postgres://");
}

Result<std::string> parse_store_address(const std::string& address) {
    if (is_postgres_address(address)) return address;
    constexpr std::string_view sqlite = "sqlite:";
    if (address.starts_with(sqlite) && address.size() > sqlite.size())
        return address.substr(sqlite.size());
    return make_error(ErrorKind::Invalid, expected);
}

bool has_password(const std::string& address) {
    const std::unique_ptr<PQconninfoOption, FreeOptions> options(
        PQconninfoParse(address.c_str(), nullptr));
    if (!options) return false;
    for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
        const std::string_view name = option->keyword;
        if ((name == "password" || name == "sslpassword") && option->val != nullptr &&
            *option->val != '\0')
            return true;
    }
    return false;
}

Result<std::string> read_store_file(const std::filesystem::path& path) {
    TRY_ASSIGN(const UniqueFd fd, open_file(path, O_RDONLY));
    struct stat facts {};
    if (::fstat(fd.get(), &facts) != 0) return system_error(path.string());
    if ((facts.st_mode & 0007) != 0)
        return make_error(ErrorKind::Denied,
                          path.string() + ": every user may use this address; chmod o= it");
    auto content = read_all(fd.get(), file_limit_bytes);
    if (!content) return content.error().within(path.string());
    while (content->ends_with('\n') || content->ends_with('\r')) content->pop_back();
    if (content->find('\n') != std::string::npos)
        return make_error(ErrorKind::Invalid, path.string() + ": more than one line; " + expected);
    auto address = parse_store_address(*content);
    if (!address) return address.error().within(path.string());
    return address;
}

}  // namespace lagtrap::server
