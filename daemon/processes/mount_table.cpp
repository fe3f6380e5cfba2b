#include "daemon/processes/mount_table.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "daemon/processes/local_file_systems.hpp"

namespace lagtrap::daemon {
namespace {

std::vector<std::string_view> words_of(std::string_view line, char blank) {
    std::vector<std::string_view> words;
    while (!line.empty()) {
        const std::size_t end = std::min(line.find(blank), line.size());
        if (end > 0) words.push_back(line.substr(0, end));
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return words;
}

template <typename Number>
std::optional<Number> number(std::string_view text) {
    Number value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// Spaces and backslashes are written as \ooo.
std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto octal = text.substr(i + 1, 3);
        const bool escape = text[i] == '\\' && octal.size() == 3 &&
                            octal.find_first_not_of("01234567") == std::string_view::npos;
        if (!escape) {
            plain += text[i];
            continue;
        }
        plain += static_cast<char>((octal[0] - '0') * 64 + (octal[1] - '0') * 8 + (octal[2] - '0'));
        i += 3;
    }
    return plain;
}

std::optional<std::uint64_t> device_of(std::string_view text) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto major_number = number<std::uint32_t>(text.substr(0, colon));
    const auto minor_number = number<std::uint32_t>(text.substr(std::min(colon + 1, text.size())));
    if (!major_number || !minor_number) return std::nullopt;
    return std::uint64_t{*major_number} << 32 | *minor_number;
}

bool is_below(std::string_view path, std::string_view point) {
    if (point == "/") return path.starts_with('/');
    return path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/');
}

// The layers in an overlay's options: "lowerdir=/a:/b,upperdir=/c", or one "lowerdir+=" each. Omits
// relative names, which only the mounting process could resolve.
std::vector<std::string> layers_in(std::string_view options) {
    std::vector<std::string> layers;
    for (const std::string_view option : words_of(options, ',')) {
        const std::size_t equals = std::min(option.find('='), option.size());
        const auto name = option.substr(0, equals);
        if (name != "lowerdir" && name != "lowerdir+" && name != "datadir+" && name != "upperdir")
            continue;
        for (const std::string_view layer :
             words_of(option.substr(std::min(equals + 1, option.size())), ':'))
            if (layer.starts_with('/')) layers.push_back(unescaped(layer));
    }
    return layers;
}

// Decides for each mount of a table whether it is local. A layer may be on an overlay that comes
// later in the table.
class LocalityJudge {
  public:
    LocalityJudge(const MountTable& table, std::vector<Mount>& mounts,
                  const std::vector<std::string_view>& options, const MountTable* machine)
        : table_(table),
          mounts_(mounts),
          options_(options),
          machine_(machine),
          is_known_(mounts.size()) {
        const Mount* const root = (machine ? machine : &table)->holding("/");
        if (root) root_device_ = root->device;
    }

    void judge_all() {
        for (std::size_t i = 0; i < mounts_.size(); ++i) judge(i);
    }

  private:
    bool judge(std::size_t index) {
        Mount& mount = mounts_[index];
        if (is_known_[index]) return mount.local;
        is_known_[index] = true;
        mount.local = true;  // for layers whose names are below it, but which were there before it
        mount.local = mount.device == root_device_ || is_local_file_system(mount.type) ||
                      (mount.type == "overlay" && has_local_layers(mount, options_[index]));
        return mount.local;
    }

    bool has_local_layers(const Mount& overlay, std::string_view options) {
        if (machine_)
            if (const Mount* const same = machine_->by_device(overlay.device)) return same->local;
        const auto layers = layers_in(options);
        return std::all_of(layers.begin(), layers.end(), [this](const std::string& layer) {
            const Mount* const here = table_.holding(layer);
            const Mount* const there = machine_ ? machine_->holding(layer) : nullptr;
            return (!here || judge(static_cast<std::size_t>(here - mounts_.data()))) &&
                   (!there || there->local);
        });
    }

    const MountTable& table_;
    std::vector<Mount>& mounts_;
    const std::vector<std::string_view>& options_;
    const MountTable* machine_;
    std::optional<std::uint64_t> root_device_;
    std::vector<bool> is_known_;
};

}  // namespace

// Each line has: id, parent, device, root, mount point, options, optional fields, "-", type,
// source, options of the file system.
MountTable MountTable::parse(std::string_view text, const MountTable* machine) {
    MountTable table;
    std::vector<std::string_view> options;
    for (const std::string_view line : words_of(text, '\n')) {
        const auto words = words_of(line, ' ');
        const auto dash = std::find(words.begin(), words.end(), "-");
        if (dash - words.begin() < 6 || words.end() - dash < 2) continue;
        const auto id = number<std::uint64_t>(words[0]);
        const auto device = device_of(words[2]);
        if (!id || !device) continue;
        const auto flags = words_of(words[5], ',');
        const bool set_uid_counts = std::find(flags.begin(), flags.end(), "nosuid") == flags.end();
        table.mounts_.push_back(
            {*id, *device, unescaped(words[4]), std::string(dash[1]), false, set_uid_counts});
        options.push_back(words.end() - dash > 3 ? dash[3] : std::string_view());
    }
    LocalityJudge(table, table.mounts_, options, machine).judge_all();
    return table;
}

const Mount* MountTable::by_id(std::uint64_t id) const {
    const auto found = std::find_if(mounts_.begin(), mounts_.end(),
                                    [id](const Mount& mount) { return mount.id == id; });
    return found == mounts_.end() ? nullptr : &*found;
}

const Mount* MountTable::by_device(std::uint64_t device) const {
    const auto found = std::find_if(mounts_.begin(), mounts_.end(), [device](const Mount& mount) {
        return mount.device == device;
    });
    return found == mounts_.end() ? nullptr : &*found;
}

// A later mount at the same place covers the earlier one.
const Mount* MountTable::holding(const std::filesystem::path& path) const {
    const Mount* best = nullptr;
    for (const Mount& mount : mounts_)
        if (is_below(path.native(), mount.point) &&
            (!best || mount.point.size() >= best->point.size()))
            best = &mount;
    return best;
}

bool MountTable::answers_to_a_look() const {
    return std::none_of(mounts_.begin(), mounts_.end(), [](const Mount& mount) {
        return !mount.local && (mount.type == "nfs" || mount.type == "nfs4" || mount.type == "9p");
    });
}

}  // namespace lagtrap::daemon
