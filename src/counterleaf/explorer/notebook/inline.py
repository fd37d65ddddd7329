"""The page as one HTML text without any address, for the frame of a notebook."""

from __future__ import annotations

import base64
import functools
import json
import posixpath
import re

from counterleaf.explorer.web import files

# nothing may be loaded, and nothing may be sent except messages to the notebook
POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
_STYLE = "#link { display: none; }"  # a frame has no address to copy
_LINK = re.compile(r'<link rel="stylesheet" href="/page/([^"]+)" />')
_IMAGE = re.compile(r'(?:src|href)="/page/([^"]+\.svg)"')
_SCRIPT = re.compile(r'<script type="module" src="/page/([^"]+)"></script>')
_IMPORT = re.compile(r"""(\bfrom\s+|\bimport\s*\(?\s*)(["'])(\.\.?/[^"']+)\2""")


@functools.cache
def inline_page() -> str:
    """The page with its styles, scripts and pictures inside.

    A frame with a unique origin cannot load files of the notebook's server. Scripts become data URLs in an import map, under
    names that do not depend on an address.
    """
    modules: dict[str, str] = {}
    page = _LINK.sub(lambda found: f"<style>{_text(found[1])}</style>", _text("index.html"))
    page = _IMAGE.sub(lambda found: found[0].replace(f"/page/{found[1]}", _data_url(_text(found[1]), "image/svg+xml")), page)
    scripts = _SCRIPT.findall(page)
    for name in scripts:
        _collect(name, modules)
    imports = json.dumps({"imports": {_key(name): _data_url(text, "text/javascript") for name, text in modules.items()}})
    starts = "".join(f'import "{_key(name)}";' for name in scripts)
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}" /><style>{_STYLE}</style>'
        f'<script type="importmap">{imports}</script><script type="module">{starts}</script></head>'
    )
    return _SCRIPT.sub("", page).replace("</head>", head).replace("<html ", "<html data-embedded ")


def _collect(name: str, modules: dict[str, str]) -> None:
    """Add a module, and those that it imports, with names that do not depend on an address."""
    if name in modules:
        return
    folder, text = posixpath.dirname(name), _text(name)
    modules[name] = ""
    for found in _IMPORT.finditer(text):
        _collect(posixpath.normpath(posixpath.join(folder, found[3])), modules)
    modules[name] = _IMPORT.sub(lambda found: f'{found[1]}"{_key(posixpath.normpath(posixpath.join(folder, found[3])))}"', text)


def _key(name: str) -> str:
    return f"counterleaf/{name}"


def _text(name: str) -> str:
    content = files.read(name)
    assert content is not None, name
    return content.decode()


def _data_url(text: str, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(text.encode()).decode()}"
