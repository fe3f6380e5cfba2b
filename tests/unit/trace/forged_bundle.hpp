// Bundles made of arbitrary bytes.
#pragma once

#include <zstd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace lagtrap::trace {

// A tar header with these fields and a correct checksum.
inline std::string tar_header(const std::string& name, const std::string& size = "00000000000",
                              char kind = '0', const std::string& end_of_header = "") {
    std::string header(512, '\0');
    header.replace(0, name.size(), name);
    header.replace(100, 7, "0000644");
    header.replace(124, size.size(), size);
    header[156] = kind;
    header.replace(257, 8, std::string("ustar\00000", 8));
    header.replace(386, end_of_header.size(), end_of_header);
    header.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const char byte : header) sum += static_cast<unsigned char>(byte);
    std::array<char, 8> digits{};
    std::snprintf(digits.data(), digits.size(), "%06o", sum);
    header.replace(148, 7, digits.data(), 7);
    return header;
}

// `begin`, then `piece` this many times, compressed with zstd.
inline std::string packed(const std::string& begin, const std::string& piece = "",
                          std::size_t times = 0, int window_log = 20) {
    const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                       &ZSTD_freeCCtx);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, window_log);
    std::string whole;
    std::string room(ZSTD_CStreamOutSize(), '\0');
    const auto add = [&](const std::string& bytes, ZSTD_EndDirective what) {
        ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
        std::size_t left = 0;
        do {
            ZSTD_outBuffer output{room.data(), room.size(), 0};
            left = ZSTD_compressStream2(context.get(), &output, &input, what);
            ASSERT_EQ(ZSTD_isError(left), 0U) << ZSTD_getErrorName(left);
            whole.append(room, 0, output.pos);
        } while (what == ZSTD_e_end ? left > 0 : input.pos < input.size);
    };
    add(begin, ZSTD_e_continue);
    for (std::size_t i = 0; i < times; ++i) add(piece, ZSTD_e_continue);
    add("", ZSTD_e_end);
    return whole;
}

}  // namespace lagtrap::trace
