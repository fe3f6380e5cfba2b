// The address of a store, as an operator gives it: on the command line, which every user of the
// machine can read (ps), or in a file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap::server {

// Converts "sqlite:PATH", "postgresql://..." or "postgres://..." for open_store().
// ErrorKind::Invalid for anything else; the error does not show the address.
[[nodiscard]] Result<std::string> parse_store_address(const std::string& address);

// Whether the argument of open_store() is a URI of PostgreSQL, not the path of a file.
[[nodiscard]] bool is_postgres_address(std::string_view where);

// Whether a PostgreSQL address contains a password that libpq would use: before the host or as a
// parameter.
[[nodiscard]] bool has_password(const std::string& address);

// The address in a file with one line. ErrorKind::Denied if every user may read the file, Invalid
// if it contains anything else; NotFound.
[[nodiscard]] Result<std::string> read_store_file(const std::filesystem::path& path);

}  // namespace lagtrap::server
