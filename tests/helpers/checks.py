"""scikit-learn's checks of an estimator, all in one test."""

from sklearn.utils.estimator_checks import check_estimator


def checked(estimator, expected_failures=None):
    """Run every check. Those that are expected to fail must fail, and no other may.

    All are one test: pytest's own work for an item would take longer than a check.
    """
    expected = expected_failures or {}
    done = check_estimator(estimator, expected_failed_checks=expected, on_skip=None, on_fail=None)
    failed = [one for one in done if one["status"] == "failed"]
    for one in failed:
        one["exception"].add_note(f"in {one['check_name']}")
    if failed:
        raise ExceptionGroup(
            ", ".join(one["check_name"] for one in failed), [one["exception"] for one in failed]
        )
    passed = {one["check_name"] for one in done if one["status"] == "passed"}
    assert len(passed) > 30
    assert passed.isdisjoint(expected), passed & set(expected)
    return done
