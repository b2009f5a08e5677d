"""Reads .proto files with their comments: protoc compiles them to a descriptor set, which this module parses.

The set is a message of Protobuf itself (google/protobuf/descriptor.proto). Its few needed fields are found by number,
so that no Python package is needed.
"""

import dataclasses
import pathlib
import subprocess
import tempfile

SCALARS = {
    1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 7: "fixed32", 8: "bool", 9: "string",
    12: "bytes", 13: "uint32", 15: "sfixed32", 16: "sfixed64", 17: "sint32", 18: "sint64",
}  # fmt: skip
REPEATED = 3


@dataclasses.dataclass
class Field:
    name: str
    type: str  # full name of a message or enum, or name of a scalar
    comment: str
    repeated: bool = False
    optional: bool = False
    oneof: str = ""


@dataclasses.dataclass
class Message:
    name: str  # without the package
    file: str
    comment: str
    fields: list[Field]
    is_enum: bool = False


@dataclasses.dataclass
class Method:
    name: str
    request: str
    answer: str
    comment: str
    client_streams: bool
    server_streams: bool


@dataclasses.dataclass
class Service:
    name: str
    file: str
    comment: str
    methods: list[Method]


@dataclasses.dataclass
class Files:
    services: list[Service] = dataclasses.field(default_factory=list)
    messages: dict[str, Message] = dataclasses.field(default_factory=dict)  # by full name, in order


# --- Protobuf's wire format


def number_at(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields_of(data: bytes) -> dict[int, list]:
    """Yields fields: numbers by value, everything else as bytes, by field number."""
    found: dict[int, list] = {}
    at = 0
    while at < len(data):
        tag, at = number_at(data, at)
        if tag & 7 == 0:
            value, at = number_at(data, at)
        else:
            size, at = (8, at) if tag & 7 == 1 else (4, at) if tag & 7 == 5 else number_at(data, at)
            value, at = data[at : at + size], at + size
        found.setdefault(tag >> 3, []).append(value)
    return found


def text(fields: dict[int, list], number: int) -> str:
    return fields.get(number, [b""])[0].decode()


def packed(data: bytes) -> tuple[int, ...]:
    numbers, at = [], 0
    while at < len(data):
        value, at = number_at(data, at)
        numbers.append(value)
    return tuple(numbers)


# --- Descriptors


class File:
    def __init__(self, data: bytes):
        self.fields = fields_of(data)
        self.name, self.package = text(self.fields, 1), text(self.fields, 2)
        self.comments = {}
        for location in fields_of(self.fields[9][0]).get(1, []) if 9 in self.fields else []:
            parts = fields_of(location)
            if 3 in parts:
                self.comments[packed(parts.get(1, [b""])[0])] = text(parts, 3)

    def comment(self, *path: int) -> str:
        return "\n".join(line.strip() for line in self.comments.get(path, "").split("\n")).strip()

    def add_to(self, files: Files) -> None:
        for at, data in enumerate(self.fields.get(4, [])):
            self._add_message(files, data, (4, at), "")
        for at, data in enumerate(self.fields.get(5, [])):
            self._add_enum(files, data, (5, at), "")
        for at, data in enumerate(self.fields.get(6, [])):
            parts = fields_of(data)
            methods = [self._method(fields_of(m), (6, at, 2, i)) for i, m in enumerate(parts.get(2, []))]
            files.services.append(Service(text(parts, 1), self.name, self.comment(6, at), methods))

    def _method(self, parts: dict[int, list], path: tuple[int, ...]) -> Method:
        streams = [bool(parts.get(number, [0])[0]) for number in (5, 6)]
        return Method(text(parts, 1), text(parts, 2)[1:], text(parts, 3)[1:], self.comment(*path), *streams)

    def _add_message(self, files: Files, data: bytes, path: tuple[int, ...], scope: str) -> None:
        parts = fields_of(data)
        name = scope + text(parts, 1)
        oneofs = [text(fields_of(oneof), 1) for oneof in parts.get(8, [])]
        fields = [self._field(fields_of(f), (*path, 2, i), oneofs) for i, f in enumerate(parts.get(2, []))]
        files.messages[f"{self.package}.{name}"] = Message(name, self.name, self.comment(*path), fields)
        for at, nested in enumerate(parts.get(3, [])):
            self._add_message(files, nested, (*path, 3, at), f"{name}.")
        for at, nested in enumerate(parts.get(4, [])):
            self._add_enum(files, nested, (*path, 4, at), f"{name}.")

    def _field(self, parts: dict[int, list], path: tuple[int, ...], oneofs: list[str]) -> Field:
        kind = text(parts, 6)[1:] or SCALARS[parts[5][0]]
        optional = bool(parts.get(17, [0])[0])
        oneof = oneofs[parts[9][0]] if 9 in parts and not optional else ""
        return Field(text(parts, 1), kind, self.comment(*path), parts[4][0] == REPEATED, optional, oneof)

    def _add_enum(self, files: Files, data: bytes, path: tuple[int, ...], scope: str) -> None:
        parts = fields_of(data)
        name = scope + text(parts, 1)
        values = [
            Field(text(fields_of(value), 1), "", self.comment(*path, 2, at))
            for at, value in enumerate(parts.get(2, []))
        ]
        files.messages[f"{self.package}.{name}"] = Message(name, self.name, self.comment(*path), values, is_enum=True)


def read(root: pathlib.Path, names: list[str]) -> Files:
    """Reads these .proto files, named relative to `root`."""
    with tempfile.NamedTemporaryFile(suffix=".pb") as compiled:
        subprocess.run(
            ["protoc", f"--proto_path={root}", "--include_source_info", f"--descriptor_set_out={compiled.name}", *names],
            check=True,
        )
        data = pathlib.Path(compiled.name).read_bytes()
    files = Files()
    for file in fields_of(data).get(1, []):
        File(file).add_to(files)
    return files
