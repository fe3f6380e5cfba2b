from case import Expected, planted

CASE = planted(
    "pipe",
    "render_page",
    "a pipe from a child process that computes",
    Expected(cause=r"on a pipe", guilty=r"\bfilter_image\b", holder=r"image-filter"),
    least_ms=350,
)
