"""Which loads can be proven from rows and vaults alone."""

from corda_lab.errors import LabError
from corda_lab.steps.plan import RunPlan


def checked(plan: RunPlan) -> RunPlan:
    """The plan of the load, if its flows can be told apart on the ledger. Raises LabError."""
    parts = plan.subject.parts
    if len(parts) != 1 or plan.subject.others or plan.workload.setup or not parts[0].changes:
        raise LabError(
            f"--workload: {plan.workload.name} has several flows or nodes, a set-up, or no states to look for",
            "Choose a workload with one flow on one node, no set-up and `state:`, such as iou.",
        )
    if any(change <= 0 for nodes in parts[0].changes.values() for change in nodes.values()):
        raise LabError(
            f"--workload: {plan.workload.name} consumes states, so its transactions cannot be counted in the vaults",
            "Choose a workload that only adds states, such as iou.",
        )
    return plan
