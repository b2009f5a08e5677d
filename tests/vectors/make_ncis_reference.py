#!/usr/bin/env python3
"""Prints reference values of V_ncis, psi and w with 60 and more digits (needs mpmath).

Usage: make_ncis_reference.py >ncis_reference.tsv

Computes the sums as printed in the papers, with the digits that cancellation costs added. The rows
reach every evaluation of core/model/ncis_value.h and lie close to both sides of their borders.
importance is 1; terms 0 means all.
"""
import random

from mpmath import exp, floor, log10, mp, mpf


def reference(alpha, gamma, kappa, s, terms):
    """Computes V, psi, w and ceiling - V by the printed sums."""
    alpha, gamma, kappa, s = (mpf(x) for x in (alpha, gamma, kappa, s))
    count = int(floor(s / kappa)) + 1
    if terms:
        count = min(count, terms)
    c = gamma / alpha
    q = c / (1 + c)
    r = exp(-kappa)
    value = psi = mpf(0)
    for i in range(count):
        v = s - i * kappa
        x = c * v
        mean = x + v
        a = upper = mpf(1)
        b = mean_upper = mpf(1)
        for k in range(1, i + 1):
            a = a * x / k
            upper += a
            b = b * mean / k
            mean_upper += b
        reached = 1 - exp(-x) * upper
        first = r**i * q ** (i + 1) * (1 - exp(-mean) * mean_upper)
        value += first - exp(-s) * reached
        psi += reached
        if i > x and abs(reached) < mpf(10) ** (30 - mp.dps) and first < mpf(10) ** -60 * value:
            break
    value /= gamma
    psi /= gamma
    rate = alpha + gamma * (1 - r)
    ceiling = (1 - (r * q) ** terms if terms else 1) / rate
    return value, psi, value + exp(-s) * psi, ceiling - value


def case(mode):
    """Draws b = gamma/alpha, kappa, s and terms that reach the evaluation of this mode."""
    s = 10 ** random.uniform(-8, 1.6)
    if mode == "first":
        return 10 ** random.uniform(-12, 12), s * 10 ** random.uniform(0.01, 3), s, 0
    if mode == "few":
        kappa = s * 10 ** random.uniform(-1.3, 0)
        return 10 ** random.uniform(-8, 8), kappa, s, 0
    if mode == "approx":
        kappa = 10 ** random.uniform(-6, 1.3)
        return 10 ** random.uniform(-8, 8), kappa, s, random.choice([1, 2, 3, 5, 10, 40])
    b = 10 ** random.uniform(-4, 1.6) if mode == "border" else 10 ** random.uniform(-1, 2.5)
    if mode == "border":
        settled = 6 + b * (12.5 + 1.37 * b)
        if b >= 0.5:
            settled = min(settled, 9 + b * (7.5 + 1.375 * b))
        poles = max(24, 9 + b * (1.05 + 0.055 * b))
        count = random.choice([settled, min(settled, poles)]) * random.choice([0.999, 1.001])
    else:
        count = 10 ** random.uniform(1, 2.1)
    kappa = s / count
    return b / kappa, kappa, s, 0


def main():
    random.seed(5)
    print("mode\talpha\tgamma\tkappa\ts\tterms\tvalue\tpsi\tw\tshortfall")
    for mode in ["first"] * 50 + ["few"] * 60 + ["middle"] * 60 + ["border"] * 60 + ["approx"] * 30:
        while True:
            odds, kappa, s, terms = case(mode)
            if s / kappa < 150 or terms:
                break
        alpha = 10 ** random.uniform(-6, 6)
        gamma = alpha * odds
        small = min(s, 1) * min(1, (odds + 1) * s)
        mp.dps = int(60 + (2 * s + min(s / kappa, 150) * 0.5) / 2.3 - 3 * float(log10(small)))
        row = [mp.nstr(x, 20) for x in reference(alpha, gamma, kappa, s, terms)]
        print("\t".join([mode, repr(alpha), repr(gamma), repr(kappa), repr(s), str(terms)] + row))


if __name__ == "__main__":
    main()
