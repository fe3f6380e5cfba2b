// The first process of a machine that has nothing but a kernel: loads the BPF objects in /objects, says of each on the console
// whether the kernel took it, and switches the machine off. Linked statically.
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

static void load(const char* name) {
    char path[300];
    snprintf(path, sizeof(path), "/objects/%s", name);
    said_bytes = 0;
    said[0] = '\0';
    struct bpf_object* object = bpf_object__open_file(path, NULL);
    if (object == NULL || bpf_object__load(object) != 0)
        printf("refused %s\n%s\n", name, said);
    else
        printf("loaded %s\n", name);
    bpf_object__close(object);
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
