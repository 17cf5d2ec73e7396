"""Tails and quantiles of Student's t, F and chi-squared in 50-digit arithmetic."""
import mpmath
from mpmath import mpf

from privacy import falling_root, table


def student(t, freedom):
    """P(|T| > t)"""
    return mpmath.betainc(freedom / 2, mpf(1) / 2, 0, freedom / (freedom + t * t), regularized=True)


def student_quantile(level, freedom):
    high = mpf(1)
    while student(high, freedom) > 1 - level:
        high *= 2
    return falling_root(lambda t: student(t, freedom) - (1 - level), mpf(0), high, 140)


def f_tail(f, numerator, denominator):
    return mpmath.betainc(denominator / 2, numerator / 2, 0, denominator / (denominator + numerator * f),
                          regularized=True)


def chi_tail(x, freedom):
    return mpmath.gammainc(freedom / 2, x / 2, mpmath.inf, regularized=True)


def distributions():
    rows = []
    for freedom in (1.0, 2.0, 3.0, 4.5, 10.0, 30.0, 297.0, 1e5):
        rows += [["t", t, freedom, 0, student(mpf(t), mpf(freedom))]
                 for t in (1e-8, 0.01, 0.5, 1.0, 2.3, 7.0, 40.0)]
        rows += [["t-quantile", level, freedom, 0, student_quantile(mpf(level), mpf(freedom))]
                 for level in (0.5, 0.9, 0.95, 0.999)]
    for numerator, denominator in ((1.0, 4.0), (3.0, 20.0), (7.0, 500.0), (50.0, 3.0), (12.0, 1e4)):
        rows += [["f", f, numerator, denominator, f_tail(mpf(f), mpf(numerator), mpf(denominator))]
                 for f in (0.01, 0.8, 1.0, 3.5, 30.0)]
    for freedom in (1.0, 2.0, 5.0, 40.0, 300.0):
        rows += [["chi", x, freedom, 0, chi_tail(mpf(x), mpf(freedom))]
                 for x in (1e-6, 0.5, 3.84, 60.0, 700.0)]
    return table("kind,at,freedom,other,value", rows)


FILES = {"distributions.csv": distributions}
