// What matches a text that somebody typed into the search.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lagtrap::server {

// The words of a query, in ASCII lower case.
[[nodiscard]] std::vector<std::string> words_of_search(std::string_view query);

// Whether all words occur, in any order; ASCII case is ignored.
[[nodiscard]] bool has_words(std::string_view text, const std::vector<std::string>& words);

// At most `limit` of the texts that have all words: those that begin with the first word come
// first, then the shortest. Without empty texts.
[[nodiscard]] std::vector<std::string> best_matches(std::vector<std::string> texts,
                                                    const std::vector<std::string>& words,
                                                    std::size_t limit);

// A function of a call stack that has all words, by its name or else by its library's. Both are
// empty if there is none.
struct MatchedFrame {
    std::string function, library;
    bool by_library = false;
};
// `frames` is a JSON list of objects with "function" and "module", as the store keeps them.
[[nodiscard]] MatchedFrame match_frames(std::string_view frames,
                                        const std::vector<std::string>& words);

}  // namespace lagtrap::server
