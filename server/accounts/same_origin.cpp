#include "server/accounts/same_origin.hpp"

namespace lagtrap::server {

bool is_same_origin(const RequestOrigin& request, NoOrigin without) {
    if (!request.fetch_site.empty())
        return request.fetch_site == "same-origin" || request.fetch_site == "none";
    if (request.origin.empty()) return without == NoOrigin::Allow;
    const std::size_t scheme = request.origin.find("://");
    if (scheme == std::string_view::npos || request.host.empty()) return false;
    return request.origin.substr(scheme + 3) == request.host;
}

}  // namespace lagtrap::server
