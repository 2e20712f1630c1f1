"""clients/typescript: builds from the schema, and asks a real server as its README shows."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from server.settings import Settings
from tests.server import npm
from tests.server.servers import application

ROOT = Path(__file__).parents[2]
DOCUMENTS = ROOT / "clients" / "documents"
PACKAGE = ROOT / "clients" / "typescript"
README = (PACKAGE / "README.md").read_text("utf-8")
(EXAMPLE,) = re.findall(r"```ts\n(.*?)```", README, re.DOTALL)

(COMPONENT,) = re.findall(r"```tsx\n(.*?)```", README, re.DOTALL)
RENDERING = """
import { Window } from "happy-dom";
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { Names } from "./component.js";

const window = new Window();
Object.assign(globalThis, { window, document: window.document });
const root = createRoot(window.document.body);
const until = async (query, condition) => {
  for (;;) {
    const elements = [...window.document.querySelectorAll(query)];
    const texts = elements.map(({ textContent }) => textContent);
    if (texts.length && texts.every(condition)) return texts;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};
const shown = [];
for (const text of ["py-", "h"]) {
  root.render(createElement(Names, { text }));
  shown.push(await until("[aria-busy=false] li", (name) => name.includes(text)));
}
root.render(createElement(Names, { text: "x".repeat(100_000) }));
const [refusal] = await until("[role=alert]", () => true);
root.unmount();
await window.happyDOM.close();
console.log(JSON.stringify({ shown, refusal }));
"""

ASKING = """
import { Client, Packages } from "@cachelog/client";

const exchanges: unknown[] = [];
const recorded: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const text = await response.clone().text();
  const method = init?.method ?? "GET";
  exchanges.push([method, response.status, text.includes("errors")]);
  return response;
};

const client = new Client("URL/graphql", { fetch: recorded });
const names = async (text: string) => {
  const { revision } = await client.ask(Packages, { text });
  return revision?.packages.nodes.map(({ name }) => name);
};
const answers = [await names("py-"), await names("py-"), await names("py-"), await names("h")];
const numAsked = exchanges.length;
// Too long for an address.
await names("x".repeat(3000)).catch((error) => exchanges.push(error.code));
const unreachable = await new Client("URL/nope").ask(Packages).catch((error) => error.status);
console.log(JSON.stringify({ answers, exchanges, numAsked, unreachable }));

export async function refused(): Promise<void> {
  // @ts-expect-error There is no such variable.
  await client.ask(Packages, { colour: "red" });
  const { revision } = await client.ask(Packages);
  // @ts-expect-error A revision may be null.
  revision.digest;
}
"""


@pytest.fixture(scope="module")
def consumer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a program that has installed the package as npm publishes it."""
    folder = tmp_path_factory.mktemp("consumer")
    package = npm.installed(PACKAGE, tmp_path_factory.mktemp("client"))
    npm.run(package, "build.mjs", ROOT / "schema" / "schema.graphql", DOCUMENTS)
    npm.run(package, "node_modules/typescript/bin/tsc")
    named = orjson.loads((package / "package.json").read_bytes())
    installed = folder / "node_modules" / named["name"]
    installed.mkdir(parents=True)
    for name in ("package.json", *named["files"]):
        copy = shutil.copytree if (package / name).is_dir() else shutil.copy
        copy(package / name, installed / name)
    for name in ("@types", "csstype", "happy-dom", "react", "react-dom", "scheduler", "typescript"):
        (folder / "node_modules" / name).symlink_to(package / "node_modules" / name)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


@pytest.fixture
def url(demo_catalog: Path) -> Iterator[str]:
    """Return the URL of a new server of the demo catalog, which knows no document yet."""
    with application(Settings(catalog=str(demo_catalog))) as client:
        yield str(client.base_url).rstrip("/")


def compile_strictly(consumer: Path, file: str, program: str) -> None:
    """Write a program and compile it."""
    (consumer / file).write_text(program)
    options = ("--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext")
    libraries = ("--lib", "es2022,dom,dom.iterable", "--jsx", "react-jsx")
    npm.run(consumer, "node_modules/typescript/bin/tsc", *options, *libraries, file)


def run(consumer: Path, name: str, program: str) -> bytes:
    """Compile a program strictly, run it, and return what it prints."""
    compile_strictly(consumer, f"{name}.ts", program)
    return npm.run(consumer, f"{name}.js")


def test_the_example_of_its_readme(consumer: Path, url: str) -> None:
    """Causes with their numbers, packages page by page, and an error told by its code."""
    base = "develop-2025-01-26"
    program = EXAMPLE.replace("http://127.0.0.1:8000", url).replace("develop~1", base)
    lines = run(consumer, "example", program).decode().splitlines()
    assert re.fullmatch(r"\d+ .+", lines[0])
    assert any(line.startswith("py-") for line in lines)
    assert lines[-1].startswith("no revision 'develp'")


def test_the_component_of_its_readme(consumer: Path, url: str) -> None:
    """It shows the answer to its newest variables, and what was refused."""
    compile_strictly(consumer, "component.tsx", COMPONENT.replace("http://127.0.0.1:8000", url))
    (consumer / "rendering.js").write_text(RENDERING)
    rendered = orjson.loads(npm.run(consumer, "rendering.js"))
    assert all(name.startswith("py-") for name in rendered["shown"][0])
    assert any(name.startswith("h") for name in rendered["shown"][1])
    assert rendered["refusal"].startswith("AskError: ")


def test_it_asks_by_hash_and_revalidates(consumer: Path, url: str) -> None:
    """A document is sent once; an answer that has not changed is not sent again."""
    told = orjson.loads(run(consumer, "asking", ASKING.replace("URL", url)))
    first, second, third, other = told["answers"]
    assert first == second == third != other
    assert all(name.startswith("py-") for name in first)
    assert told["exchanges"][: told["numAsked"]] == [
        ["GET", 200, True],  # the server does not know the document yet
        ["POST", 200, False],
        ["GET", 200, False],
        ["GET", 304, False],
        ["GET", 200, False],
    ]
    assert told["exchanges"][told["numAsked"]][0] == "POST"
    assert told["unreachable"] == 404


def test_its_documents_are_those_of_the_guide() -> None:
    """The same text in both, so that both are tested."""
    guide = (ROOT / "docs" / "api.md").read_text("utf-8")
    shown = re.findall(r"^```graphql\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    assert sorted(shown) == sorted(it.read_text("utf-8") for it in DOCUMENTS.iterdir())
