"""Lists that are maps or sets refuse repeated items, wherever they are in an object."""

from copy import copy

from fairway.kinds.errors import NO_VALUE, FieldError, invalid
from fairway.kinds.types import UNSET, Annotated, F, Opt, Type
from fairway.kinds.unique import repeated


class Leaf(Type):
    name: Annotated[str, F()]
    port: Opt[Annotated[int, F()]] = UNSET
    tags: Opt[Annotated[list[str], F(list_type="set")]] = UNSET


class Tree(Type):
    leaves: Opt[Annotated[list[Leaf], F(keys=("name", "port"))]] = UNSET
    free: Opt[Annotated[list[Leaf], F(list_type="atomic")]] = UNSET
    by_name: Opt[Annotated[dict[str, Leaf], F()]] = UNSET


def fields(errors: list[FieldError]) -> list[str]:
    return [str(error) for error in errors]


def test_a_second_item_with_the_same_keys_is_a_duplicate() -> None:
    tree = Tree(leaves=[Leaf(name="a", port=1), Leaf(name="a", port=2), Leaf(name="b"), Leaf(name="a", port=1)])
    assert fields(repeated(tree)) == ['leaves[3]: Duplicate value: {"name":"a","port":1}']


def test_a_missing_key_counts_as_a_key_of_its_own() -> None:
    tree = Tree(leaves=[Leaf(name="a"), Leaf(name="a", port=0), Leaf(name="a")])
    assert fields(repeated(tree)) == ['leaves[2]: Duplicate value: {"name":"a"}']


def test_sets_are_checked_below_lists_and_maps_but_plain_lists_may_repeat() -> None:
    leaf = Leaf(name="a", tags=["x", "y", "x"])
    tree = Tree(free=[leaf, leaf], by_name={"k": leaf})
    assert fields(repeated(tree)) == [
        'free[0].tags[2]: Duplicate value: "x"',
        'free[1].tags[2]: Duplicate value: "x"',
        'byName[k].tags[2]: Duplicate value: "x"',
    ]


def test_a_type_without_unique_lists_is_never_walked() -> None:
    class Plain(Type):
        name: Annotated[str, F()]

    assert repeated(Plain(name="a")) == []


def test_an_error_about_a_whole_object_shows_no_value() -> None:
    assert (
        str(invalid("spec", NO_VALUE, "a and b exclude each other"))
        == "spec: Invalid value: a and b exclude each other"
    )
    assert str(invalid("spec", None, "a is needed")) == "spec: Invalid value: null: a is needed"


def test_what_is_the_very_same_as_before_is_not_looked_at_again() -> None:
    leaves = [Leaf(name="a"), Leaf(name="a")]
    tree = Tree(leaves=leaves)
    assert repeated(tree)
    assert repeated(copy(tree), tree) == []
    assert repeated(Tree(leaves=list(leaves)), tree)
