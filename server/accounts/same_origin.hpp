// Protection against cross-site request forgery.
#pragma once

#include <string_view>

namespace lagtrap::server {

// A browser's statement of where a request comes from. Fields are empty if the header is missing.
struct RequestOrigin {
    std::string_view fetch_site;  // Sec-Fetch-Site
    std::string_view origin;      // Origin
    std::string_view host;        // Host
};

enum class NoOrigin { Refuse, Allow };

// For methods that change something. Sec-Fetch-Site decides if it is present; otherwise the host of
// Origin must equal Host. If both are missing (current browsers send at least one), `without`
// decides: pass Allow only if the request is not authenticated by a cookie. Follows Go's
// http.CrossOriginProtection.
[[nodiscard]] bool is_same_origin(const RequestOrigin& request, NoOrigin without);

}  // namespace lagtrap::server
