// Reads a mapped file at random places, none of which is in memory. Usage: mapped_file FILE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstddef>

#include "program.hpp"

namespace {

constexpr std::size_t page_bytes = 4096;

struct Table {
    int file = -1;
    const volatile char* data = nullptr;
    std::size_t pages = 0;
};

PLANTED long sum_rows(const Table& table, std::size_t rows) {
    long sum = 0;
    std::size_t page = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        page = (page * 5 + 7919) % table.pages;
        sum += table.data[page * page_bytes];
    }
    return sum;
}

Table open_table(const char* path) {
    Table table;
    table.file = ::open(path, O_RDONLY | O_CLOEXEC);
    struct stat facts {};
    if (table.file < 0 || ::fstat(table.file, &facts) != 0) cases::give_up(path);
    table.pages = static_cast<std::size_t>(facts.st_size) / page_bytes;
    void* data = ::mmap(nullptr, table.pages * page_bytes, PROT_READ, MAP_SHARED, table.file, 0);
    if (data == MAP_FAILED || ::madvise(data, table.pages * page_bytes, MADV_RANDOM) != 0)
        cases::give_up("mmap");
    table.data = static_cast<const volatile char*>(data);
    return table;
}

// Removes the file's pages from memory.
void forget(const Table& table) {
    const std::size_t size = table.pages * page_bytes;
    if (::madvise(const_cast<char*>(table.data), size, MADV_DONTNEED) != 0)
        cases::give_up("madvise");
    if (::posix_fadvise(table.file, 0, 0, POSIX_FADV_DONTNEED) != 0)
        cases::give_up("posix_fadvise");
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const Table table = open_table(arguments[1]);
    return cases::serve([&table](bool slow) {
        if (slow) forget(table);
        (void)sum_rows(table, slow ? 20'000 : 10);
    });
}
