#include "server/api/search_match.hpp"

#include <algorithm>
#include <tuple>

#include <boost/json.hpp>

#include "server/store/labels.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

std::string member_text(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string())
                                                  : std::string();
}

// "libz.so.1" of "/usr/lib/libz.so.1".
std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::vector<std::string> words_of_search(std::string_view query) {
    std::vector<std::string> words;
    const std::string text = search_text(query);
    for (std::size_t at = text.find_first_not_of(' '); at != std::string::npos;
         at = text.find_first_not_of(' ', at)) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

bool has_words(std::string_view text, const std::vector<std::string>& words) {
    const std::string folded = search_text(text);
    return std::ranges::all_of(
        words, [&](const std::string& word) { return folded.find(word) != std::string::npos; });
}

std::vector<std::string> best_matches(std::vector<std::string> texts,
                                      const std::vector<std::string>& words, std::size_t limit) {
    std::erase_if(texts,
                  [&](const std::string& text) { return text.empty() || !has_words(text, words); });
    const auto rank = [&](const std::string& text) {
        const bool begins = !words.empty() && search_text(text).starts_with(words.front());
        return std::tuple(!begins, text.size());
    };
    std::ranges::sort(texts, [&](const std::string& a, const std::string& b) {
        return std::tuple(rank(a), a) < std::tuple(rank(b), b);
    });
    if (texts.size() > limit) texts.resize(limit);
    return texts;
}

MatchedFrame match_frames(std::string_view frames, const std::vector<std::string>& words) {
    json::error_code error;
    const json::value list = json::parse(frames, error);
    if (error || !list.is_array()) return {};
    MatchedFrame of_library;
    for (const json::value& entry : list.get_array()) {
        if (!entry.is_object()) continue;
        const std::string function = member_text(entry.get_object(), "function"),
                          library = member_text(entry.get_object(), "module");
        // States such as "[waits for a CPU]" have no library.
        if (library.empty()) continue;
        if (has_words(function, words)) return {function, library, false};
        if (of_library.library.empty() && has_words(file_name(library), words))
            of_library = {function, library, true};
    }
    return of_library;
}

}  // namespace lagtrap::server
