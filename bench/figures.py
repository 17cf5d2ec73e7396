"""How a benchmark in Python states a figure that has a bar: the line of bench/figure.h."""


def figure(what, measured, unit, kind, bar):
    """`kind` is "at most" or "at least"."""
    met = measured <= bar if kind == "at most" else measured >= bar
    print(f"bar:\t{what}\t{measured:.3g}\t{unit}\t{kind} {bar:.3g}\t{'met' if met else 'MISSED'}", flush=True)
