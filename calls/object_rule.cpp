#include "calls/object_rule.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "core/text.hpp"

namespace lagtrap::calls {
namespace {

namespace json = boost::json;

constexpr std::size_t max_patterns = 64;
constexpr std::size_t max_text_bytes = 4096;

constexpr std::array<std::pair<std::string_view, Failure>, 6> failure_words{
    {{"never", Failure::Never},
     {"negative", Failure::Negative},
     {"null", Failure::Null},
     {"nonzero", Failure::Nonzero},
     {"not-positive", Failure::NotPositive},
     {"errno", Failure::MinusOne}}};

std::string_view name_of(Failure failure) {
    for (const auto& [name, one] : failure_words)
        if (one == failure) return name;
    return "never";
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = text.find_first_not_of(" ,\t\n", at);
        if (begin == std::string_view::npos) break;
        const std::size_t end = std::min(text.find_first_of(" ,\t\n", begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        at = end;
    }
    return words;
}

Result<ValuePlace> parse_place(std::string_view text) {
    ValuePlace place;
    if (text == "result") return place;
    const auto wrong = [&] {
        return make_error(
            ErrorKind::Invalid,
            fmt::format("\"{}\" is not an object position: expected arg0 to arg{}, with a * if the "
                        "argument points to the object's address, or result",
                        printable(text), max_arguments - 1));
    };
    std::string_view number = text;
    if (!number.starts_with("arg")) return wrong();
    number.remove_prefix(3);
    if (number.ends_with("*")) {
        place.behind = true;
        number.remove_suffix(1);
    }
    if (number.size() != 1 || number[0] < '0' ||
        number[0] >= static_cast<char>('0' + max_arguments))
        return wrong();
    place.argument = static_cast<unsigned>(number[0] - '0');
    return place;
}

std::string text_of(const std::vector<ObjectFunctions>& functions) {
    std::string text;
    for (const ObjectFunctions& one : functions) {
        text += (text.empty() ? "" : " ") + one.pattern + ":";
        text += one.object.argument
                    ? fmt::format("arg{}{}", *one.object.argument, one.object.behind ? "*" : "")
                    : "result";
        if (one.failure) text += fmt::format(":{}", name_of(*one.failure));
    }
    return text;
}

// errno value by name; 0 if there is none.
int errno_of(std::string_view name) {
    constexpr int most = 255;
    if (name == "EWOULDBLOCK") return EWOULDBLOCK;
    if (name == "EOPNOTSUPP") return EOPNOTSUPP;
    for (int number = 1; number <= most; ++number)
        if (const char* const known = ::strerrorname_np(number); known != nullptr && name == known)
            return number;
    return 0;
}

class RuleReader {
  public:
    explicit RuleReader(const json::object& attributes) : attributes_(attributes) {}

    Result<ObjectRule> read() {
        TRY(check_names());
        ObjectRule rule;
        rule.name = text("name");
        rule.class_pattern = text("class");
        rule.library = text("library");
        TRY_ASSIGN(rule.create, functions("create"));
        TRY_ASSIGN(rule.use, functions("use"));
        TRY_ASSIGN(rule.release, functions("release"));
        TRY_ASSIGN(rule.message, functions("message"));
        TRY_ASSIGN(const Failure all, failure("error", Failure::Never));
        TRY_ASSIGN(rule.create_failure, failure("create-error", all));
        TRY_ASSIGN(rule.use_failure, failure("use-error", all));
        TRY_ASSIGN(rule.release_failure, failure("release-error", all));
        TRY(read_successes(rule));
        TRY(read_excepts(rule));
        TRY(read_title(rule));
        rule.reused = text("reused") == "yes";
        TRY(check(rule));
        return rule;
    }

  private:
    Status check_names() const {
        static constexpr std::array<std::string_view, 15> known{
            "name",          "class",   "library", "create",       "use",
            "release",       "message", "error",   "create-error", "use-error",
            "release-error", "success", "except",  "title",        "reused"};
        for (const auto& [name, value] : attributes_) {
            if (std::find(known.begin(), known.end(), std::string_view(name)) == known.end())
                return make_error(
                    ErrorKind::Invalid,
                    fmt::format("\"{}\" is not an object attribute; expected one of {}",
                                printable(std::string_view(name)), fmt::join(known, ", ")));
            if (!value.is_string() || value.as_string().size() > max_text_bytes)
                return make_error(
                    ErrorKind::Invalid,
                    fmt::format("object attribute {}: expected a text of at most {} bytes",
                                std::string_view(name), max_text_bytes));
        }
        return success();
    }

    [[nodiscard]] std::string text(const char* name) const {
        const json::value* const value = attributes_.if_contains(name);
        return value == nullptr ? std::string() : printable(std::string_view(value->as_string()));
    }

    [[nodiscard]] Result<std::vector<ObjectFunctions>> functions(const char* name) const {
        auto parsed = parse_object_functions(text(name));
        if (!parsed) return parsed.error().within(name);
        return parsed;
    }

    [[nodiscard]] Result<Failure> failure(const char* name, Failure otherwise) const {
        if (text(name).empty()) return otherwise;
        auto parsed = parse_failure(text(name));
        if (!parsed) return parsed.error().within(name);
        return parsed;
    }

    Status read_successes(ObjectRule& rule) const {
        const std::string all = text("success");
        for (const std::string_view word : words_of(all)) {
            std::int64_t number = 0;
            const auto [end, problem] =
                std::from_chars(word.data(), word.data() + word.size(), number);
            if (problem != std::errc() || end != word.data() + word.size() ||
                rule.successes.size() >= max_successes)
                return make_error(ErrorKind::Invalid,
                                  fmt::format("success: \"{}\": expected at most {} numbers", all,
                                              max_successes));
            rule.successes.push_back(number);
        }
        return success();
    }

    Status read_excepts(ObjectRule& rule) const {
        const std::string all = text("except");
        for (const std::string_view word : words_of(all)) {
            const int number = errno_of(word);
            if (number == 0 || rule.excepts.size() >= max_excepts)
                return make_error(ErrorKind::Invalid,
                                  fmt::format("except: \"{}\": expected at most {} errno names, "
                                              "such as EAGAIN EINPROGRESS",
                                              all, max_excepts));
            rule.excepts.push_back(number);
        }
        if (rule.excepts.empty() || fails_by_errno(rule)) return success();
        return make_error(ErrorKind::Invalid, "except: needs error=\"errno\"");
    }

    static bool fails_by_errno(const ObjectRule& rule) {
        for (const Failure one : {rule.create_failure, rule.use_failure, rule.release_failure})
            if (one == Failure::MinusOne) return true;
        for (const auto* functions : {&rule.create, &rule.use, &rule.release})
            for (const ObjectFunctions& one : *functions)
                if (one.failure == Failure::MinusOne) return true;
        return false;
    }

    Status read_title(ObjectRule& rule) const {
        if (text("title").empty()) return success();
        TRY_ASSIGN(const ValuePlace place, parse_place(text("title")));
        if (!place.argument || place.behind)
            return make_error(ErrorKind::Invalid, "title: expected a text argument such as arg0");
        rule.title = place.argument;
        return success();
    }

    const json::object& attributes_;
};

ObjectRule preset_rule(const json::object& attributes) { return *parse_object_rule(attributes); }

}  // namespace

Result<std::vector<ObjectFunctions>> parse_object_functions(std::string_view text) {
    std::vector<ObjectFunctions> functions;
    for (const std::string_view word : words_of(text)) {
        const std::size_t colon = word.find(':');
        if (colon == std::string_view::npos || colon == 0)
            return make_error(
                ErrorKind::Invalid,
                fmt::format("\"{}\": expected FUNCTION:PLACE, such as fopen:result or close:arg0",
                            printable(word)));
        const std::string_view rest = word.substr(colon + 1);
        TRY_ASSIGN(const ValuePlace place, parse_place(rest.substr(0, rest.find(':'))));
        std::optional<Failure> failure;
        if (rest.find(':') != std::string_view::npos) {
            TRY_ASSIGN(failure, parse_failure(rest.substr(rest.find(':') + 1)));
        }
        functions.push_back({std::string(word.substr(0, colon)), place, failure});
        if (functions.size() > max_patterns)
            return make_error(ErrorKind::TooLarge,
                              fmt::format("expected at most {} functions", max_patterns));
    }
    return functions;
}

Result<Failure> parse_failure(std::string_view text) {
    for (const auto& [name, failure] : failure_words)
        if (name == text) return failure;
    return make_error(
        ErrorKind::Invalid,
        fmt::format("\"{}\": expected never, negative, null, nonzero, not-positive or errno",
                    printable(text)));
}

Status check(const ObjectRule& rule) {
    if (rule.name.empty()) return make_error(ErrorKind::Invalid, "an object needs a name");
    const bool has_functions = !rule.create.empty() || !rule.use.empty() || !rule.release.empty();
    if (!rule.class_pattern.empty() && has_functions)
        return make_error(ErrorKind::Invalid,
                          fmt::format("object {}: class cannot be combined with create, use and "
                                      "release, which are for objects in C",
                                      rule.name));
    if (rule.class_pattern.empty() && rule.create.empty())
        return make_error(ErrorKind::Invalid,
                          fmt::format("object {}: no function creates it; give "
                                      "create=\"FUNCTION:PLACE\" or class=\"NAME\"",
                                      rule.name));
    return success();
}

json::object to_json(const ObjectRule& rule) {
    json::object attributes{{"name", rule.name}};
    const auto put = [&](const char* name, const std::string& text) {
        if (!text.empty()) attributes[name] = text;
    };
    put("class", rule.class_pattern);
    put("library", rule.library);
    put("create", text_of(rule.create));
    put("use", text_of(rule.use));
    put("release", text_of(rule.release));
    put("message", text_of(rule.message));
    put("create-error", std::string(name_of(rule.create_failure)));
    put("use-error", std::string(name_of(rule.use_failure)));
    put("release-error", std::string(name_of(rule.release_failure)));
    put("success", fmt::format("{}", fmt::join(rule.successes, " ")));
    std::string excepts;
    for (const int number : rule.excepts)
        excepts += (excepts.empty() ? "" : " ") + std::string(::strerrorname_np(number));
    put("except", excepts);
    if (rule.title) put("title", fmt::format("arg{}", *rule.title));
    if (rule.reused) put("reused", "yes");
    return attributes;
}

Result<ObjectRule> parse_object_rule(const json::object& attributes) {
    return RuleReader(attributes).read();
}

const std::vector<ObjectPreset>& object_presets() {
    static const std::vector<ObjectPreset> presets{
        {"sqlite",
         "SQLite databases and statements",
         {preset_rule(
              {{"name", "sqlite3"},
               {"create", "sqlite3_open:arg1* sqlite3_open_v2:arg1*"},
               {"use",
                "sqlite3_exec:arg0 sqlite3_wal_checkpoint_v2:arg0 sqlite3_busy_timeout:arg0"},
               {"release", "sqlite3_close:arg0 sqlite3_close_v2:arg0"},
               {"message", "sqlite3_errmsg:result"},
               {"error", "nonzero"},
               {"title", "arg0"}}),
          preset_rule({{"name", "sqlite3_stmt"},
                       {"create",
                        "sqlite3_prepare:arg3* sqlite3_prepare_v2:arg3* sqlite3_prepare_v3:arg4*"},
                       // sqlite3_reset and sqlite3_finalize return the failure of the preceding
                       // step.
                       {"use",
                        "sqlite3_step:arg0 sqlite3_reset:arg0:never sqlite3_bind_int*:arg0 "
                        "sqlite3_bind_text*:arg0 sqlite3_bind_blob*:arg0 sqlite3_bind_double:arg0 "
                        "sqlite3_bind_null:arg0"},
                       {"release", "sqlite3_finalize:arg0:never"},
                       {"error", "nonzero"},
                       {"success", "100 101"},
                       {"title", "arg1"}})}},
        {"openssl",
         "OpenSSL connections",
         {preset_rule({{"name", "SSL"},
                       // libssl, and libcrypto, which has the error texts.
                       {"library", "lib[sc][sr]*"},
                       {"message",
                        "ERR_reason_error_string:result ERR_error_string:result "
                        "X509_verify_cert_error_string:result"},
                       {"create", "SSL_new:result"},
                       {"use",
                        "SSL_connect:arg0 SSL_accept:arg0 SSL_do_handshake:arg0 SSL_read:arg0 "
                        "SSL_read_ex:arg0 SSL_write:arg0 SSL_write_ex:arg0 SSL_shutdown:arg0 "
                        "SSL_get_error:arg0:nonzero"},
                       {"release", "SSL_free:arg0"},
                       {"create-error", "null"},
                       // SSL_ERROR_WANT_READ, WANT_WRITE, WANT_X509_LOOKUP and ZERO_RETURN: call
                       // again, or end of data.
                       {"success", "2 3 4 6"}})}},
        {"stdio",
         "C library files (FILE)",
         {preset_rule(
             {{"name", "FILE"},
              {"library", "libc.so*"},
              {"create", "fopen:result fopen64:result fdopen:result popen:result tmpfile:result"},
              {"use",
               "fflush:arg0 fputs:arg1 fgets:arg2 fprintf:arg0 fseek:arg0 fread:arg3 fwrite:arg3"},
              {"release", "fclose:arg0 pclose:arg0"},
              {"create-error", "null"},
              {"release-error", "errno"},
              {"title", "arg0"}})}},
        {"sockets",
         "sockets, by their file descriptors",
         {preset_rule({{"name", "socket"},
                       {"library", "libc.so*"},
                       {"create", "socket:result accept:result accept4:result"},
                       {"use",
                        "connect:arg0 bind:arg0 listen:arg0 send:arg0 recv:arg0 sendto:arg0 "
                        "recvfrom:arg0 sendmsg:arg0 recvmsg:arg0 shutdown:arg0 setsockopt:arg0"},
                       {"release", "close:arg0"},
                       {"error", "errno"},
                       // Non-blocking sockets: call again, or in progress.
                       {"except", "EAGAIN EINPROGRESS EALREADY EINTR"},
                       {"reused", "yes"}})}},
        {"curl",
         "libcurl transfers",
         {preset_rule({{"name", "CURL"},
                       {"library", "libcurl*"},
                       {"create", "curl_easy_init:result"},
                       {"use", "curl_easy_perform:arg0 curl_easy_setopt:arg0 curl_easy_reset:arg0"},
                       {"release", "curl_easy_cleanup:arg0"},
                       {"message", "curl_easy_strerror:result"},
                       {"create-error", "null"},
                       {"use-error", "nonzero"}})}}};
    return presets;
}

Result<std::vector<ObjectRule>> object_preset(std::string_view name) {
    std::string known;
    for (const ObjectPreset& preset : object_presets()) {
        if (preset.name == name) return preset.rules;
        known += (known.empty() ? "" : ", ") + std::string(preset.name);
    }
    return make_error(
        ErrorKind::NotFound,
        fmt::format("no object preset \"{}\"; expected one of {}", printable(name), known));
}

}  // namespace lagtrap::calls
