"""How the gallery shows an animation: as a GIF, which needs no script and no other host."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.animation import FuncAnimation


def pictures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures of a block of code for sphinx-gallery. A figure with a film becomes a GIF."""
    from sphinx_gallery.scrapers import figure_rst, matplotlib_scraper  # of the extra docs alone

    films = [each for each in block_vars["example_globals"].values() if isinstance(each, FuncAnimation)]
    open_figures = {plt.figure(number) for number in plt.get_fignums()}
    films = [film for film in films if film._fig in open_figures]
    if not films:
        return str(matplotlib_scraper(block, block_vars, gallery_conf))
    paths = []
    for film in films:
        path = Path(next(block_vars["image_path_iterator"])).with_suffix(".gif")
        film.save(path, writer="pillow", fps=4)
        paths.append(path)
    plt.close("all")
    return str(figure_rst(paths, gallery_conf["src_dir"]))
