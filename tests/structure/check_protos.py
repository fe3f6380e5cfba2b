"""The .proto files match the code: the same fields with the same numbers, by message."""

import re

import tree

MESSAGE = re.compile(r"^message (\w+) \{(.*?)^\}", re.M | re.S)
FIELD = re.compile(r"^\s*(?:repeated )?[\w.]+ (\w+) = (\d+)", re.M)


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def of_proto(path: str) -> dict:
    text = re.sub(r"//[^\n]*", "", (tree.ROOT / path).read_text(encoding="utf-8"))
    return {
        snake(name): {field: int(number) for field, number in FIELD.findall(body)}
        for name, body in MESSAGE.findall(text)
    }


def of_namespaces(path: str) -> dict:
    """`namespace run { inline constexpr std::uint32_t event = 1; }`"""
    found, message = {}, ""
    for line in (tree.ROOT / path).read_text(encoding="utf-8").splitlines():
        if opened := re.match(r"namespace (\w+) \{", line):
            message = opened.group(1)
        elif field := re.match(r"inline constexpr std::uint32_t (\w+) = (\d+);", line):
            found.setdefault(message, {})[field.group(1)] = int(field.group(2))
    return found


def of_enums(path: str, enums: dict) -> dict:
    """`enum Field { event_field = 1, }`, with the message of each enum given."""
    text = (tree.ROOT / path).read_text(encoding="utf-8")
    return {
        message: {
            field: int(number)
            for field, number in re.findall(
                r"(\w+)_field = (\d+)",
                re.search(rf"enum {name} [^{{]*\{{(.*?)\}}", text, re.S).group(1),
            )
        }
        for name, message in enums.items()
    }


def differences(proto: str, code: str, said: dict, written: dict) -> list:
    problems = []
    for message in sorted(said.keys() | written.keys()):
        ours, theirs = said.get(message, {}), written.get(message, {})
        for field in sorted(ours.keys() | theirs.keys()):
            if ours.get(field) != theirs.get(field):
                problems.append(
                    f"{message}.{field} is {ours.get(field)} in {proto} and {theirs.get(field)} in "
                    f"{code}"
                )
    return problems


def main() -> None:
    batch, fields = "trace/run_batches/run_batch.proto", "trace/run_batches/run_batch_fields.hpp"
    profile, file = "analysis/run_profile.proto", "analysis/run_profile_file.cpp"
    problems = differences(batch, fields, of_proto(batch), of_namespaces(fields))
    of_profile = of_enums(file, {"Field": "run_profile", "FrameField": "frame"})
    problems += differences(profile, file, of_proto(profile), of_profile)
    tree.finish(problems, sum(map(len, [*of_proto(batch).values(), *of_proto(profile).values()])))


if __name__ == "__main__":
    main()
