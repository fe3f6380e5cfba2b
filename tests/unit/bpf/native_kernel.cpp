#include "tests/unit/bpf/native_kernel.hpp"

#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

// Of each test program: registers the maps of its programs, and resets their variables.
extern "C" void native_load_programs(void);

namespace lagtrap::native {

namespace {

constexpr std::size_t ring_header_bytes = 8;

bool is_hash(const Map& map) {
    return map.type == BPF_MAP_TYPE_HASH || map.type == BPF_MAP_TYPE_LRU_HASH;
}

[[noreturn]] void refuse(const char* why) {
    std::fprintf(stderr, "a program did what the kernel's verifier would refuse: %s\n", why);
    std::abort();
}

std::string key_of(const Map& map, const void* key) {
    return {static_cast<const char*>(key), map.key_size};
}

std::uint32_t elements_of(const Map& map) {
    return map.type == BPF_MAP_TYPE_PERCPU_ARRAY ? map.max_entries * cpu_count : map.max_entries;
}

void* look_at_element(Map& map, std::uint32_t index, std::uint32_t cpu) {
    if (index >= map.max_entries) return nullptr;
    const std::uint32_t place =
        map.type == BPF_MAP_TYPE_PERCPU_ARRAY ? index + cpu * map.max_entries : index;
    Value& value = map.elements[place];
    if (!value) value = std::make_unique<std::byte[]>(map.value_size);
    return value.get();
}

// An LRU hash drops its oldest key; other maps refuse the new one.
bool make_room(Map& map) {
    if (map.of_key.size() < map.max_entries) return true;
    if (map.type != BPF_MAP_TYPE_LRU_HASH) return false;
    map.of_key.erase(map.by_age.front());
    map.by_age.erase(map.by_age.begin());
    return true;
}

long put(Map& map, const void* key, const void* value, std::uint64_t flags) {
    const std::string name = key_of(map, key);
    const auto known = map.of_key.find(name);
    if (known != map.of_key.end() && flags == BPF_NOEXIST) return -EEXIST;
    if (known == map.of_key.end() && flags == BPF_EXIST) return -ENOENT;
    if (known == map.of_key.end()) {
        if (!make_room(map)) return -E2BIG;
        map.by_age.push_back(name);
    }
    Value& place = map.of_key[name];
    if (!place) place = std::make_unique<std::byte[]>(map.value_size);
    std::memcpy(place.get(), value, map.value_size);
    return 0;
}

bool take_room(Map& ring, std::size_t size) {
    const std::size_t bytes = (size + ring_header_bytes + 7) / 8 * 8;
    if (bytes > ring.room_bytes) return false;
    ring.room_bytes -= bytes;
    return true;
}

void call_once(std::function<void()>& deed) {
    if (auto now = std::exchange(deed, nullptr)) now();
}

}  // namespace

Kernel& Kernel::instance() {
    static Kernel kernel;
    return kernel;
}

void Kernel::reset() {
    before_exchange = at_barrier = at_clock = nullptr;
    now_ns = 1'000'000'000;
    cpu = 0;
    cookie = cgroup = 0;
    current = nullptr;
    user_texts.clear();
    user_words.clear();
    paged_out.clear();
    missing.clear();
    stack.clear();
    names.clear();
    task_storage.clear();
    reserved.clear();
    maps.clear();
    native_load_programs();
}

Map& Kernel::map(const void* handle) {
    const auto found = maps.find(handle);
    if (found == maps.end()) refuse("it used what is no map");
    return found->second;
}

void* Kernel::lookup(Map& map, const void* key) {
    if (!is_hash(map)) {
        std::uint32_t index;
        std::memcpy(&index, key, sizeof(index));
        return look_at_element(map, index, cpu);
    }
    const auto found = map.of_key.find(key_of(map, key));
    return found == map.of_key.end() ? nullptr : found->second.get();
}

std::vector<Bytes> Kernel::take_records(const void* ring) {
    Map& map = this->map(ring);
    map.room_bytes = map.max_entries;
    return std::exchange(map.records, {});
}

extern "C" {

const native_thread* native_current() { return Kernel::instance().current; }

void native_define_map(const void* map, __u32 type, __u32 max_entries, __u32 key_size,
                       __u32 value_size) {
    Map made{type, max_entries, key_size, value_size, {}, {}, {}, max_entries, {}};
    if (!is_hash(made) && type != BPF_MAP_TYPE_RINGBUF) made.elements.resize(elements_of(made));
    Kernel::instance().maps.insert_or_assign(map, std::move(made));
}

extern const __u64 native_zeroes[8];
const __u64 native_zeroes[8] = {};

void* native_same(const void* object) {
    const auto address = reinterpret_cast<std::uint64_t>(object);
    const bool marked = (address & kernel_address_mark) == kernel_address_mark;
    return reinterpret_cast<void*>(marked ? address & ~kernel_address_mark : address);
}

bool native_exists(const char* name) { return !Kernel::instance().missing.contains(name); }

void native_before_exchange() { call_once(Kernel::instance().before_exchange); }
void native_at_barrier() { call_once(Kernel::instance().at_barrier); }

void* bpf_map_lookup_elem(const void* map, const void* key) {
    Kernel& kernel = Kernel::instance();
    Map& from = kernel.map(map);
    void* place = kernel.lookup(from, key);
    // The elements of such a map are the addresses of the variables of other maps.
    if (place != nullptr && from.type == BPF_MAP_TYPE_ARRAY_OF_MAPS)
        return *static_cast<void**>(place);
    return place;
}

long bpf_map_update_elem(void* map, const void* key, const void* value, __u64 flags) {
    Kernel& kernel = Kernel::instance();
    Map& to = kernel.map(map);
    if (is_hash(to)) return put(to, key, value, flags);
    void* place = kernel.lookup(to, key);
    if (!place) return -E2BIG;
    if (flags == BPF_NOEXIST) return -EEXIST;
    std::memcpy(place, value, to.value_size);
    return 0;
}

long native_update(void* map, const void* key, const void* value) {
    return bpf_map_update_elem(map, key, value, BPF_ANY);
}

long bpf_map_delete_elem(void* map, const void* key) {
    Map& from = Kernel::instance().map(map);
    if (!is_hash(from)) return -EINVAL;
    std::erase(from.by_age, key_of(from, key));
    return from.of_key.erase(key_of(from, key)) ? 0 : -ENOENT;
}

void* bpf_ringbuf_reserve(void* ring, __u64 size, __u64) {
    Kernel& kernel = Kernel::instance();
    Map& map = kernel.map(ring);
    if (!take_room(map, size)) return nullptr;
    // A ring's memory keeps its old content.
    Value record = std::make_unique<std::byte[]>(size);
    std::memset(record.get(), 0xa5, size);
    void* place = record.get();
    map.records.emplace_back(size);
    kernel.reserved[place] = {&map, std::move(record)};
    return place;
}

void bpf_ringbuf_submit(void* record, __u64) {
    Kernel& kernel = Kernel::instance();
    const auto found = kernel.reserved.find(record);
    if (found == kernel.reserved.end()) refuse("it submitted what it had not reserved");
    Bytes& to = found->second.first->records.back();
    std::memcpy(to.data(), record, to.size());
    kernel.reserved.erase(found);
}

void bpf_ringbuf_discard(void* record, __u64) {
    Kernel& kernel = Kernel::instance();
    const auto found = kernel.reserved.find(record);
    if (found == kernel.reserved.end()) refuse("it discarded what it had not reserved");
    found->second.first->records.pop_back();
    kernel.reserved.erase(found);
}

long bpf_ringbuf_output(void* ring, const void* record, __u64 size, __u64) {
    Map& map = Kernel::instance().map(ring);
    if (!take_room(map, size)) return -EAGAIN;
    const auto* bytes = static_cast<const std::byte*>(record);
    map.records.emplace_back(bytes, bytes + size);
    return 0;
}

__u64 bpf_ktime_get_ns() {
    call_once(Kernel::instance().at_clock);
    return Kernel::instance().now_ns;
}
__u32 bpf_get_smp_processor_id() { return Kernel::instance().cpu; }
__u64 bpf_get_attach_cookie(const void*) { return Kernel::instance().cookie; }
__u64 bpf_get_current_cgroup_id() { return Kernel::instance().cgroup; }
__u64 bpf_get_current_pid_tgid() {
    return static_cast<__u64>(native_current()->pid) << 32 | native_current()->tid;
}
__u64 bpf_get_current_uid_gid() { return native_current()->uid; }

long bpf_get_current_comm(void* comm, __u32 size) {
    std::memcpy(comm, native_current()->comm,
                std::min<std::size_t>(size, sizeof(native_thread::comm)));
    return 0;
}

long bpf_probe_read_kernel(void* to, __u32 size, const void* from) {
    if (from == nullptr) return -EFAULT;
    std::memcpy(to, native_same(from), size);
    return 0;
}

long bpf_probe_read_kernel_str(void* to, __u32 size, const void* from) {
    if (from == nullptr) return -EFAULT;
    const auto* text = static_cast<const char*>(native_same(from));
    const std::size_t length = ::strnlen(text, size - 1);
    std::memcpy(to, text, length);
    static_cast<char*>(to)[length] = '\0';
    return static_cast<long>(length) + 1;
}

long bpf_get_stack(void*, void* to, __u32 size, __u64) {
    const auto& stack = Kernel::instance().stack;
    const std::size_t bytes = std::min<std::size_t>(size, stack.size() * sizeof(stack[0]));
    std::copy_n(reinterpret_cast<const std::byte*>(stack.data()), bytes,
                static_cast<std::byte*>(to));
    return static_cast<long>(bytes);
}

long bpf_get_task_stack(struct task_struct*, void* to, __u32 size, __u64 flags) {
    return bpf_get_stack(nullptr, to, size, flags);
}

long bpf_snprintf(char* to, __u32 size, const char*, const __u64* address, __u32) {
    const auto& names = Kernel::instance().names;
    const auto found = names.find(*address);
    const std::string name = found == names.end() ? "0x0" : found->second;
    to[name.copy(to, size - 1)] = '\0';
    return static_cast<long>(name.size()) + 1;
}

// Created when it is first asked for with this flag.
void* bpf_task_storage_get(const void* map, struct task_struct* task, void*, __u64 flags) {
    Kernel& kernel = Kernel::instance();
    const auto key = std::pair<const void*, const void*>(map, task);
    const auto found = kernel.task_storage.find(key);
    if (found != kernel.task_storage.end()) return found->second.get();
    if (flags != BPF_LOCAL_STORAGE_GET_F_CREATE) return nullptr;
    Value& value = kernel.task_storage[key];
    value = std::make_unique<std::byte[]>(kernel.map(map).value_size);
    return value.get();
}

// Only a program's texts and words can be read here.
static long read_words(void* to, __u32 size, const void* from, bool may_sleep) {
    const auto& [words, paged_out] =
        std::tie(Kernel::instance().user_words, Kernel::instance().paged_out);
    auto* const bytes = static_cast<std::byte*>(to);
    std::memset(to, 0, size);
    for (__u32 at = 0; at < size; at += sizeof(std::uint64_t)) {
        const auto found = words.find(reinterpret_cast<std::uint64_t>(from) + at);
        if (found == words.end() || (!may_sleep && paged_out.contains(found->first)))
            return -EFAULT;
        std::memcpy(bytes + at, &found->second, std::min<std::size_t>(size - at, 8));
    }
    return 0;
}

long bpf_probe_read_user(void* to, __u32 size, const void* from) {
    return read_words(to, size, from, false);
}

long bpf_copy_from_user_task(void* to, __u32 size, const void* from, struct task_struct* task,
                             __u64) {
    return task == nullptr ? -EFAULT : read_words(to, size, from, true);
}

long bpf_probe_read_user_str(void* to, __u32 size, const void* from) {
    const auto& texts = Kernel::instance().user_texts;
    const auto found = texts.find(reinterpret_cast<std::uint64_t>(from));
    if (found == texts.end()) return -EFAULT;
    const std::size_t length = std::min<std::size_t>(found->second.size(), size - 1);
    std::memcpy(to, found->second.data(), length);
    static_cast<char*>(to)[length] = '\0';
    return static_cast<long>(length) + 1;
}
}

}  // namespace lagtrap::native
