# SPDX-License-Identifier: Apache-2.0
"""`python -m suite_list LIST FOLDER` reads the list and writes every file that comes from it
below FOLDER."""

import sys
from pathlib import Path

from . import answers, languages
from .model import read
from .shape import ListError

FILES = {
    "regs/suites.rdl": languages.systemrdl,
    "crypto_fpga/src/suite/SuiteList.scala": languages.scala,
    "crypto_fpga/src/selftest/KnownAnswerList.scala": answers.scala,
    "mgmt/internal/suite/list.go": languages.go,
    "mgmt/strongswan/suites.inc": languages.charon,
    "sim/engine/src/model/suite_list.h": languages.cpp,
    "sim/engine/fuzz/ideal/self_test.h": answers.cpp,
    "sim/python/sallyport/suite_list.py": languages.python,
    "docs/reference/suites.md": languages.markdown,
}


def main(source: str, folder: str) -> None:
    try:
        suites = read(Path(source))
        texts = {name: language(suites) for name, language in FILES.items()}
    except ListError as error:
        print(f"regs: {error}", file=sys.stderr)
        sys.exit(2)
    for name, text in texts.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


main(*sys.argv[1:])
