"""One feature's cost phi(d), convex with a kink at d = 0, and its response to a price.

    phi(d) = curve_up d^2 + slope_up d      for d >= 0
    phi(d) = curve_down d^2 + slope_down d  for d <= 0,      slope_down <= slope_up.

L1, squared L2, their sums, different weights up and down and linear terms all have this form.
"""

import math

from counterleaf.kernels.compiler import pure


@pure
def charge(d, curve_up, slope_up, curve_down, slope_down):
    """phi(d)."""
    if d > 0.0:
        return (curve_up * d + slope_up) * d
    if d < 0.0:
        return (curve_down * d + slope_down) * d
    return 0.0


@pure
def respond(price, curve_up, slope_up, curve_down, slope_down, lower, upper):
    """The minimiser of phi(d) - price d over [lower, upper]; of several, the nearest to 0."""
    if price > slope_up:
        d = (price - slope_up) / (2.0 * curve_up) if curve_up > 0.0 else math.inf
    elif price < slope_down:
        d = (price - slope_down) / (2.0 * curve_down) if curve_down > 0.0 else -math.inf
    else:
        d = 0.0
    if d < lower:
        return lower
    if d > upper:
        return upper
    return d
