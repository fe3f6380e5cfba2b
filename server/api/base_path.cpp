#include "server/api/base_path.hpp"

#include "core/text.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t base_path_limit_bytes = 200;
constexpr std::string_view part_letters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";

bool is_part(std::string_view part) {
    return !part.empty() && part != "." && part != ".." &&
           part.find_first_not_of(part_letters) == std::string_view::npos;
}

}  // namespace

Result<BasePath> BasePath::parse(std::string_view text) {
    BasePath base;
    std::string_view rest = text;
    while (rest.ends_with('/')) rest.remove_suffix(1);
    if (rest.empty()) return base;
    bool good = rest.size() <= base_path_limit_bytes && rest.starts_with('/');
    base.text_ = rest;
    while (good && !rest.empty()) {
        rest.remove_prefix(1);
        const std::size_t end = std::min(rest.find('/'), rest.size());
        good = is_part(rest.substr(0, end));
        rest.remove_prefix(end);
    }
    if (good) return base;
    return make_error(ErrorKind::Invalid,
                      "\"" + printable(text).substr(0, base_path_limit_bytes) +
                          "\" is no path; expected one such as /lagtrap, of letters, digits, dash, "
                          "underscore, dot and tilde between slashes");
}

std::optional<std::string_view> BasePath::inner(std::string_view target) const {
    if (text_.empty()) return target;
    if (target.starts_with(text_) && target.size() > text_.size() && target[text_.size()] == '/')
        return target.substr(text_.size());
    const std::string_view path = target.substr(0, target.find('?'));
    if (path == "/healthz" || path == "/metrics") return target;
    return std::nullopt;
}

bool BasePath::is_short_of(std::string_view target) const {
    return !text_.empty() && (target == "/" || target == text_);
}

}  // namespace lagtrap::server
