"""Two sets of runs by filters, as the API compares them."""

import urllib.parse


def check_sets(case, checker):
    """After check_causes(): bundles of four hosts, and batches of two builds and two seeds."""

    def compared(a, b, more="", **expected):
        query = urllib.parse.urlencode(
            {"a": urllib.parse.urlencode(a), "b": urllib.parse.urlencode(b)}
        )
        return checker.ask("GET", f"/api/v1/events/query/compare{more}?{query}", **expected)[1]

    told = compared({"build": "build-a"}, {"build": "build-b"})
    case.assertEqual((told["a"]["runs"], told["b"]["runs"], told["a"]["delays"]), (59, 59, 6))
    case.assertEqual(sum(bin["a"] for bin in told["histogram"]), 59)
    case.assertEqual(sum(bin["b"] for bin in told["histogram"]), 59)
    quantiles = {figure["name"]: figure for figure in told["quantiles"]}
    case.assertLess(quantiles["p50"]["low"], quantiles["p50"]["difference"])
    case.assertIsNone(quantiles["p99"]["low"], "59 runs tell nothing of the slowest hundredth")
    case.assertFalse(told["delay_share"]["evidence"])
    case.assertEqual(
        {stage["name"] for stage in told["stages"]["stages"]}, {"begin", "parse", "execute"}
    )
    case.assertEqual(
        (told["stages"]["a_runs"], told["stages"]["b_runs"]),
        (58, 58),
        "without the one whose stages were not watched",
    )
    # Every fifth run is cold, every tenth is a delay: no delay is cold.
    cold = compared({}, {"start": "cold"})
    case.assertEqual((cold["delay_share"]["b"], cold["b"]["delays"]), (0, 0))
    case.assertFalse(
        cold["delay_share"]["evidence"],
        "24 runs without a delay are no evidence against one in ten",
    )
    lock = next(part for part in cold["times"]["parts"] if part["reason"] == "lock (futex)")
    case.assertTrue(lock["evidence"] and lock["difference"] < 0, lock)
    causes = compared({"host": "host-1"}, {})["causes"]
    case.assertEqual(causes["a"]["delayed_runs"], 4)
    case.assertIn(
        "came",
        {cause["change"] for cause in causes["causes"] if "ReadWholeTable" in cause["title"]},
    )
    flame = compared({"host": "host-1"}, {"host": "host-2"}, "/flame")
    case.assertEqual((flame["baseline_runs"], flame["runs"]), (4, 4))
    case.assertTrue(flame["total"] > 0 and flame["baseline_total"] > 0)
    for wrong in ({"colour": "red"}, {"from": "yesterday"}, {"host": "x" * 300}):
        compared(wrong, {}, expect=400)
        compared({}, wrong, "/flame", expect=400)
    case.assertEqual(compared({"host": "nobody"}, {})["a"]["runs"], 0)
