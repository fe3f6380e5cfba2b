#include "server/accounts/token_file.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "core/digest.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "server/accounts/secrets.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint64_t file_limit_bytes = 1 << 20;
constexpr std::size_t token_limit_bytes = 4096;

bool is_token_name(std::string_view name) {
    constexpr std::string_view allowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return !name.empty() && name.size() <= 64 &&
           name.find_first_not_of(allowed) == std::string_view::npos;
}

// Splits a line at blanks.
std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    std::size_t end = 0;
    for (;;) {
        const std::size_t begin = line.find_first_not_of(" \t\r", end);
        if (begin == std::string_view::npos) return words;
        end = std::min(line.find_first_of(" \t\r", begin), line.size());
        words.push_back(line.substr(begin, end - begin));
    }
}

Error wrong_line(std::size_t number, const std::string& what) {
    return make_error(ErrorKind::Invalid, "line " + std::to_string(number) + ": " + what);
}

bool equal_without_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

}  // namespace

std::string decode_base64(std::string_view text) {
    if (text.empty() || text.size() > token_limit_bytes || text.size() % 4 != 0) return {};
    std::string decoded(text.size() / 4 * 3, '\0');
    const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
    if (size < 0) return {};
    const auto padding = static_cast<std::size_t>(std::count(text.end() - 2, text.end(), '='));
    decoded.resize(static_cast<std::size_t>(size) - padding);
    return decoded;
}

Result<Right> parse_right(std::string_view text) {
    for (const Right right : {Right::Upload, Right::Read, Right::Administer})
        if (text == right_name(right)) return right;
    return make_error(ErrorKind::Invalid,
                      "scope is \"" + printable(text) + "\"; expected upload, read or admin");
}

Result<FreshToken> make_token(const std::string& name, Right right) {
    if (!is_token_name(name)) {
        return make_error(ErrorKind::Invalid,
                          "name is \"" + printable(name) +
                              "\"; expected 1 to 64 of letters, digits, dot, dash, underscore");
    }
    std::array<unsigned char, 32> random;
    if (RAND_bytes(random.data(), random.size()) != 1)
        return make_error(ErrorKind::System, "no random numbers");
    std::string token = std::string("lt_") + right_name(right) + "_";
    constexpr std::string_view digits = "0123456789abcdef";
    for (const unsigned char byte : random) {
        token += digits[byte >> 4];
        token += digits[byte & 15];
    }
    return FreshToken{token, name + " " + right_name(right) + " " + sha256_of(token)};
}

Result<TokenTable> TokenTable::parse(std::string_view text) {
    TokenTable table;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t length = std::min(text.find('\n'), text.size());
        const auto words = words_of(text.substr(0, length));
        text.remove_prefix(std::min(length + 1, text.size()));
        if (words.empty() || words[0].starts_with('#')) continue;
        if (words.size() != 3) return wrong_line(number, "expected \"NAME SCOPE TOKEN_SHA256\"");
        if (!is_token_name(words[0]))
            return wrong_line(number, "\"" + printable(words[0]) + "\" is no token name");
        const auto right = parse_right(words[1]);
        if (!right) return wrong_line(number, right.error().message);
        if (!is_sha256_hex(words[2]))
            return wrong_line(number, "the digest must have 64 hexadecimal digits");
        for (const Entry& entry : table.entries_)
            if (entry.name == words[0])
                return wrong_line(number, "\"" + entry.name + "\" is there twice");
        table.entries_.push_back({std::string(words[0]), *right, std::string(words[2])});
    }
    if (table.entries_.empty()) {
        return make_error(
            ErrorKind::Invalid,
            "holds no token; make one with: lagtrap-server token NAME --scope upload");
    }
    return table;
}

Result<TokenTable> TokenTable::load(const std::string& path) {
    TRY_ASSIGN(const UniqueFd fd, open_file(path, O_RDONLY));
    struct stat facts {};
    if (::fstat(fd.get(), &facts) != 0) return system_error(path);
    if ((facts.st_mode & 0002) != 0)
        return make_error(ErrorKind::Denied, path + ": every user may write to it; chmod o-w it");
    const auto text = read_all(fd.get(), file_limit_bytes);
    if (!text) return text.error().within(path);
    auto table = parse(*text);
    if (!table) return table.error().within(path);
    return table;
}

std::optional<Principal> TokenTable::find(std::string_view token) const {
    if (token.empty() || token.size() > token_limit_bytes) return std::nullopt;
    const std::string digest = sha256_of(token);
    std::optional<Principal> found;
    for (const Entry& entry : entries_) {
        if (!equal_secrets(entry.digest, digest)) continue;
        found.emplace();
        found->kind = Principal::Kind::Token;
        found->name = entry.name;
        found->may_read = entry.right == Right::Read;
        found->may_upload = entry.right == Right::Upload;
        found->may_administer = entry.right == Right::Administer;
    }
    return found;
}

std::string token_of_header(std::string_view authorization) {
    const auto words = words_of(authorization);
    if (words.size() != 2) return {};
    if (equal_without_case(words[0], "bearer")) return std::string(words[1]);
    if (!equal_without_case(words[0], "basic")) return {};
    const std::string pair = decode_base64(words[1]);
    const std::size_t colon = pair.find(':');
    return colon == std::string::npos ? std::string() : pair.substr(colon + 1);
}

}  // namespace lagtrap::server
