// Writes the built files as a C++ source that defines find_web_file() of server/web/web_files.hpp.

const types = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  txt: "text/plain; charset=utf-8",
};

// Octal escapes always have three digits, so the next character cannot extend them. Compilers parse
// string literals faster than lists of bytes.
function literal(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 64) {
    let line = "";
    for (const byte of bytes.subarray(at, at + 64)) {
      line +=
        byte >= 32 && byte < 127 && byte !== 34 && byte !== 92 && byte !== 63
          ? String.fromCharCode(byte)
          : `\\${byte.toString(8).padStart(3, "0")}`;
    }
    lines.push(`    "${line}"`);
  }
  return lines.length > 0 ? lines.join("\n") : '    ""';
}

export function embed(files) {
  const parts = [
    "// Made by server/web/build.mjs.",
    '#include "server/web/web_files.hpp"',
    "",
    "#include <array>",
    "",
    "namespace lagtrap::server {",
    "namespace {",
    "",
    "using namespace std::string_view_literals;",
    "",
  ];
  files.forEach((file, index) => {
    for (const form of ["bytes", "gzip", "brotli"])
      parts.push(`constexpr std::string_view ${form}_${index} =`, `${literal(file[form])}sv;`, "");
  });
  parts.push(`constexpr std::array<WebFile, ${files.length}> files{{`);
  files.forEach((file, index) => {
    const type = types[file.path.split(".").at(-1)];
    if (!type) throw new Error(`no content type is known for ${file.path}`);
    const unchanging = /-[A-Z0-9]{8}\.(js|css)$/.test(file.path);
    parts.push(
      `    {"${file.path}", "${type}", "\\"${file.etag}\\"", bytes_${index}, gzip_${index}, ` +
        `brotli_${index}, ${unchanging}},`,
    );
  });
  parts.push(
    "}};",
    "",
    "}  // namespace",
    "",
    "std::span<const WebFile> web_files() { return files; }",
    "",
    "}  // namespace lagtrap::server",
    "",
  );
  return parts.join("\n");
}
