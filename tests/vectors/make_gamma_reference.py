#!/usr/bin/env python3
"""Prints P(a, x), Q(a, x) and e^-x x^a/a! with 20 digits, for whole a (needs mpmath).

Usage: make_gamma_reference.py >gamma_reference.tsv
"""
import random

from mpmath import exp, log, loggamma, mp, mpf


def reference(a, x):
    """Computes the smaller of P and Q as a sum of positive terms, the other one as its complement."""
    x = mpf(x)
    weight = exp(a * log(x) - x - loggamma(a + 1))
    if x <= a:
        term = total = mpf(1)
        k = a + 1
        while term > mpf(10) ** -50 * total:
            term *= x / k
            total += term
            k += 1
        return weight * total, 1 - weight * total, weight
    term = total = a / x
    k = a - 1
    while k >= 1 and term > mpf(10) ** -50 * total:
        term *= k / x
        total += term
        k -= 1
    return 1 - weight * total, weight * total, weight


def main():
    random.seed(6)
    mp.dps = 60
    print("a\tx\tlower\tupper\tweight")
    for _ in range(250):
        a = max(1, int(random.choice([random.uniform(1, 45), 10 ** random.uniform(0, 7)])))
        x = random.choice(
            [a + random.uniform(-9, 9) * a**0.5, a * random.uniform(0.2, 2.6), 10 ** random.uniform(-9, 4)]
        )
        if x <= 0:
            x = a * random.uniform(0.01, 1)
        print("\t".join([str(a), repr(x)] + [mp.nstr(v, 20) for v in reference(a, x)]))


if __name__ == "__main__":
    main()
