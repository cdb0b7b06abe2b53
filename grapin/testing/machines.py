"""`StoreMachine`: the store beside the reference, through any sequence of batches that Hypothesis thinks of.

Run it as a test with `TestStore = StoreMachine.TestCase`, or override `make_store` to hold a store of your
own, or options of ours, against the reference.

`EngineMachine`: an engine beside the reference, through any sequence of batches that Hypothesis thinks of.

Run it as a test of your own device or program:

class MyDevice(EngineMachine):
    setup = Setup("sssp", device="my_device.py")

TestMyDevice = MyDevice.TestCase
"""

from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from grapin.batch import Batch
from grapin.engine import Engine
from grapin.engine.verify import check_same_changes, check_same_graph, verify_engine
from grapin.errors import InvalidBatch, WrongAnswer
from grapin.graph import Graph
from grapin.reference.graph import ReferenceGraph
from grapin.testing.case import Setup
from grapin.testing.failures import cases
from grapin.testing.mutations import batches, clearances, hub_bursts, hub_churns, invalid_batches
from grapin.testing.strategies import graphs
from grapin.testing.weights import Weights

LARGEST_WEIGHT = 2**31 - 1


class StoreMachine(RuleBasedStateMachine):
    """Applies each batch to both graphs; after every step they must be equal and the store in order."""

    store: Graph
    reference: ReferenceGraph
    earlier: list[tuple[Graph, ReferenceGraph]]
    """Graphs that were copied and left alone: they must stay as they were."""

    def make_store(self, start: dict[str, Any], options: dict[str, Any]) -> Graph:
        """Build the store under test from the arguments of `Graph.from_edges`."""
        return Graph.from_edges(**start, **options)

    @initialize(start=graphs(), aligned=st.booleans(), in_direction=st.booleans())
    def build(self, start: dict[str, Any], aligned: bool, in_direction: bool) -> None:
        """Build both graphs from the same rows."""
        self.store = self.make_store(start, {"aligned": aligned, "in_direction": in_direction})
        self.reference = ReferenceGraph.from_edges(**start)
        self.earlier = []

    @rule(data=st.data())
    def mutate(self, data: st.DataObject) -> None:
        """Apply a few mutations of every kind."""
        self._apply(data.draw(batches(self.reference, largest_weight=LARGEST_WEIGHT)))

    @rule(data=st.data())
    def burst(self, data: st.DataObject) -> None:
        """Give one vertex many neighbours."""
        self._apply(data.draw(hub_bursts(self.reference)))

    @rule(data=st.data())
    def churn(self, data: st.DataObject) -> None:
        """Turn the neighbourhood of one vertex over."""
        self._apply(data.draw(hub_churns(self.reference)))

    @rule(data=st.data())
    def clear(self, data: st.DataObject) -> None:
        """Delete a hub, its edges, or most edges."""
        self._apply(data.draw(clearances(self.reference)))

    @rule(data=st.data())
    def mutate_strictly(self, data: st.DataObject) -> None:
        """Let both graphs decide, strictly, about a batch that may hold things to ignore."""
        batch = data.draw(batches(self.reference))
        try:
            expected = self.reference.apply(batch, strict=True)
        except InvalidBatch:
            self._must_refuse(batch, "a strict graph refuses what would be ignored", strict=True)
        else:
            check_same_changes(self.store.apply(batch, strict=True), expected)

    @rule(data=st.data())
    def refuse(self, data: st.DataObject) -> None:
        """Refuse a batch that is wrong; the invariant then finds what of it was applied after all."""
        case = data.draw(invalid_batches(self.reference))
        try:
            batch = case.batch()
        except InvalidBatch:
            return
        self._must_refuse(batch, case.reason)

    @rule()
    def copy(self) -> None:
        """Go on with a copy; the original must not notice."""
        self.earlier = [*self.earlier[-1:], (self.store, self.reference.copy())]
        self.store = self.store.copy()

    @invariant()
    def equal_and_in_order(self) -> None:
        """Check the store's own invariants, then compare it with the reference edge for edge."""
        for store, reference in [*self.earlier, (self.store, self.reference)]:
            store.check()
            check_same_graph(store, reference)

    def _apply(self, batch: Batch) -> None:
        check_same_changes(self.store.apply(batch), self.reference.apply(batch))

    def _must_refuse(self, batch: Batch, reason: str, *, strict: bool | None = None) -> None:
        for graph in (self.reference, self.store):
            try:
                graph.apply(batch, strict=strict)
            except InvalidBatch:
                continue
            raise WrongAnswer(f"{type(graph).__name__} accepted {batch}, expected InvalidBatch: {reason}")


class EngineMachine(RuleBasedStateMachine):
    """Applies each batch; after every step answers, cached lists and the graph must be the reference's."""

    setup: ClassVar[Setup] = Setup("sssp")
    weights: ClassVar[Weights] = Weights("int32")
    hubs: ClassVar[bool] = True
    """Whether some vertices get tens or hundreds of neighbours; on a simulated GPU these take long."""

    engine: Engine
    reference: ReferenceGraph

    def make_engine(self, graph: Graph, sources: tuple[int, ...]) -> Engine:
        """Make the engine under test, by default as `setup` says."""
        return self.setup.engine(graph, sources)

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        """Compute the first answers on a drawn graph."""
        case = data.draw(cases(weights=[self.weights], hubs=self.hubs, max_batches=0))
        self.reference = ReferenceGraph.from_edges(**case.start())
        self.engine = self.make_engine(Graph.from_edges(**case.start()), case.sources)

    @rule(data=st.data())
    def mutate(self, data: st.DataObject) -> None:
        """Apply a few mutations of every kind."""
        self._apply(data.draw(batches(self.reference, **self.weights.limits)))

    @rule(data=st.data())
    def burst_or_churn(self, data: st.DataObject) -> None:
        """Give one vertex many neighbours, or others than it had."""
        if self.hubs:
            limits = self.weights.limits
            self._apply(
                data.draw(hub_bursts(self.reference, **limits) | hub_churns(self.reference, **limits))
            )

    @rule(data=st.data())
    def clear(self, data: st.DataObject) -> None:
        """Delete a hub, its edges, or most edges."""
        self._apply(data.draw(clearances(self.reference)))

    @invariant()
    def right(self) -> None:
        """Hold answers, cached lists and graph against the reference."""
        verify_engine(self.engine)
        check_same_graph(self.engine.graph, self.reference)

    def _apply(self, batch: Batch) -> None:
        for graph in (self.engine, self.reference):
            graph.apply(batch)
