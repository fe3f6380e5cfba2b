#include "server/accounts/oidc_settings.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "core/files.hpp"
#include "core/text.hpp"
#include "server/accounts/names.hpp"

namespace lagtrap::server {
namespace {

constexpr std::string_view blanks = " \t\r";
constexpr std::size_t settings_limit_bytes = 64 * 1024;
constexpr const char* names =
    "issuer, client_id, client_secret, title, scopes, name_claim, groups_claim, ca_file, admin, "
    "uploader or reader";

std::string host_of(std::string_view url) {
    url.remove_prefix(url.find("://") + 3);
    return std::string(url.substr(0, url.find_first_of("/?#:")));
}

Status take_line(std::string_view line, OidcSettings& settings) {
    const std::size_t gap = std::min(line.find_first_of(" \t"), line.size());
    const std::string name(line.substr(0, gap));
    const std::string value(trimmed(line.substr(gap), blanks));
    if (value.empty() || printable(value) != value)
        return make_error(ErrorKind::Invalid,
                          "expected \"NAME VALUE\", where NAME is " + std::string(names));
    if (const auto role = parse_role(name)) {
        settings.roles.push_back({value, *role});
        return success();
    }
    const std::map<std::string, std::string*> places = {
        {"issuer", &settings.issuer},   {"client_id", &settings.client_id},
        {"title", &settings.title},     {"client_secret", &settings.client_secret},
        {"scopes", &settings.scopes},   {"name_claim", &settings.name_claim},
        {"ca_file", &settings.ca_file}, {"groups_claim", &settings.groups_claim}};
    const auto place = places.find(name);
    if (place == places.end())
        return make_error(ErrorKind::Invalid, "\"" + printable(name).substr(0, 64) +
                                                  "\" is not known; expected " + names);
    *place->second = value;
    return success();
}

Status check(OidcSettings& settings) {
    if (settings.issuer.empty() || settings.client_id.empty())
        return make_error(ErrorKind::Invalid, "\"issuer\" and \"client_id\" are needed");
    if (!is_safe_address(settings.issuer) ||
        settings.issuer.find_first_of("?# ") != std::string::npos)
        return make_error(ErrorKind::Invalid,
                          "\"issuer\" is " + settings.issuer +
                              "; expected an address of https, such as https://login.example");
    if (settings.roles.empty())
        return make_error(ErrorKind::Invalid,
                          "nobody may sign in; add a line such as \"reader GROUP\", or \"reader "
                          "*\" for everybody");
    if ((" " + settings.scopes + " ").find(" openid ") == std::string::npos)
        return make_error(ErrorKind::Invalid, "\"scopes\" has to name openid");
    if (settings.title.empty()) settings.title = host_of(settings.issuer);
    return success();
}

}  // namespace

std::optional<Role> OidcSettings::role_of(const std::vector<std::string>& groups) const {
    std::optional<Role> widest;
    for (const GroupRole& entry : roles)
        if (entry.group == "*" ||
            std::find(groups.begin(), groups.end(), entry.group) != groups.end())
            widest = std::max(widest.value_or(Role::Reader), entry.role);
    return widest;
}

bool is_safe_address(std::string_view url) {
    if (url.starts_with("https://")) return true;
    if (!url.starts_with("http://")) return false;
    const std::string_view rest = url.substr(7);
    if (rest.substr(0, rest.find('/')).find('@') != std::string_view::npos) return false;
    const std::string host = host_of(url);
    return host == "localhost" || host == "127.0.0.1";
}

Result<OidcSettings> read_oidc_settings(const std::filesystem::path& path) {
    TRY_ASSIGN(const UniqueFd fd, open_file(path, O_RDONLY));
    struct stat facts {};
    if (::fstat(fd.get(), &facts) != 0) return system_error(path.string());
    if ((facts.st_mode & 0007) != 0)
        return make_error(ErrorKind::Denied,
                          path.string() + ": every user may read this secret; chmod o= it");
    const auto content = read_all(fd.get(), settings_limit_bytes);
    if (!content) return content.error().within(path.string());
    OidcSettings settings;
    std::string_view rest = *content;
    for (std::size_t number = 1; !rest.empty(); ++number) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = trimmed(rest.substr(0, end), blanks);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.empty() || line.starts_with('#')) continue;
        if (const auto taken = take_line(line, settings); !taken)
            return taken.error().within(path.string() + ":" + std::to_string(number));
    }
    if (const auto whole = check(settings); !whole) return whole.error().within(path.string());
    return settings;
}

}  // namespace lagtrap::server
