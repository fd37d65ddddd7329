"""A small table with a column of every type, some with gaps."""

import numpy as np
import pandas as pd

MIXED = pd.DataFrame(
    {
        "age": pd.array([20, 61, 33], dtype="int8"),
        "pay": np.array([1.5, 2.0, np.nan], np.float32),
        "count": pd.array([1, None, 3], dtype="Int64"),
        "job": ["cook", "clerk", None],
        "owner": [True, False, True],
        "school": pd.Categorical(["HS", "BA", "HS"], categories=["none", "HS", "BA"], ordered=True),
        "city": pd.Categorical(["Rome", "Oslo", "Rome"]),
    }
)
