#include "uploader/answer.hpp"

#include <boost/json.hpp>
#include <protozero/pbf_reader.hpp>

#include "core/digest.hpp"
#include "core/text.hpp"

namespace lagtrap::uploader {
namespace {

namespace json = boost::json;

// The object in `text`; null if it is not one.
json::value parse_object(std::string_view text) {
    if (text.size() > answer_limit_bytes) return nullptr;
    json::error_code error;
    json::value value = json::parse(text, error);
    return error || !value.is_object() ? json::value(nullptr) : value;
}

std::string cut(const std::string& text) {
    constexpr std::size_t longest = 200;
    return printable(std::string_view(text).substr(0, longest)).substr(0, longest);
}

}  // namespace

Result<Answer> parse_answer(std::string_view text) {
    const json::value value = parse_object(text);
    if (!value.is_object())
        return make_error(ErrorKind::Invalid, "the server's answer is not a JSON object");
    const json::object& object = value.get_object();
    const auto* digest = object.if_contains("digest");
    const auto* bytes = object.if_contains("bytes");
    const auto* stored = object.if_contains("stored");
    if (digest == nullptr || !digest->is_string() || !is_sha256_hex(digest->get_string()))
        return make_error(ErrorKind::Invalid,
                          "the server's answer has no \"digest\" of 64 hexadecimal digits");
    json::error_code error;
    const auto count = bytes == nullptr ? 0 : bytes->to_number<std::uint64_t>(error);
    if (bytes == nullptr || error)
        return make_error(ErrorKind::Invalid, "the server's answer has no number of \"bytes\"");
    if (stored == nullptr || !stored->is_string() ||
        (stored->get_string() != "new" && stored->get_string() != "already"))
        return make_error(ErrorKind::Invalid,
                          R"(the server's answer has no "stored" of "new" or "already")");
    return Answer{std::string(digest->get_string()), count, stored->get_string() == "already"};
}

std::string error_of_answer(std::string_view text) {
    const json::value value = parse_object(text);
    if (!value.is_object()) return {};
    const auto* error = value.get_object().if_contains("error");
    if (error == nullptr) return {};
    if (error->is_string()) return cut(std::string(error->get_string()));
    if (!error->is_object()) return {};
    const auto text_of = [&](const char* name) {
        const auto* part = error->get_object().if_contains(name);
        return part != nullptr && part->is_string() ? std::string(part->get_string())
                                                    : std::string();
    };
    const std::string hint = text_of("hint");
    return cut(text_of("message") + (hint.empty() ? "" : "; " + hint));
}

RefusedSpans refused_spans(std::string_view body) {
    RefusedSpans refused;
    try {
        protozero::pbf_reader answer(body.data(), body.size());
        while (answer.next(1, protozero::pbf_wire_type::length_delimited)) {
            auto partial = answer.get_message();
            while (partial.next()) {
                if (partial.tag_and_type() ==
                    protozero::tag_and_type(1, protozero::pbf_wire_type::varint))
                    refused.count = partial.get_uint64();
                else if (partial.tag_and_type() ==
                         protozero::tag_and_type(2, protozero::pbf_wire_type::length_delimited))
                    refused.message = cut(partial.get_string());
                else
                    partial.skip();
            }
        }
    } catch (const protozero::exception&) {
        return {};
    }
    return refused;
}

}  // namespace lagtrap::uploader
