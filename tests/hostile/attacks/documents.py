"""Documents and headers that are expensive to parse, or whose errors repeat long texts."""

from collections.abc import Iterator

from tests.hostile.attack import Attack, Request, Target, aliased, query, sending

_INTROSPECTION = "fields{name args{name type{name}} type{name fields{name type{name}}}}"


def _cycles(_target: Target) -> Iterator[Request]:
    count = 3_000
    yield query("{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }")
    ring = " ".join(
        f"fragment F{i} on Query {{ ...F{(i + 1) % count} ...F{(i * 7) % count} }}"
        for i in range(count)
    )
    yield query("{ ...F0 } " + ring)


def _deep(_target: Target) -> Iterator[Request]:
    yield query("{" * 100_000)
    yield query("{a" * 5_000 + "}" * 5_000)
    yield query("{revision" + "{previous" * 3_000 + "{id}" + "}" * 3_001)
    yield query("{" + "...{" * 20_000 + "id" + "}" * 20_001)
    yield query("{ nodes(ids: " + "[" * 50_000 + "]" * 50_000 + ") { id } }")
    yield query("{ revision(ref: " + "{a:" * 20_000 + "1" + "}" * 20_000 + ") { id } }")
    yield query("query($x: " + "[" * 50_000 + "ID" + "]" * 50_000 + ") { tags { name } }")


def _many_tokens(_target: Target) -> Iterator[Request]:
    yield query("{" + " __typename" * 20_000 + "}")
    yield query("{ tags { name " + " ".join(f"x{i}" for i in range(15_000)) + "} }")
    yield query("{ tags { name } }" + "," * 220_000)
    yield query("#" + "x" * 220_000 + "\n{ tags { name } }")
    yield query('{ tag(name: """' + "\n" * 100_000 + '""") { name } }')
    yield query('{ tag(name: "' + "\\u0041" * 30_000 + '") { name } }')
    yield query(" ".join(f"query Q{i} {{ tags {{ name }} }}" for i in range(6_000)))


def _directives(_target: Target) -> Iterator[Request]:
    yield query("{ __typename " + "@skip(if:false)" * 12_000 + "}")
    yield query("{ __typename " + "@aa" * 40_000 + "}")
    yield query("{" + " ".join(f"a{i}:__typename @include(if:true)" for i in range(6_000)) + "}")


def _echo(_target: Target) -> Iterator[Request]:
    """Have 150 errors repeat a text of 200 kB."""
    long = "x" * 200_000
    revisions = aliased(150, "revision(ref:$text){id}")
    yield query(f"query($text: String!) {{ {revisions} }}", {"text": long})
    lists = aliased(150, "revisions(after:$text){totalCount}")
    yield query(f"query($text: String!) {{ {lists} }}", {"text": long})
    matched = aliased(150, "specs(matching:$text){totalCount}")
    yield query(f"query($text: String!) {{ revision {{ {matched} }} }}", {"text": long})
    yield query("query($text: [Int!]!) { tags { name } }", {"text": [long] * 1})
    yield query(
        "query($o: SpecOrder!) { revision { specs(orderBy: $o) { totalCount } } }",
        {"o": {"field": long, long[:9_000]: 1}},
    )


def _invalid_variables(_target: Target) -> Iterator[Request]:
    text = "query($f: SpecFilter!) { revision { specs(filter: $f) { totalCount } } }"
    yield query(text, {"f": {f"unknown{i}": i for i in range(8_000)}})
    yield query(text, {"f": {"packages": list(range(30_000))}})
    yield query("query($i: [ID!]!) { nodes(ids: $i) { id } }", {"i": [None] * 40_000})
    yield query("query($i: [ID!]!) { nodes(ids: $i) { id } }", {"i": [{}] * 70_000})
    # Within the limits of lists, so that they are examined.
    yield query(text, {"f": {"packages": [7] * 999, "versions": [[]] * 999, "targets": [{}] * 999}})
    yield query(text, {"f": {f"unknown{i}": ["x" * 9] * 5 for i in range(900)}})
    yield query("query($i: [ID!]!) { nodes(ids: $i) { id } }", {"i": [[["x"] * 30] * 30] * 9})


def _introspection(_target: Target) -> Iterator[Request]:
    deep = "type{fields{" * 6 + "name" + "}}" * 6
    yield query("{ __schema { types { fields { " + deep + " } } } }")
    yield query("{" + aliased(200, f"__schema{{types{{{_INTROSPECTION}}}}}") + "}")
    possible = "possibleTypes{interfaces{" * 5 + "name" + "}}" * 5
    yield query('{ __type(name: "Node") { ' + possible + " } }")


def _long_headers(_target: Target) -> Iterator[Request]:
    for name, text in (
        ("Content-Type", "application/json;charset=" + "u" * 50_000),
        ("Accept", "a/b;q=1," * 7_000),
        ("Accept-Encoding", "gzip;q=0.1," * 5_000),
    ):
        request = query("{ tags { name } }")
        yield request._replace(headers={**request.headers, name: text})


ATTACKS = (
    Attack("long headers", "lists of very many parts", sending(_long_headers)),
    Attack("circles of fragments", "3,000 fragments in a ring", sending(_cycles)),
    Attack("deep documents", "100,000 brackets of each kind", sending(_deep)),
    Attack("many tokens", "the whole body is tokens", sending(_many_tokens)),
    Attack("directives", "40,000 directives, known and not", sending(_directives)),
    Attack("echo", "200 kB in each of 150 errors", sending(_echo)),
    Attack("invalid variables", "70,000 values of a wrong type", sending(_invalid_variables)),
    Attack("introspection", "the schema within the schema", sending(_introspection)),
)
