"""Settings of the book, which `make docs` builds from these pages, the examples and the docstrings, without a network."""

import sys
from pathlib import Path
from weakref import WeakSet

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for commands.py

import matplotlib.pyplot as plt  # noqa: E402  # after the path
from matplotlib.figure import Figure  # noqa: E402  # the same
from sphinx_gallery.scrapers import figure_rst  # noqa: E402  # the same

import counterleaf  # noqa: E402  # the same

project = "counterleaf"
author = "The counterleaf developers"
project_copyright = "the counterleaf developers, BSD-3-Clause"
version = release = counterleaf.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_gallery.gen_gallery", "commands"]
exclude_patterns = ["_build", "auto_examples/index.rst"]  # the index of the book lists the pages of the gallery
nitpicky = True
smartquotes = False  # the two dashes of an option stay two dashes
suppress_warnings = ["config.cache"]  # a function among the settings only means that every page is read again

html_theme = "furo"
html_title = "counterleaf"
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_copy_source = html_show_sphinx = False
pygments_style, pygments_dark_style = "tango", "github-dark"

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings name the types
autodoc_default_options = {"exclude-members": "set_fit_request, set_score_request"}
napoleon_google_docstring = napoleon_use_param = napoleon_use_rtype = napoleon_attr_annotations = False
napoleon_custom_sections = [("Attributes", "params_style")]
SHOWN = WeakSet()


def last_figure(block, block_vars, gallery_conf):
    """Save the figure that a block of an example ends with, as a notebook would; pyplot does not know these figures."""
    figure = block_vars["example_globals"].get("___")  # the last value; it stays until a block ends with another one
    if not isinstance(figure, Figure) or figure in SHOWN or figure in map(plt.figure, plt.get_fignums()):
        return ""
    SHOWN.add(figure)
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=150)
    return figure_rst([path], gallery_conf["src_dir"])


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"[/\\]\d\d_",
    "ignore_pattern": r"(^|[/\\])(?!\d\d_)[^/\\]*\.py$",
    "within_subsection_order": "FileNameSortKey",
    "run_stale_examples": True,  # the library may have changed even if the script has not
    "only_warn_on_example_error": False,
    "image_scrapers": (last_figure, "matplotlib"),
    "ignore_repr_types": r"matplotlib\.",
    "doc_module": ("counterleaf",),
    "reference_url": {"counterleaf": None},
    "backreferences_dir": None,
    "write_computation_times": False,
    "min_reported_time": 3600,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
}
