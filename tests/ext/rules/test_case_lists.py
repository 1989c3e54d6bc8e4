"""What the page on the cases draws from the data."""

from pathlib import Path

from sample_site import SampleSite


def test_what_there_is_not_is_a_warning_with_its_line(tmp_path: Path) -> None:
    told = {
        "{cases} jury": "There are no cases of 'jury'.",
        "{vocabulary} nouns": "There are no words 'nouns'.",
        "{vocabulary} verbs jury": "There are no words 'verbs jury'.",
    }
    page = {"index": "".join(f"```{text}\n```\n" for text in told)}
    with SampleSite(tmp_path, page, "rules.domain", "rules.case_lists") as sample:
        found = "\n".join(sample.warnings)
        for line, warning in enumerate(told.values()):
            assert f"index.md:{2 * line + 1}: WARNING: {warning}" in found
        assert sample.page().select("dl.cases") == []
