"""Pages of models with every kind of feature, as a pytest plugin."""

import pytest
from support.feature_cases import every_kind, with_gaps
from support.page_cases import cookies_of, running, windows


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    opened = {}
    folder = tmp_path_factory.mktemp("features")
    for make in (every_kind, with_gaps):
        explainer, rows = make()
        model, data = folder / f"{make.__name__}.json", folder / f"{make.__name__}.csv"
        model.write_text(explainer.to_json())
        rows.to_csv(data, index=False)
        opened[make] = (str(model), "--data", str(data))
    return opened


def entering(make):
    @pytest.fixture(scope="module")
    def server(servers):
        with running(*servers[make]) as address:
            yield address.partition("/?")[0], cookies_of(address)

    return server


kinds_server, gaps_server = entering(every_kind), entering(with_gaps)


@pytest.fixture
def enter_kinds(browser, kinds_server):
    with windows(browser, *kinds_server) as enter:
        yield enter


@pytest.fixture
def kinds(enter_kinds):
    return enter_kinds()


@pytest.fixture
def gaps(browser, gaps_server):
    with windows(browser, *gaps_server) as enter:
        yield enter()
