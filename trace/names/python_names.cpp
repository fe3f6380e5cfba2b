#include "trace/names/python_names.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include <boost/locale/utf.hpp>

#include "core/text.hpp"

namespace lagtrap::trace {
namespace {

void append_utf8(std::string& text, std::uint32_t character) {
    constexpr std::uint32_t no_character = 0xfffd;
    boost::locale::utf::utf_traits<char>::encode(
        boost::locale::utf::is_valid_codepoint(character) ? character : no_character,
        std::back_inserter(text));
}

}  // namespace

std::string python_text(std::string_view text, std::size_t character_bytes) {
    std::string converted;
    if (character_bytes != 1 && character_bytes != 2 && character_bytes != 4) return converted;
    for (std::size_t at = 0; at + character_bytes <= text.size(); at += character_bytes) {
        std::uint32_t character = 0;
        for (std::size_t i = 0; i < character_bytes; ++i)
            character |= std::uint32_t{static_cast<std::uint8_t>(text[at + i])} << 8 * i;
        append_utf8(converted, character);
    }
    return converted;
}

void PythonNames::take(const lagtrap_python_code& code) {
    const std::pair key{code.pid, code.code};
    if (functions_.size() >= functions_limit && !functions_.contains(key)) return;
    const std::string_view name(code.name,
                                std::min<std::size_t>(code.name_bytes, sizeof code.name));
    const std::string_view path(code.path,
                                std::min<std::size_t>(code.path_bytes, sizeof code.path));
    Function& function = functions_[key];
    function.name = python_text(name, code.name_character_bytes);
    function.path = python_text(path, code.path_character_bytes);
    function.line = code.line <= std::numeric_limits<std::int32_t>::max() ? code.line : 0;
}

// "Cart.add", "<module> (cart.py)".
std::string PythonNames::name_of(const Function& function) {
    if (!function.name.starts_with('<')) return function.name;
    return function.name + " (" + function.path.substr(function.path.rfind('/') + 1) + ")";
}

void PythonNames::name(StackTable& stacks) const {
    for (const RunTimeFrame& seen : stacks.run_time_frames()) {
        CodeFrame& frame = stacks.frames()[seen.frame];
        if (!LAGTRAP_IS_PYTHON_FRAME(frame.offset)) continue;
        const auto found = functions_.find({seen.pid, frame.offset & LAGTRAP_PYTHON_CODE});
        if (found == functions_.end()) continue;
        frame.name = stacks.intern_name(printable(name_of(found->second)));
        frame.source = stacks.intern_name(printable(found->second.path));
        frame.line = found->second.line;
        frame.module = jit_module;
    }
}

}  // namespace lagtrap::trace
