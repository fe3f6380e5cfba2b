// Reads bundles as rows.
#pragma once

#include <string>

#include "server/store/bundle_store.hpp"
#include "server/store/connection.hpp"

namespace lagtrap::server {

// "SELECT ..." of a bundle's columns.
extern const std::string bundle_columns;
// Reads a row of a SELECT of bundle_columns.
[[nodiscard]] BundleRow read_bundle_row(const Rows& rows);

}  // namespace lagtrap::server
