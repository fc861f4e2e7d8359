"""Does the set-up of a workload: starts flows and uploads attachments before the clock starts."""

import io
import logging
import random
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import gevent
from gevent.pool import Pool

from lab_load.bridge_client import BridgeClient, BridgeError
from lab_workload.network import Roles
from lab_workload.plan import Plan
from lab_workload.prepared import Results, count_items
from lab_workload.problems import LoadError, SetupError, TemplateError
from lab_workload.run_end import PreparedStep
from lab_workload.schema import SetupStep

STARTS_MAX = 100_000
"""Maximum number of starts of one step, for all items of its ``each``."""
ITEMS_MAX = 1_000_000
"""Maximum number of results of one step."""
PROGRESS_SECONDS = 2.0

MEGABYTE = 1_000_000
_OLDEST_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest date in a zip file. With a fixed date, the same seed always gives the same bytes."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Start:
    """One flow start or upload."""

    item: str | None
    work: Callable[[float], Any]
    """Takes the seconds that are left, and returns the result."""


def run_setup(plan: Plan, bridge: BridgeClient) -> tuple[Plan, list[PreparedStep]]:
    """Run all steps in order, for each node that starts flows. Returns the plan with their results, and a summary.

    Raises ``LoadError``; it is a ``SetupError`` if a step failed, was too slow or prepared too few items.
    """
    done = []
    for roles in plan.starters:
        node = roles.node.name
        for step in plan.workload.setup:
            started = time.monotonic()
            results = _Runner(plan, roles, step, bridge).run()
            own = {**plan.results.get(node, {}), step.name: results}
            plan = plan.model_copy(update={"results": {**plan.results, node: own}})
            seconds = round(time.monotonic() - started, 3)
            name = step.name if len(plan.starters) == 1 else f"{step.name} for {node}"
            done.append(PreparedStep(name, count_items(results), seconds))
            logger.info("Set-up: %s: %d items in %.1f s", name, done[-1].items, done[-1].seconds)
    if done:
        plan.check_prepared()
        plan.check_templates()
    return plan, done


class _Runner:
    """Runs one step of the set-up for the flows of one node."""

    def __init__(self, plan: Plan, roles: Roles, step: SetupStep, bridge: BridgeClient) -> None:
        self._plan = plan
        self._roles = roles
        self._step = step
        self._values = plan.values(roles)
        self._bridge = bridge
        # A run id may be reused. A client id must not: Corda would return the old result.
        self._client_id_prefix = f"{plan.identity}-setup-{uuid4().hex[:8]}"

    def run(self) -> Results:
        step = self._step
        items = self._items()
        try:
            starts = [start for item in items for start in self._starts(item)]
        except TemplateError as error:
            raise self._problem(f"template: {error}") from error
        if len(starts) > STARTS_MAX:
            raise self._problem(f"has {len(starts)} starts, more than {STARTS_MAX}")
        results = self._all(starts)
        if step.each is None:
            return [result for _, result in results]
        by_item: dict[str, list[Any]] = {str(item): [] for item in items}
        for item, result in results:
            by_item[str(item)].append(result)
        return by_item

    def _items(self) -> list[Any]:
        if self._step.each is None:
            return [None]
        try:
            items = self._step.items.render(self._values)["each"]
        except TemplateError as error:
            raise self._problem(f"each: template: {error}") from error
        if not isinstance(items, (list, tuple)) or not items:
            raise self._problem(f"each: evaluates to {items!r}, not to a list of items")
        return list(items)

    def _starts(self, item: Any) -> Iterator[_Start]:
        """Yield the flow starts or uploads for one item. Raises ``TemplateError`` and ``LoadError``."""
        step, values = self._step, self._values
        values.names["item"] = item
        node = self._plan.node_of(self._roles, step, item)
        count = step.counts.render(values)["count"]
        if type(count) is not int or count < 0:
            raise TemplateError(f"count: evaluates to {count!r}, not to a whole number from 0")
        if count > STARTS_MAX:
            raise TemplateError(f"count: {count} is more than {STARTS_MAX}")
        key = None if item is None else str(item)
        for number in range(1, count + 1):
            if step.megabytes is not None:
                yield _Start(key, self._upload(node, f"{step.name}-{key}-{number}" if key else f"{step.name}-{number}"))
            else:
                yield _Start(key, self._flow(node, step.args.render(values)))

    def _upload(self, node: str, name: str) -> Callable[[float], Any]:
        megabytes, file_name = self._step.megabytes or 0, f"{self._plan.identity}-{name}.zip"

        def work(seconds: float) -> str:
            # The seed contains the run's id, so that no node has the attachment from an earlier run.
            content = make_attachment(megabytes, f"{self._client_id_prefix}/{file_name}")
            return self._bridge.upload(node, file_name, content, seconds)

        return work

    def _flow(self, node: str, args: Mapping[str, Any]) -> Callable[[float], Any]:
        flow, client_id = str(self._step.flow), f"{self._client_id_prefix}-{self._step.name}-{uuid4().hex[:12]}"
        return lambda seconds: self._bridge.start(node, flow, args, client_id, seconds)

    def _all(self, starts: list[_Start]) -> list[tuple[str | None, Any]]:
        """Return the results of all starts in order, with lists flattened. Raises ``SetupError`` if one fails."""
        step = self._step
        begun = time.monotonic()
        pool = Pool(step.concurrency)
        printed = begun
        results: list[tuple[str | None, Any]] = []

        def work(start: _Start) -> Any:
            try:
                return start.work(max(0.1, step.timeout_seconds - (time.monotonic() - begun)))
            except BridgeError as error:  # gevent would print an exception of a greenlet
                return error

        try:
            with gevent.Timeout(step.timeout_seconds):
                for number, result in enumerate(pool.imap(work, starts, maxsize=step.concurrency), start=1):
                    if isinstance(result, BridgeError):
                        raise self._problem(f"{step.flow or 'upload'}: {result.message}")
                    item = starts[number - 1].item
                    results.extend((item, one) for one in (result if isinstance(result, list) else [result]))
                    if len(results) > ITEMS_MAX:
                        raise self._problem(f"returned more than {ITEMS_MAX} items")
                    if time.monotonic() - printed >= PROGRESS_SECONDS:
                        printed = time.monotonic()
                        text = "Set-up: %s: %d of %d done, %d items, %.0f s"
                        logger.info(text, step.name, number, len(starts), len(results), printed - begun)
        except gevent.Timeout as error:
            raise self._problem(f"did not finish within {step.timeout_seconds} s (timeout_seconds)") from error
        finally:
            pool.kill(block=False)
        return results

    def _problem(self, text: str) -> LoadError:
        step = self._step
        return SetupError(self._plan.workload.source.problem(step.location, f"step {step.name!r} failed: {text}"))


def make_attachment(megabytes: int, seed: str) -> bytes:
    """Return a zip file with ``megabytes`` of uncompressed random bytes that follow from ``seed``."""
    source = random.Random(seed)
    file = io.BytesIO()
    entry = zipfile.ZipInfo("random.bin", _OLDEST_DATE)
    # Written in pieces, so that the content is not in memory twice.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive, archive.open(entry, "w") as stream:
        for _ in range(megabytes):
            stream.write(source.randbytes(MEGABYTE))
    return file.getvalue()
