#include "core/function_name.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

namespace lagtrap {
namespace {

constexpr std::string_view operator_word = "operator";
// Operators that contain characters which would count as brackets; longer ones first.
constexpr std::array<std::string_view, 14> operator_signs = {
    "<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "->", "<", ">", "\"\""};
constexpr std::array<std::string_view, 5> qualifiers = {" const", " volatile", " noexcept", " &&",
                                                        " &"};

bool in_identifier(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

// The end of an operator's name that begins at `at` ("operator<<", "operator()"), otherwise `at`.
std::size_t operator_end(std::string_view text, std::size_t at) {
    const std::string_view rest = text.substr(at);
    if (!rest.starts_with(operator_word) || (at > 0 && in_identifier(text[at - 1]))) return at;
    for (const std::string_view sign : operator_signs)
        if (rest.substr(operator_word.size()).starts_with(sign))
            return at + operator_word.size() + sign.size();
    return at;
}

class NameScan {
  public:
    explicit NameScan(std::string_view text) : text_(text) {}

    std::string run() {
        while (at_ < text_.size()) {
            if (at_operator()) {
                take_operator();
            } else if (text_[at_] == '(' && depth_ == 0) {
                const std::size_t close = matching();
                if (close == std::string_view::npos) return std::string(text_);
                if (!is_list())
                    take(close + 1 - at_);
                else if (const auto next = inner_list_end(close))
                    at_ = *next;
                else
                    break;
            } else {
                count_bracket();
                take(1);
            }
        }
        return std::move(kept_);
    }

  private:
    void take(std::size_t bytes) {
        kept_ += text_.substr(at_, bytes);
        at_ += bytes;
        after_sign_ = false;
    }

    [[nodiscard]] bool at_operator() const {
        const std::string_view rest = text_.substr(at_);
        if (!rest.starts_with(operator_word) || (at_ > 0 && in_identifier(text_[at_ - 1])))
            return false;
        return rest.size() > operator_word.size() && !in_identifier(rest[operator_word.size()]);
    }

    void take_operator() {
        take(operator_word.size());
        for (const std::string_view sign : operator_signs) {
            if (!text_.substr(at_).starts_with(sign)) continue;
            take(sign.size());
            break;
        }
        // Operators without brackets: "operator+=".
        while (at_ < text_.size() &&
               std::string_view("+-*/%^&|~!=,").find(text_[at_]) != std::string_view::npos)
            take(1);
        after_sign_ = true;
    }

    void count_bracket() {
        const char c = text_[at_];
        const bool arrow = c == '>' && at_ > 0 && text_[at_ - 1] == '-';  // "fn(i32) -> T"
        if (c == '<' || c == '{' || c == '[') ++depth_;
        if ((c == '>' || c == '}' || c == ']') && !arrow && depth_ > 0) --depth_;
    }

    // Position of the parenthesis that closes the one at at_.
    [[nodiscard]] std::size_t matching() const {
        std::size_t open = 0;
        for (std::size_t at = at_; at < text_.size(); ++at) {
            if (text_[at] == '(') ++open;
            if (text_[at] == ')' && --open == 0) return at;
        }
        return std::string_view::npos;
    }

    // Parameters follow a name. After a dot, a colon or a space, the parenthesis is part of a name.
    [[nodiscard]] bool is_list() const {
        if (at_ == 0) return false;
        const char before = text_[at_ - 1];
        return after_sign_ || in_identifier(before) ||
               std::string_view(">]})\"").find(before) != std::string_view::npos;
    }

    // If the list that ends at `close` belongs to an enclosing function, returns the position after
    // it and its qualifiers.
    [[nodiscard]] std::optional<std::size_t> inner_list_end(std::size_t close) const {
        std::size_t next = close + 1;
        for (std::size_t number = 0; number < qualifiers.size();) {
            const bool found = text_.substr(next).starts_with(qualifiers[number]);
            next += found ? qualifiers[number].size() : 0;
            number = found ? 0 : number + 1;
        }
        const std::string_view rest = text_.substr(next);
        if (rest.starts_with("::") || rest.starts_with('.')) return next;
        return std::nullopt;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;            // nesting in template arguments, braces of a lambda, type parameters
    bool after_sign_ = false;  // the position follows an operator
    std::string kept_;
};

}  // namespace

std::string without_parameters(std::string_view name) { return NameScan(name).run(); }

std::string without_template_arguments(std::string_view name) {
    if (name.starts_with('<')) return std::string(name);
    std::string kept;
    std::size_t depth = 0;
    for (std::size_t at = 0; at < name.size();) {
        const std::size_t end = std::max(operator_end(name, at), at + 1);
        const bool is_operator = end > at + 1;
        if (!is_operator && name[at] == '<') ++depth;
        if (depth == 0) kept += name.substr(at, end - at);
        const bool closes = !is_operator && name[at] == '>' && (at == 0 || name[at - 1] != '-');
        if (closes && depth > 0) --depth;
        at = end;
    }
    return depth == 0 ? kept : std::string(name);
}

std::string without_return_type(std::string_view name) {
    std::size_t begin = 0;
    int depth = 0;
    bool has_arguments = false;
    for (std::size_t at = 0; at < name.size();) {
        const std::size_t end = operator_end(name, at);
        // "operator bool"
        if (end > at || (depth == 0 && name.substr(at).starts_with("operator "))) break;
        const char c = name[at];
        if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
        if (c == '>' || c == ')' || c == '}' || c == ']') --depth;
        if (c == '<' && depth == 1) has_arguments = true;
        if (c == ' ' && depth == 0) {
            begin = at + 1;
            has_arguments = false;
        }
        ++at;
    }
    return std::string(has_arguments ? name.substr(begin) : name);
}

std::string last_components(std::string_view name, std::size_t components) {
    const std::string whole = without_template_arguments(name);
    if (whole.starts_with('<')) return whole;
    std::vector<std::size_t> begins{0};
    int depth = 0;
    for (std::size_t at = 0; at < whole.size();) {
        const std::size_t end = operator_end(whole, at);
        const char c = whole[at];
        if (c == '(' || c == '{') ++depth;
        if (c == ')' || c == '}') --depth;
        const bool between = depth == 0 && end == at && whole.compare(at, 2, "::") == 0;
        if (between) begins.push_back(at + 2);
        at = between ? at + 2 : std::max(end, at + 1);
    }
    if (depth != 0 || begins.size() <= components || components == 0) return whole;
    return whole.substr(begins[begins.size() - components]);
}

std::string without_anonymous_namespaces(std::string name) {
    constexpr std::string_view anonymous = "(anonymous namespace)::";
    for (std::size_t at = name.find(anonymous); at != std::string::npos;
         at = name.find(anonymous, at))
        name.erase(at, anonymous.size());
    return name;
}

}  // namespace lagtrap
