// The pages and the description of the API, as they are for the server's base path.
#pragma once

#include <string>

#include "server/api/base_path.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"

namespace lagtrap::server {

// Immutable.
class PageFiles {
  public:
    explicit PageFiles(const BasePath& base);

    // The file of a path, or the page for every address of a page.
    [[nodiscard]] Reply find(const Route& route, const Request& request) const;
    [[nodiscard]] Reply api_description() const;

  private:
    std::string index_;  // with its base path; empty: as it was built
    std::string index_tag_;
    std::string description_;
};

}  // namespace lagtrap::server
