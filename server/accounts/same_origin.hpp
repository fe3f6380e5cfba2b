// The guard against requests that another site makes with a signed-in user's browser.
#pragma once

#include <string_view>

namespace lagtrap::server {

// What a browser says of where a request comes from; empty: it was not said.
struct RequestOrigin {
    std::string_view fetch_site;  // Sec-Fetch-Site
    std::string_view origin;      // Origin
    std::string_view host;        // Host
};

enum class NoOrigin { Refuse, Allow };

// For methods that change something. Sec-Fetch-Site decides where it is given; else the host of Origin must be
// Host. Where neither is given (no browser of today), `without` decides: Allow only where no cookie speaks
// for the sender. The rule of Go's http.CrossOriginProtection.
[[nodiscard]] bool is_same_origin(const RequestOrigin& request, NoOrigin without);

}  // namespace lagtrap::server
