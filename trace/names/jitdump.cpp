#include "trace/names/jitdump.hpp"

#include <cstring>
#include <limits>
#include <unordered_map>

namespace lagtrap::trace {
namespace {

constexpr std::uint32_t magic = 0x4a695444;  // "JiTD"
constexpr std::uint32_t magic_of_other_order = 0x4454694a;
constexpr std::uint64_t flag_processor_time = 1;

struct Header {
    std::uint32_t magic, version, total_bytes, machine, padding, pid;
    std::uint64_t at_ns, flags;
};
static_assert(sizeof(Header) == 40);

enum RecordKind : std::uint32_t { Load = 0, Move = 1, Close = 3 };

struct Prefix {
    std::uint32_t kind, total_bytes;
    std::uint64_t at_ns;
};
static_assert(sizeof(Prefix) == 16);

// Follows the prefix. The NUL-terminated function name and the code follow it.
struct LoadRecord {
    std::uint32_t pid, tid;
    std::uint64_t vma, address, size_bytes, index;
};
static_assert(sizeof(LoadRecord) == 40);

struct MoveRecord {
    std::uint32_t pid, tid;
    std::uint64_t vma, old_address, new_address, size_bytes, index;
};
static_assert(sizeof(MoveRecord) == 48);

template <typename T>
bool take(std::string_view& from, T& value) {
    if (from.size() < sizeof(value)) return false;
    std::memcpy(&value, from.data(), sizeof(value));
    from.remove_prefix(sizeof(value));
    return true;
}

class Parser {
  public:
    explicit Parser(bool with_times) : with_times_(with_times) {}
    // Parses everything after the header.
    void parse(std::string_view content);
    Jitdump dump;

  private:
    bool load(std::string_view record, std::uint64_t at_ns);
    bool move(std::string_view record, std::uint64_t at_ns);
    bool add(std::uint64_t start, std::uint64_t size_bytes, std::uint64_t at_ns,
             std::string_view name);

    bool with_times_;
    std::unordered_map<std::uint64_t, std::string_view> name_of_index_;
};

bool Parser::add(std::uint64_t start, std::uint64_t size_bytes, std::uint64_t at_ns,
                 std::string_view name) {
    if (size_bytes == 0 || size_bytes > std::numeric_limits<std::uint64_t>::max() - start ||
        name.empty())
        return false;
    if (dump.pieces.size() < code_pieces_limit) {
        dump.pieces.push_back({start, start + size_bytes, with_times_ ? at_ns : 0, name});
    } else {
        ++dump.left_out;
    }
    return true;
}

bool Parser::load(std::string_view record, std::uint64_t at_ns) {
    LoadRecord loaded{};
    if (!take(record, loaded)) return false;
    const std::size_t name_bytes = record.find('\0');
    if (name_bytes == std::string_view::npos) return false;
    const std::string_view name = record.substr(0, std::min(name_bytes, code_name_limit_bytes));
    if (name_of_index_.size() < code_pieces_limit) name_of_index_[loaded.index] = name;
    return add(loaded.address, loaded.size_bytes, at_ns, name);
}

bool Parser::move(std::string_view record, std::uint64_t at_ns) {
    MoveRecord moved{};
    if (!take(record, moved)) return false;
    const auto name = name_of_index_.find(moved.index);
    return name != name_of_index_.end() &&
           add(moved.new_address, moved.size_bytes, at_ns, name->second);
}

void Parser::parse(std::string_view content) {
    while (!content.empty()) {
        std::string_view rest = content;
        Prefix prefix{};
        if (!take(rest, prefix) || prefix.total_bytes < sizeof(prefix) ||
            prefix.total_bytes > content.size()) {
            ++dump.damaged;  // the start of the next record is unknown
            return;
        }
        const std::string_view record = rest.substr(0, prefix.total_bytes - sizeof(prefix));
        content.remove_prefix(prefix.total_bytes);
        if (prefix.kind == Close) return;
        if (prefix.kind == Load && !load(record, prefix.at_ns)) ++dump.damaged;
        if (prefix.kind == Move && !move(record, prefix.at_ns)) ++dump.damaged;
    }
}

}  // namespace

bool is_jitdump_path(std::string_view path) {
    constexpr std::string_view beginning = "jit-";
    constexpr std::string_view ending = ".dump";
    std::string_view name = path.substr(path.rfind('/') + 1);
    if (!name.starts_with(beginning) || !name.ends_with(ending)) return false;
    name.remove_prefix(beginning.size());
    if (name.size() <= ending.size()) return false;
    name.remove_suffix(ending.size());
    return name.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<Jitdump> parse_jitdump(std::string_view content) {
    Header header{};
    std::string_view rest = content;
    if (!take(rest, header))
        return make_error(ErrorKind::Invalid, "has " + std::to_string(content.size()) +
                                                  " bytes, less than the 40 of a jitdump's header");
    if (header.magic == magic_of_other_order)
        return make_error(ErrorKind::Unsupported,
                          "is a jitdump of a machine with the other byte order");
    if (header.magic != magic)
        return make_error(ErrorKind::Invalid,
                          "is no jitdump: it does not begin with the bytes DTiJ");
    if (header.version != 1)
        return make_error(
            ErrorKind::Unsupported,
            "is a jitdump of version " + std::to_string(header.version) + "; known is 1");
    if (header.total_bytes < sizeof(header) || header.total_bytes > content.size())
        return make_error(ErrorKind::Invalid,
                          "announces a header of " + std::to_string(header.total_bytes) +
                              " bytes; it has " + std::to_string(content.size()));
    Parser parser((header.flags & flag_processor_time) == 0);
    parser.parse(content.substr(header.total_bytes));
    return std::move(parser.dump);
}

}  // namespace lagtrap::trace
