#include "daemon/merges/merge_answer.hpp"

#include <boost/json.hpp>

#include "core/text.hpp"
#include "spool/spool.hpp"

namespace lagtrap::daemon {

std::string shown_output(std::string_view text) {
    constexpr std::size_t shown_bytes = 1000;
    while (text.ends_with('\n')) text.remove_suffix(1);
    return printable(text.substr(0, shown_bytes));
}

Result<MergedBundle> parse_merge_answer(std::string_view text,
                                        const std::filesystem::path& output) {
    const auto invalid = [&] {
        return make_error(ErrorKind::Invalid,
                          "lagtrap-merge returned no bundle in the spool: " + shown_output(text));
    };
    std::string_view line = text;
    while (line.ends_with('\n')) line.remove_suffix(1);
    line.remove_prefix(line.rfind('\n') + 1);  // npos + 1 is 0
    boost::json::error_code failure;
    const auto value =
        boost::json::parse(boost::json::string_view(line.data(), line.size()), failure);
    const auto* object = failure ? nullptr : value.if_object();
    const auto* bundle = object ? object->if_contains("bundle") : nullptr;
    const auto* digest = object ? object->if_contains("digest") : nullptr;
    if (!bundle || !bundle->is_string() || !digest || !digest->is_string()) return invalid();
    MergedBundle merged{std::string(bundle->as_string()), std::string(digest->as_string())};
    const std::filesystem::path path = merged.path;
    const auto name = spool::parse_entry_name(path.filename().string());
    constexpr std::size_t digest_digits = 64;
    const bool is_digest = merged.digest.size() == digest_digits &&
                           merged.digest.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!name || path.parent_path() != output || !is_digest ||
        !merged.digest.starts_with(name->digest_prefix))
        return invalid();
    return merged;
}

}  // namespace lagtrap::daemon
