"""Catalogs, compiled."""

import os
from pathlib import Path

import pytest

from lifespec_docs.i18n.compilation import compile_catalogs

HEAD = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
CATALOG = f'{HEAD}\nmsgid "a"\nmsgstr "甲"\n'


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    path = tmp_path / "zh_CN" / "page.po"
    path.parent.mkdir()
    path.write_text(CATALOG)
    return path


def test_what_is_older_than_its_catalog_is_written_anew(catalog: Path) -> None:
    binary = catalog.with_suffix(".mo")
    binary.write_bytes(b"as it was")
    compile_catalogs(catalog.parents[1])
    assert binary.read_bytes() == b"as it was"
    os.utime(binary, (0, 0))
    compile_catalogs(catalog.parents[1])
    assert binary.read_bytes() != b"as it was"


@pytest.mark.parametrize("content", [b"no catalog", b'msgid "\xff"\nmsgstr ""\n'])
def test_what_is_no_catalog_is_passed_over(catalog: Path, content: bytes) -> None:
    """Others say what is wrong with it."""
    catalog.write_bytes(content)
    compile_catalogs(catalog.parents[1])
    assert not catalog.with_suffix(".mo").exists()
