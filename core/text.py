"""Every sentence a person reads, in both languages.

One TOML file per subject in `sample_data/text`, each with the tables `[en]` and `[ko]`. The file's
name is the first part of a key, tables inside a language are the next ones, and placeholders are
those of `str.format`, by name only:

    # sample_data/text/frame.toml              text("ko", "frame.shared.count", n=3)
    [en.shared]
    count = "{n} links shared"
    [ko.shared]
    count = "링크 {n}개를 공유했어요"

Korean particles that depend on the word before them are written in the usual double form,
"{name}을(를)", and settled when the text is rendered: 예산을, 모델을, 메뉴를.

Code in `core` that has something to tell a person returns a `Note`; only the edge renders it.
"""

from __future__ import annotations

import difflib
import re
import string
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from core.errors import InvalidData, PlaygroundError, Unavailable, UnknownName
from core.korean import settle_particles

Lang = Literal["en", "ko"]
LANGS: tuple[Lang, ...] = get_args(Lang)

TEXT_DIR = Path(__file__).resolve().parent.parent / "sample_data" / "text"

Catalogue = Mapping[Lang, Mapping[str, str]]
Keys = tuple[str, ...]

_NAME = re.compile(r"[a-z0-9_]+")


@dataclass(frozen=True, slots=True)
class Note:
    """A message as data: which text, and what to put into it.

    `args` are sorted by name, so equal messages are equal values; an argument that is itself a
    `Note` is rendered in the reader's language first. Build one with `Note.of`.
    """

    key: str
    args: tuple[tuple[str, str | int | float | Note], ...] = ()

    @classmethod
    def of(cls, key: str, **args: str | float | Note) -> Note:
        """Return the note for the text `key` with its placeholders filled by name."""
        return cls(key, tuple(sorted(args.items())))


@dataclass(frozen=True, slots=True)
class Gap:
    """A key that is not the same in both languages, and what is wrong with it."""

    key: str
    problem: str


def text(lang: Lang, key: str, /, **args: object) -> str:
    """Return the text `key` in `lang`, its placeholders filled.

    Raises:
        UnknownName: no catalogue holds the key in that language; the nearest ones are named.
        TypeError: a placeholder of the text has no argument (a mistake of the caller).
    """
    entries = catalogue()[lang]
    try:
        template = entries[key]
    except KeyError:
        near = difflib.get_close_matches(key, entries, n=5, cutoff=0.3) or sorted(entries)[:5]
        raise UnknownName(f"{lang} text", key, near) from None
    try:
        filled = template.format(**args)
    except KeyError as missing:
        needs = ", ".join(sorted(placeholders(template)))
        raise TypeError(f"text {key!r} needs {needs}; {missing} was not given") from None
    return settle_particles(filled) if lang == "ko" else filled


def say(note: Note, lang: Lang) -> str:
    """Return the note as a sentence in `lang`. Raises: as `text`."""
    args = {
        name: say(value, lang) if isinstance(value, Note) else value for name, value in note.args
    }
    return text(lang, note.key, **args)


def unavailable(key: str, /, **facts: str | float) -> Unavailable:
    """Return the error that says `unavailable.<key>`, on pages in the reader's language."""
    whole = f"unavailable.{key}"
    return Unavailable(text("en", whole, **facts), key=whole, facts=facts)


def reason(error: PlaygroundError, lang: Lang) -> str:
    """Return what an error says, in `lang` where the catalogues have its sentence."""
    if isinstance(error, Unavailable) and error.key:
        return text(lang, error.key, **error.facts)
    return str(error)


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """Return all texts, read once per process. Raises: InvalidData for a broken file."""
    return load(TEXT_DIR)


def load(folder: Path) -> Catalogue:
    """Read every catalogue file of `folder`, in the order of their names.

    Raises:
        InvalidData: a file that is not TOML, lacks a language or has a third one, or holds
            something that is not a text with named placeholders; names file, line and key.
    """
    found: dict[Lang, dict[str, str]] = {lang: {} for lang in LANGS}
    for file in sorted(folder.glob("*.toml")):
        source = file.read_text(encoding="utf-8")
        tables = _parse(file.name, source)
        for lang in LANGS:
            for path, value in _leaves(tables[lang], (lang,)):
                _check(file.name, source, path, value)
                found[lang][".".join((file.stem, *path[1:]))] = str(value)
    return found


def gaps(texts: Catalogue | None = None) -> tuple[Gap, ...]:
    """Return what keeps the languages from saying the same: missing keys, other placeholders."""
    texts = catalogue() if texts is None else texts
    found: list[Gap] = []
    for key in sorted(set().union(*(texts[lang] for lang in LANGS))):
        missing = [lang for lang in LANGS if key not in texts[lang]]
        if missing:
            found.append(Gap(key, f"no text in {', '.join(missing)}"))
            continue
        english, korean = (placeholders(texts[lang][key]) for lang in LANGS)
        if english != korean:
            found.append(Gap(key, f"placeholders differ: {sorted(english)} and {sorted(korean)}"))
    return tuple(found)


def placeholders(template: str) -> frozenset[str]:
    """Return the names of the placeholders in `template`. Raises: ValueError when malformed."""
    return frozenset(name for _, name, _, _ in string.Formatter().parse(template) if name)


def _parse(name: str, source: str) -> dict[str, dict[str, object]]:
    """Return the language tables of one file."""
    try:
        tables = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        line = int(at.group(1)) if at else source.count("\n") + 1
        raise InvalidData(name, str(error), line=line, key="(whole file)") from None
    for lang in LANGS:
        if not isinstance(tables.get(lang), dict):
            raise InvalidData(name, f"there must be a table [{lang}]", line=1, key=lang)
    for key in tables:
        if key not in LANGS:
            line = _line_of(source, (key,))
            raise InvalidData(name, "only [en] and [ko] may stand here", line=line, key=key)
    return tables


def _leaves(table: Mapping[str, object], path: Keys) -> Iterator[tuple[Keys, object]]:
    """Yield every entry below `table` with its path, in the file's order."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name), value


def _check(name: str, source: str, path: Keys, value: object) -> None:
    """Refuse an entry that is not a text `str.format` can fill by name."""
    problem = ""
    if not all(_NAME.fullmatch(part) for part in path):
        problem = "names are lower-case letters, digits and underscores"
    elif not isinstance(value, str):
        problem = f"must be a text, not {type(value).__name__}"
    elif not value.strip():
        problem = "is empty"
    else:
        try:
            fields = [field for _, field, _, _ in string.Formatter().parse(value)]
        except ValueError as error:
            problem = f"{error}; write {{{{ and }}}} for braces"
        else:
            bad = [f for f in fields if f is not None and not _NAME.fullmatch(f)]
            problem = f"placeholder {{{bad[0]}}} must be a plain name" if bad else ""
    if problem:
        raise InvalidData(name, problem, line=_line_of(source, path), key=".".join(path))


def _line_of(source: str, path: Keys) -> int:
    """Return the line on which the entry `path` is written, or that of its table, from 1.

    `tomllib` keeps no positions, so the headers and keys are looked for as they are usually
    written; an entry written in an unusual way is reported at the last table found on its path.
    """
    table: Keys = ()
    best = 1
    for number, line in enumerate(source.splitlines(), start=1):
        if header := re.match(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?$", line):
            table = tuple(part.strip().strip("\"'") for part in header.group(1).split("."))
            if table == path[: len(table)]:
                best = number
        elif key := re.match(r"\s*([^=#\[]+?)\s*=", line):
            entry = (*table, *(part.strip().strip("\"'") for part in key.group(1).split(".")))
            if entry == path:
                return number
    return best
