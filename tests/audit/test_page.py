"""The page and the files next to it: well formed, escaped, without network, readable by machines and in a browser."""

import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from support.page_cases import violations
from support.report_cases import RULES, applicants, bank

import counterleaf as cl
from counterleaf.audit.page.page import page
from counterleaf.audit.page.words import percent

pytest_plugins = ["support.page_fixtures"]
HOSTILE = '<script>alert(1)</script> & "it\'s"\n=1+1'
TABLES = ("schema", "groups", "pairs", "differences", "features", "search", "fairness", "choices", "conflicts", "origin")


class Page(HTMLParser):
    """Checks that elements are closed in order, and collects them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.attributes = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def audit():
    return bank().audit(applicants(), target="granted", constraints=RULES, by=["sex", "age:25,40,60"], search=True)


def test_the_page_is_well_formed_and_needs_no_other_file(audit):
    text = audit.to_html()
    page = Page(text)
    assert "script" not in page.tags
    assert not re.search(r"(src|href)=\"(?!#)", text)
    assert "@import" not in text
    assert "url(http" not in text
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert page.tags.count("h1") == 1
    assert page.tags.count("table") == page.tags.count("caption")
    pictures = [attrs for tag, attrs in page.attributes if attrs.get("role") == "img"]
    assert len(pictures) == 6
    assert all(attrs["aria-label"] for attrs in pictures)
    anchors = {attrs["href"][1:] for tag, attrs in page.attributes if tag == "a"}
    assert anchors == {attrs["id"] for tag, attrs in page.attributes if tag == "section"}


def test_the_page_says_what_a_reader_needs(audit):
    text = " ".join(" ".join(Page(audit.to_html()).text).replace("\N{NO-BREAK SPACE}", " ").split())
    first = str(audit).splitlines()[0]
    assert first in text
    for part in (
        "The question",
        "L1('range')",
        "freeze('age', 'owner')",
        "unchanged: age, owner",
        "savings must be at least 0 and at most 6,000",
        "hours may only rise, by at most 12",
        "sex is not a feature; age is a feature that the model does not use",
        "its 99 % quantile minus its 1 % quantile",
        "A model's costs are not the world's.",
        "SHA-256 of the converted model",
        f"counterleaf {cl.__version__}",
        "No proof was checked again",
        "UTC",
        "Kavouras",
        "Ustun",
        "Equal choice of recourse",
        "comparisons of a group or pair of groups with all other rows",
        "95 % interval",
    ):
        assert part in text, part
    hash_of_model = re.search(r"\b[0-9a-f]{64}\b", text)[0]
    assert hash_of_model == hashlib.sha256(bank().to_json().encode()).hexdigest()


def test_hostile_names_and_values_are_escaped():
    rows = applicants(80).assign(**{HOSTILE: np.where(np.arange(80) % 2, HOSTILE, "=cmd()")})
    audit = bank().audit(rows, target="granted", by=[HOSTILE], constraints=RULES)
    for text in (audit.to_html(), audit._repr_html_()):
        page = Page(text)
        assert "script" not in page.tags
        assert "<script" not in text
        assert all(not name.startswith("on") for _, attrs in page.attributes for name in attrs)
    assert all(len(line) < 2000 for line in str(audit).splitlines())
    assert HOSTILE not in str(audit)  # its line break would break a line


def test_hostile_classes_and_features(tmp_path):
    name = "</title><b onload=x>"
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-5.0, 0, 0], [-1, 0, 1], classes=["no", name])
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Numeric(name, 0, 9)]))
    audit = explainer.audit(
        pd.DataFrame({name: np.arange(9.0)}), target=name, by={name: [3]}, constraints=cl.between(name, 0, 8)
    )
    page = Page(audit.to_html())
    assert "b" not in page.tags
    assert audit.groups.loc[0, "can"] == 5


def test_files_next_to_the_page(audit, tmp_path):
    files = audit.save(tmp_path / "deep" / "report.html")
    names = ["report.html"] + [f"report_{name}.{kind}" for name in TABLES for kind in ("csv", "parquet")]
    assert [file.name for file in files] == names
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == sorted(names)
    for name in TABLES:
        expected = getattr(audit, name)
        parquet = pd.read_parquet(tmp_path / "deep" / f"report_{name}.parquet")
        pd.testing.assert_frame_equal(parquet, expected, check_dtype=False)
        csv = pd.read_csv(tmp_path / "deep" / f"report_{name}.csv", keep_default_na=False, na_values={"x": []})
        assert csv.columns.tolist() == expected.columns.tolist()
        assert len(csv) == len(expected)
    assert (tmp_path / "deep" / "report.html").read_text() == audit.to_html()


def test_csv_cells_are_not_formulas(tmp_path):
    rows = applicants(60).assign(team=np.where(np.arange(60) % 2, "=HYPERLINK(1)", "@x"))
    audit = bank().audit(rows, target="granted", by="team")
    audit.save(tmp_path / "r.html")
    for path in tmp_path.glob("*.csv"):
        cells = pd.read_csv(path, dtype=str, keep_default_na=False).to_numpy().ravel().tolist()
        texts = [cell for cell in cells if not re.fullmatch(r"-?[\d.e+-]+|-inf", cell)]
        assert not [cell for cell in texts if cell[:1] in ("=", "+", "-", "@")], path
    groups = pd.read_csv(tmp_path / "r_groups.csv", keep_default_na=False)["group"].tolist()
    assert groups == ["all rows", "'=HYPERLINK(1)", "'@x"]
    assert pd.read_parquet(tmp_path / "r_groups.parquet")["group"].tolist() == ["all rows", "=HYPERLINK(1)", "@x"]


def test_without_pyarrow_there_are_no_parquet_files(audit, tmp_path, monkeypatch):
    monkeypatch.setattr("counterleaf.audit.audit.importlib.util.find_spec", lambda name: None)
    assert {path.suffix for path in audit.save(tmp_path / "r.html")} == {".html", ".csv"}


def test_names_that_are_not_pages(audit, tmp_path):
    with pytest.raises(cl.CounterleafError, match=r"^the report is .*report.pdf; expected a name that ends in .html$"):
        audit.save(tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []


def test_a_report_without_groups():
    audit = bank().audit(applicants(50), target="granted")
    page = Page(audit.to_html())
    assert page.tags.count("h2") == 6
    assert audit.pairs.columns.tolist() == audit.groups.columns.tolist()
    for name in TABLES:
        assert len(getattr(audit, name).columns) > 1


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(browser, audit, tmp_path, width, scheme):
    """No sideways scroll, no message of the console, and the rules of axe hold, in both colour schemes."""
    audit.save(tmp_path / "report.html")
    window = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    page, said = browser.new_page(**window), []
    page.on("console", lambda message: said.append(message.text))
    page.goto((tmp_path / "report.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(22, 24, 27)")
    assert said == []
    page.close()
    page = browser.new_page(**window, bypass_csp=True)  # axe is a script, which the page does not allow
    page.goto((tmp_path / "report.html").as_uri())
    assert violations(page) == []
    page.close()


@pytest.mark.parametrize(
    ("count", "of", "shown"),
    [
        (0, 6000, ("0.0 %", "0 %")),
        (2, 6000, ("< 0.1 %", "< 1 %")),
        (3000, 6000, ("50.0 %", "50 %")),
        (5999, 6000, ("> 99.9 %", "> 99 %")),
        (6000, 6000, ("100.0 %", "100 %")),
    ],
)
def test_no_share_is_rounded_to_none_or_to_all(count, of, shown):
    assert (percent(count / of), percent(count / of, 0)) == shown


def test_a_bar_of_nearly_all_rows_is_not_called_all():
    rows = pd.DataFrame({"x0": np.where(np.arange(6000) < 2, -1.0, 1.0)})
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [0.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    audit = cl.Explainer(tree).audit(rows, target="yes", constraints=cl.freeze("x0"))
    assert "> 99.9 % already have the target" in str(audit)
    assert "< 0.1 % provably cannot" in str(audit)
    assert "<strong>&gt; 99&nbsp;%</strong>" in page(audit._figures)
