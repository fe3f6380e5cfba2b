// The web pages and the API description, adapted to the server's base path and trace viewer.
#pragma once

#include <string>

#include "server/api/base_path.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"

namespace lagtrap::server {

// Serves the files. Immutable.
class PageFiles {
  public:
    // `viewer` is the address of the Perfetto UI that pages open traces in; empty: none.
    PageFiles(const BasePath& base, const std::string& viewer);

    // The file at this path; for the address of a page, the page.
    [[nodiscard]] Reply find(const Route& route, const Request& request) const;
    [[nodiscard]] Reply api_description() const;

  private:
    std::string index_;  // with base path and viewer
    std::string index_tag_;
    std::string policy_;
    std::string description_;
};

}  // namespace lagtrap::server
