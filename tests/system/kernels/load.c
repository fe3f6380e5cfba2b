// The init process of a machine that has only a kernel: loads the BPF objects in /objects, prints
// on the console whether the kernel accepted each, and powers the machine off. Statically linked.
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char said[64 * 1024];
static size_t said_bytes;

static int keep(enum libbpf_print_level level, const char* format, va_list arguments) {
    if (level == LIBBPF_DEBUG || said_bytes + 1 >= sizeof(said)) return 0;
    const int length = vsnprintf(said + said_bytes, sizeof(said) - said_bytes, format, arguments);
    if (length > 0) said_bytes += strlen(said + said_bytes);
    return length;
}

// Constants that lagtrapd sets before loading, as far as they make the verifier check more code.
// The values of offsets are arbitrary.
static const struct {
    const char* name;
    unsigned value;
} settings[] = {{"preempt_count_after_run_queue", 64},
                {"walk_scratch_count", 4},
                {"run_queue_events", 1},
                {"owner_asked", 1},
                {"owner_uid", 1000},
                {"target_pid", 1},
                {"goid_offset", 152},
                {"memory_by_request", 1},
                {"errno_slot", 8}};

static void set_variable(const struct btf* types, const struct btf_var_secinfo* variable,
                         char* values) {
    const char* name = btf__name_by_offset(types, btf__type_by_id(types, variable->type)->name_off);
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); ++i)
        if (strcmp(name, settings[i].name) == 0)
            memcpy(values + variable->offset, &settings[i].value,
                   variable->size < 4 ? variable->size : 4);
}

static void set_all(struct bpf_object* object) {
    const struct btf* types = bpf_object__btf(object);
    struct bpf_map* map = bpf_object__find_map_by_name(object, ".rodata");
    const int section =
        types != NULL ? btf__find_by_name_kind(types, ".rodata", BTF_KIND_DATASEC) : -1;
    size_t size = 0;
    char* values = map != NULL ? bpf_map__initial_value(map, &size) : NULL;
    if (section < 0 || values == NULL) return;
    const struct btf_type* type = btf__type_by_id(types, section);
    for (int i = 0; i < btf_vlen(type); ++i)
        set_variable(types, btf_var_secinfos(type) + i, values);
}

// Loads the object as it is, or with everything that lagtrapd may switch on.
static int load_once(const char* name, int with_all) {
    char path[300];
    snprintf(path, sizeof(path), "/objects/%s", name);
    said_bytes = 0;
    said[0] = '\0';
    struct bpf_object* object = bpf_object__open_file(path, NULL);
    if (object != NULL && with_all) set_all(object);
    const int is_loaded = object != NULL && bpf_object__load(object) == 0;
    bpf_object__close(object);
    return is_loaded;
}

static void load(const char* name) {
    if (load_once(name, 0) && load_once(name, 1))
        printf("loaded %s\n", name);
    else
        printf("refused %s\n%s\n", name, said);
}

int main(void) {
    mkdir("/proc", 0755);
    mkdir("/sys", 0755);
    mount("proc", "/proc", "proc", 0, "");
    mount("sysfs", "/sys", "sysfs", 0, "");
    mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, "");
    const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_MEMLOCK, &unlimited);
    libbpf_set_print(keep);
    setvbuf(stdout, NULL, _IOLBF, 0);
    DIR* folder = opendir("/objects");
    for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.') load(entry->d_name);
    printf("all were tried\n");
    sync();
    reboot(RB_POWER_OFF);
    return 1;
}
