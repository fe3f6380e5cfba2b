// Writes jitdumps according to the specification.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lagtrap::trace {

class JitdumpWriter {
  public:
    explicit JitdumpWriter(std::uint64_t flags = 0, std::uint32_t magic = 0x4a695444,
                           std::uint32_t version = 1) {
        add<std::uint32_t>({magic, version, 40, 62, 0, 77});
        add<std::uint64_t>({0, flags});
    }
    void load(std::uint64_t at_ns, std::uint64_t address, std::uint64_t index,
              const std::string& name, const std::string& code) {
        const std::string text = name + '\0' + code;
        begin(0, 40 + text.size(), at_ns);
        add<std::uint32_t>({77, 78});
        add<std::uint64_t>({address, address, code.size(), index});
        bytes += text;
    }
    void move(std::uint64_t at_ns, std::uint64_t from, std::uint64_t to, std::uint64_t size,
              std::uint64_t index) {
        begin(1, 48, at_ns);
        add<std::uint32_t>({77, 78});
        add<std::uint64_t>({to, from, to, size, index});
    }
    // A record of any kind.
    void other(std::uint32_t kind, const std::string& content) {
        begin(kind, content.size(), 1);
        bytes += content;
    }
    std::string bytes;

  private:
    template <typename T>
    void add(const std::vector<T>& numbers) {
        for (const T number : numbers)
            bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
    }
    void begin(std::uint32_t kind, std::size_t content_bytes, std::uint64_t at_ns) {
        add<std::uint32_t>({kind, static_cast<std::uint32_t>(16 + content_bytes)});
        add<std::uint64_t>({at_ns});
    }
};

}  // namespace lagtrap::trace
