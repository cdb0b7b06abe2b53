"""`EngineMachine`: an engine beside the reference, through any sequence of batches that Hypothesis thinks of.

Run it as a test of your own device or program:

    class MyDevice(EngineMachine):
        setup = Setup("sssp", device="my_device.py")

    TestMyDevice = MyDevice.TestCase
"""

from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from grapin.batch import Batch
from grapin.engine import Engine
from grapin.graph import Graph
from grapin.reference.graph import ReferenceGraph
from grapin.testing.compare import check_same_graph
from grapin.testing.mutations import batches, clearances, hub_bursts, hub_churns
from grapin.testing.searching import cases
from grapin.testing.trying import Setup
from grapin.testing.verifying import verify_engine
from grapin.testing.weights import Weights


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
