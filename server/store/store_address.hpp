// Where a store is, as an operator says it: on the command line, which every user of a machine may read (ps), or in a file.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.hpp"

namespace lagtrap::server {

// What open_store() wants of "sqlite:PATH", "postgresql://..." or "postgres://...". ErrorKind::Invalid for anything else; the
// error does not show the address.
[[nodiscard]] Result<std::string> parse_store_address(const std::string& address);

// Whether an address of PostgreSQL has a password in it, as libpq reads it: before the host or as a parameter.
[[nodiscard]] bool has_password(const std::string& address);

// The address in a file's one line. ErrorKind::Denied where every user may read the file, ErrorKind::Invalid where it holds
// something else; NotFound.
[[nodiscard]] Result<std::string> read_store_file(const std::filesystem::path& path);

}  // namespace lagtrap::server
