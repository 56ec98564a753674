"""Renders and edits in turns: rendering again changes nothing, and unedited parts keep their bytes."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from krmfn import KubeObject, ResourceList
from packwise.objects.index import RENDERED_FROM
from tests.render.calling import render
from tests.render.packages import config, lists, others, render_specs, workloads


class Package(RuleBasedStateMachine):
    """A package that is rendered and edited in turns."""

    text: str = ""

    @initialize(data=st.data())
    def start(self, data: st.DataObject) -> None:
        documents = [data.draw(workloads("w")), data.draw(others("o")), data.draw(others("p"))]
        self.text = data.draw(lists(documents, config(**data.draw(render_specs)))).text

    @rule()
    def rendered(self) -> None:
        """Render the package.

        Users' items keep every byte except annotations of workloads, and a second render changes nothing.
        """
        once = render(self.text)
        assert once.code == 0, once.stderr
        before = {item.source.text for item in self.of_users(self.text) if item.kind != "PodCliqueSet"}
        assert before <= {item.source.text for item in self.of_users(once.stdout)}
        twice = render(once.stdout)
        assert [item.source.text for item in twice.items] == [item.source.text for item in once.items]
        self.text = once.stdout

    @rule(
        data=st.data(), key=st.sampled_from(["a", "example.com/b"]), value=st.sampled_from(["x", "1", "a\nb\n", "yes"])
    )
    def edited(self, data: st.DataObject, key: str, value: str) -> None:
        """Set an annotation of any item. Every other item keeps its bytes."""
        parsed = ResourceList.parse(self.text)
        at = data.draw(st.integers(0, len(parsed.items) - 1))
        items = [item.with_annotation(key, value) if n == at else item for n, item in enumerate(parsed.items)]
        self.text = parsed.with_items(items).to_text()
        again = ResourceList.parse(self.text).items
        assert again[at].value == items[at].value
        assert [i.source.text for n, i in enumerate(again) if n != at] == [
            i.source.text for n, i in enumerate(parsed.items) if n != at
        ]

    @rule(data=st.data())
    def added(self, data: st.DataObject) -> None:
        """Add a new item at the end."""
        parsed = ResourceList.parse(self.text)
        number = len(parsed.items)
        new = KubeObject.parse(data.draw(others(f"n{number}")))
        self.text = parsed.with_items([*parsed.items, new]).to_text()

    @staticmethod
    def of_users(text: str) -> list[KubeObject]:
        return [item for item in ResourceList.parse(text).items if RENDERED_FROM not in item.annotations]


TestPackage = Package.TestCase
TestPackage.settings = settings(max_examples=25, stateful_step_count=8, deadline=None)
