"""Settings of Sphinx. tools/docs collects the sources in build/docs/source and calls it there."""
import logging
import os
import re

project = "fedplt"
author = "the fedplt authors"
copyright = author
root = os.environ["FEDPLT_ROOT"]
release = re.search(r"^  version: '(.*)',$", open(os.path.join(root, "meson.build")).read(), re.M).group(1)
version = release

extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 4
smartquotes = False  # --flag stays --flag

breathe_projects = {"fedplt": os.path.join(os.environ["FEDPLT_DOXYGEN"], "xml")}
breathe_default_project = "fedplt"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False
c_id_attributes = ["FPLT_API"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"

html_theme = "furo"
html_title = f"fedplt {release}"
html_static_path = ["_static"]
html_css_files = ["fedplt.css"]
html_copy_source = False
html_show_sphinx = False


def mark_code(app, what, name, obj, options, lines):
    """Docstrings are plain text: indented blocks, names in quotes, and names that end with an underscore are code."""
    marked, in_code = [], False
    for line in lines:
        is_indented = line.startswith("    ")
        if is_indented and not in_code and (not marked or not marked[-1].strip()):
            marked += ["::", ""]
            in_code = True
        elif line.strip() and not is_indented:
            in_code = False
        if not in_code:
            line = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line.replace("|", "\\|"))
            line = re.sub(r"(?<![`\w])(\w+_)(?![\w`])", r"``\1``", line)
        marked.append(line)
    lines[:] = marked


def setup(app):
    # A header may declare a type that another one describes, as C allows.
    logging.getLogger("sphinx.sphinx.domains.c").addFilter(lambda record: "Duplicate C declaration" not in record.getMessage())
    app.connect("autodoc-process-docstring", mark_code, priority=600)  # after napoleon
