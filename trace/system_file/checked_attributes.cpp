#include "trace/system_file/checked_attributes.hpp"

#include "core/text.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace {

void CheckedAttributes::text(const char* name, std::string& into) {
    const char* value = find(name);
    if (value == nullptr) return;
    into = printable(value);
    if (into.size() > text_limit_bytes)
        fail(name, into.substr(0, 40),
             "a text of at most " + std::to_string(text_limit_bytes) + " bytes");
}

void CheckedAttributes::flag(const char* name, bool& into) {
    const char* value = find(name);
    if (value == nullptr) return;
    const std::string_view found(value);
    into = found == "true";
    if (!into && found != "false") fail(name, value, "true or false");
}

void CheckedAttributes::hexadecimal(const char* name, std::size_t digits_limit, std::string& into) {
    text(name, into);
    if (into.size() > digits_limit ||
        into.find_first_not_of("0123456789abcdef") != std::string::npos)
        fail(name, into,
             "at most " + std::to_string(digits_limit) + " lower-case hexadecimal digits");
}

void CheckedAttributes::hexadecimal_if_there(const char* name, std::size_t digits,
                                             std::string& into) {
    if (!has(name)) return;
    hexadecimal(name, digits, into);
    if (into.size() != digits)
        fail(name, into, std::to_string(digits) + " lower-case hexadecimal digits");
}

void CheckedAttributes::fail(const char* name, std::string_view found, const std::string& allowed) {
    if (error_) return;
    error_ = make_error(ErrorKind::Invalid, std::string("system file: ") + node_.name() + " has " +
                                                name + "=\"" + printable(found.substr(0, 80)) +
                                                "\"; allowed is " + allowed);
}

const char* CheckedAttributes::find(const char* name) {
    if (error_) return nullptr;
    const pugi::xml_attribute attribute = node_.attribute(name);
    if (attribute) return attribute.value();
    error_ = make_error(ErrorKind::Invalid,
                        std::string("system file: ") + node_.name() + " has no \"" + name + "\"");
    return nullptr;
}

}  // namespace lagtrap::trace
