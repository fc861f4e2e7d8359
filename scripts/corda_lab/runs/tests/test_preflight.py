"""What is checked before a run starts; the load itself is tested on the real lab."""

from corda_lab.runs.preflight import describe, title_of
from corda_lab.steps.load import LoadOptions
from corda_lab.testing.runs import part, plan_of


def test_says_in_a_line_what_will_run() -> None:
    plan = plan_of(LoadOptions("iou", 20, 60, 15), part("Iou"), part("IouUpdate"))
    assert describe(plan) == "iou: Iou, IouUpdate, PartyA → PartyB"
    assert title_of(plan.options) == "Load: 20 users for 15 s + 60 s"
    opened = LoadOptions("iou", 50, 60, 15, arrivals="poisson", rate=5, workers=2)
    assert title_of(opened) == "Load: poisson arrivals, 5 per second, pool of 50 on 2 workers for 15 s + 60 s"
