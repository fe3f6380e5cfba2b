// The pages and the description of the API, as they are for the server's base path and its viewer of traces.
#pragma once

#include <string>

#include "server/api/base_path.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"

namespace lagtrap::server {

// Immutable.
class PageFiles {
  public:
    // `viewer`: address of the Perfetto UI that pages hand traces to; empty: none.
    PageFiles(const BasePath& base, const std::string& viewer);

    // The file of a path, or the page for every address of a page.
    [[nodiscard]] Reply find(const Route& route, const Request& request) const;
    [[nodiscard]] Reply api_description() const;

  private:
    std::string index_;  // with base path and viewer
    std::string index_tag_;
    std::string policy_;
    std::string description_;
};

}  // namespace lagtrap::server
