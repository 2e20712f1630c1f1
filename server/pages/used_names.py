"""Which variables and fragments a part of a document uses."""

from typing import Any

from graphql import FragmentSpreadNode, Node, VariableNode, Visitor, visit


class UsedNames(Visitor):
    """Collects the names of the variables and fragments that are used in what it is shown."""

    def __init__(self, *nodes: Node) -> None:
        super().__init__()
        self.variables: set[str] = set()
        self.fragments: set[str] = set()
        for node in nodes:
            self.see(node)

    def see(self, node: Node) -> None:
        """Take in what one more part uses."""
        visit(node, self)

    def enter_variable(self, node: VariableNode, *_: Any) -> None:
        """Take in a variable."""
        self.variables.add(node.name.value)

    def enter_fragment_spread(self, node: FragmentSpreadNode, *_: Any) -> None:
        """Take in a fragment."""
        self.fragments.add(node.name.value)
