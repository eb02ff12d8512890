# SPDX-License-Identifier: Apache-2.0
"""Mappings of a YAML file, read field by field.

A missing, unknown or wrong field gives one sentence with file, field and remedy. Scalars are taken
as written text, because YAML 1.1 reads the MAC 12:00:00:00:00:01 and the version 3.10 as numbers.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import yaml

from sallyport.errors import InputError

_REQUIRED = object()
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")


class _Loader(yaml.BaseLoader):
    """Of two fields of one name PyYAML would take the last one without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        names = [self.construct_object(key, deep=True) for key, _ in node.value]
        for name in names:
            if isinstance(name, str) and names.count(name) > 1:
                raise yaml.constructor.ConstructorError(
                    problem=f"field {name!r} is there twice", problem_mark=node.start_mark
                )
        return super().construct_mapping(node, deep)


def read(file: Path, like: str) -> Section:
    """The mapping that is the whole of `file`; `like` is the example that its sentences
    point to."""
    try:
        # A subclass of BaseLoader, which makes text, lists and mappings and nothing else.
        node = yaml.load(file.read_text(encoding="utf-8"), Loader=_Loader)
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}); name a lab file, {like} is an example") from None
    except UnicodeDecodeError:
        raise InputError(f"{file}: is no UTF-8 text; name a lab file, {like} is an example") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{file}:{line}: is no YAML ({error.problem}); see {like}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{file}: is no YAML ({str(error).splitlines()[0]}); see {like}") from None
    return Section(file, "", node, like)


class Section:
    """One mapping. Every call takes a field out; `finish` refuses the fields that no call took."""

    def __init__(self, file: Path, where: str, node: object, like: str) -> None:
        self._file, self._where, self._like = file, where, like
        if not isinstance(node, dict):
            raise self._error("", f"is not a mapping of fields; see {like}")
        self._rest = dict(node)
        self._known: list[str] = []

    def _error(self, name: str, problem: str) -> InputError:
        where = ".".join(part for part in (self._where, name) if part)
        return InputError(f"{self._file}: {where + ': ' if where else ''}{problem}")

    def _take(self, name: str, default: object) -> object:
        self._known.append(name)
        if name not in self._rest:
            if default is _REQUIRED:
                raise self._error(name, f"is missing; see {self._like}")
            return default
        return self._rest.pop(name)

    def has(self, name: str) -> bool:
        return name in self._rest

    def text(self, name: str, default: object = _REQUIRED) -> str:
        value = self._take(name, default)
        if value is default:
            return value  # type: ignore[return-value]
        if not isinstance(value, str) or not value.strip():
            raise self._error(name, f"{value!r} is no text; write one word or line")
        return value.strip()

    def integer(self, name: str, low: int, high: int, default: object = _REQUIRED) -> int:
        value = self._take(name, default)
        if value is default:
            return value  # type: ignore[return-value]
        if not isinstance(value, str) or not re.fullmatch(r"\d{1,12}", value) or not low <= int(value) <= high:
            raise self._error(name, f"{value!r} is not a whole number of {low} to {high}; choose one")
        return int(value)

    def flag(self, name: str, default: bool) -> bool:
        return self.choice(name, ("true", "false"), "true" if default else "false") == "true"

    def choice(self, name: str, options: tuple[str, ...], default: object = _REQUIRED) -> str:
        value = self._take(name, default)
        if value not in options:
            raise self._error(name, f"{value!r} is not offered; choose {' or '.join(options)}")
        return str(value)

    def choices(self, name: str, options: tuple[str, ...]) -> tuple[str, ...]:
        value = self._take(name, [])
        if not isinstance(value, list) or not all(each in options for each in value) or len({*value}) < len(value):
            raise self._error(
                name, f"{value!r} is not a list of different ones of {', '.join(options)}; write [{options[0]}] or []"
            )
        return tuple(value)

    def mac(self, name: str) -> str:
        value = self.text(name).lower()
        if not _MAC.fullmatch(value) or int(value[:2], 16) & 1 or value == "00:00:00:00:00:00":
            raise self._error(name, f"{value!r} is not the MAC address of a port; write it as 02:00:00:00:00:01")
        return value

    def folder(self, name: str) -> Path:
        value = Path(self.text(name))
        if not value.is_absolute() or not value.is_dir():
            raise self._error(name, f"'{value}' is no folder here; name one by its whole path, such as /tmp")
        return value

    def host(self, name: str) -> str:
        value = self.text(name)
        try:
            ip_address(value)
        except ValueError:
            if not _HOST.fullmatch(value) or re.fullmatch(r"[\d.]+", value):
                raise self._error(name, f"{value!r} is neither an IP address nor a name of a host; write one") from None
        return value

    def ipv4(self, name: str) -> str:
        value = self.text(name)
        try:
            return str(IPv4Address(value))
        except ValueError:
            raise self._error(name, f"{value!r} is not an IPv4 address; write one") from None

    def link_local(self, name: str) -> str:
        value = self.text(name)
        try:
            address = IPv6Address(value)
        except ValueError:
            address = None
        if address is None or not address.is_link_local or address.scope_id:
            raise self._error(name, f"{value!r} is not a link-local IPv6 address; write the box's, such as fe80::1")
        return str(address)

    def section(self, name: str) -> Section:
        return Section(
            self._file, ".".join(part for part in (self._where, name) if part), self._take(name, _REQUIRED), self._like
        )

    def sections(self, name: str, counts: tuple[int, ...]) -> list[Section]:
        value = self._take(name, _REQUIRED)
        if not isinstance(value, list) or len(value) not in counts:
            raise self._error(name, f"must be a list of {' or '.join(map(str, counts))}; see {self._like}")
        return [Section(self._file, f"{name}[{number}]", node, self._like) for number, node in enumerate(value)]

    def refuse(self, name: str, problem: str) -> InputError:
        """The error that says `problem` of field `name`."""
        return self._error(name, problem)

    def finish(self) -> None:
        if self._rest:
            raise self._error(
                str(next(iter(self._rest))), f"there is no such field; choose from {', '.join(self._known)}"
            )
