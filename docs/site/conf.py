"""How Sphinx builds the site. ``make docs`` runs it; see ``build.py``."""

import re
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from sources import GALLERY  # noqa: E402

project = "Budgetron"
author = "the authors of Budgetron"
project_copyright = "the authors of Budgetron, BSD-3-Clause"
release = version = metadata.version("budgetron")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "formulas",
]
root_doc = "index"
default_role = "code"  # `name` in a docstring
exclude_patterns = ["gallery/*.py", "gallery/sg_execution_times.rst", "sg_execution_times.rst"]

# ---- Markdown

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4  # as on a forge: links lead to headings by their text
myst_dmath_double_inline = True
math_numfig = False
html_math_renderer = "svg"

# ---- docstrings

napoleon_google_docstring = False
napoleon_custom_sections = ["Departs from the paper", ("Attributes", "params_style")]
napoleon_use_rtype = False
napoleon_use_param = False  # types are words, not links
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"
GENERATED = re.compile(r"set_\w+_request|get_metadata_routing|set_output")

# ---- the gallery

if GALLERY.is_dir():
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": [str(GALLERY)],
        "gallery_dirs": ["gallery"],
        "filename_pattern": r"plot_",
        "within_subsection_order": "FileNameSortKey",
        "image_scrapers": ("film.pictures",),
        "image_srcset": ["2x"],
        "download_all_examples": False,
        "write_computation_times": False,
        "show_signature": False,
        "remove_config_comments": True,
        "capture_repr": (),
        "min_reported_time": 1e9,
    }

# ---- the look

html_theme = "pydata_sphinx_theme"
html_title = "Budgetron"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_permalinks_icon = "#"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_theme_options = {
    "logo": {"text": "Budgetron"},
    "navbar_align": "left",
    "header_links_before_dropdown": 9,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
}
html_sidebars = {"index": [], "changelog": [], "readme": []}


def _skipped(_app, _kind, name, _member, skip, _options):
    """Leave out the methods that scikit-learn adds: their texts refer to its own site."""
    return True if GENERATED.fullmatch(name) else skip


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-skip-member", _skipped)
