#include "core/digest.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <fmt/core.h>

#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap {

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
        throw std::runtime_error("SHA-256 is not available");
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(const void* data, std::size_t size) {
    EVP_DigestUpdate(context_.get(), data, size);
}

std::string Sha256::finish_hex() {
    std::array<unsigned char, 32> digest{};
    EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
    return hexadecimal({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

Result<std::string> sha256_of_file(const std::filesystem::path& path) {
    TRY_ASSIGN(const UniqueFd fd, open_file(path, O_RDONLY));
    Sha256 digest;
    std::vector<char> buffer(256 * 1024);
    for (;;) {
        const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error(path.string());
        if (got == 0) return digest.finish_hex();
        digest.update(buffer.data(), static_cast<std::size_t>(got));
    }
}

std::string sha256_of(std::string_view text) {
    Sha256 digest;
    digest.update(text.data(), text.size());
    return digest.finish_hex();
}

bool is_sha256_hex(std::string_view text) {
    return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

std::string random_uuid() {
    std::array<std::uint8_t, 16> bytes{};
    if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw std::runtime_error("the kernel provides no random bytes");
    bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);
    bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += hexadecimal({reinterpret_cast<const char*>(&bytes[i]), 1});
    }
    return text;
}

}  // namespace lagtrap
