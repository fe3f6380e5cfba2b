// How the store keeps the attributes of requests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/store/delay_store.hpp"

namespace lagtrap::server {

// One line per attribute, with a tab behind its name. Names and values become stored_text(), so
// they contain neither.
[[nodiscard]] std::string text_of_attributes(const std::vector<EdgeAttribute>& attributes);
// What text_of_attributes() made. Lines without a tab are skipped.
[[nodiscard]] std::vector<EdgeAttribute> attributes_of_text(std::string_view text);

// The value of the first attribute of that name; empty if there is none.
[[nodiscard]] std::string attribute_value(const std::vector<EdgeAttribute>& attributes,
                                          std::string_view name);

}  // namespace lagtrap::server
