"""AROW on few Fourier features, beside the best that the papers print."""

import pytest
import second_order

from made_up import here


@pytest.mark.parametrize("study", second_order.STUDIES[2:], ids=lambda s: s.name)
def test_arow_on_few_features_beats_the_papers(study):
    """The two of the four data sets that are quick; studies/second_order.py prints all."""
    here(study.name)
    assert second_order.run(study)[0] < study.limit
