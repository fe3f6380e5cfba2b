#include "daemon/control/control_request.hpp"

#include <utility>

#include <boost/json/parse.hpp>

namespace lagtrap::daemon {

Result<boost::json::object> parse_control_request(std::string_view line) {
    boost::json::error_code failure;
    boost::json::parse_options options;
    options.max_depth = 8;
    boost::json::value request = boost::json::parse(line, failure, {}, options);
    if (failure || !request.is_object())
        return make_error(ErrorKind::Invalid, "the request is not a JSON object");
    return std::move(request.as_object());
}

}  // namespace lagtrap::daemon
