"""clients/typescript: it builds from the schema, and its README runs against a real server."""

import re
import shutil
from pathlib import Path

import orjson
import pytest

from tests.expensive import IS_QUICK
from tests.server import npm

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
DOCUMENTS = ROOT / "clients" / "documents"
PACKAGE = ROOT / "clients" / "typescript"
README = (PACKAGE / "README.md").read_text("utf-8")
(EXAMPLE,) = re.findall(r"```ts\n(.*?)```", README, re.DOTALL)
(CODEGEN,) = re.findall(r"```js\n(.*?)```", README, re.DOTALL)
MODES = ('documentMode: "string", ', *(() if IS_QUICK else ("",)))
"""Documents as texts, and as trees, which the suite omits."""

(COMPONENT,) = re.findall(r"```tsx\n(.*?)```", README, re.DOTALL)
RENDERING = """
import { Window } from "happy-dom";
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { Client, Packages } from "@cachelog/client";
import { useQuery } from "@cachelog/client/react";
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

const requests = [];
const slow = (url, { signal }) => {
  const number = requests.push(signal);
  const errors = number === 3 ? [{ message: "no" }] : undefined;
  const body = JSON.stringify({ data: { number }, errors });
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
    setTimeout(() => resolve(new Response(body)), number === 1 ? 60_000 : 10);
  });
};
const client = new Client("http://127.0.0.1/graphql", { fetch: slow });
const states = [];
let refetch;
function States({ text, skip }) {
  const query = useQuery(client, Packages, { text }, { skip });
  refetch = query.refetch;
  states.push([text, query.data?.number, String(query.error ?? ""), query.isLoading]);
  return createElement("output", {}, String(query.data?.number));
}
root.render(createElement(States, { text: "a", skip: true }));
await until("output", () => true);
const numSkipped = requests.length;
root.render(createElement(States, { text: "a", skip: false }));
while (!requests.length) await new Promise((resolve) => setTimeout(resolve, 10));
root.render(createElement(States, { text: "b", skip: false }));
await until("output", (text) => text === "2");
const isAborted = requests[0].aborted;
refetch();
await until("output", (text) => text === "3");
root.unmount();
await window.happyDOM.close();
console.log(JSON.stringify({ shown, refusal, numSkipped, isAborted, states }));
process.exit();
"""

EXCHANGES = """
import { Client, Packages, type QueryError } from "@cachelog/client";

const exchanges: unknown[] = [];
const recorded: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const text = await response.clone().text();
  const method = init?.method ?? "GET";
  exchanges.push([method, response.status, text.includes("errors")]);
  return response;
};

const client = new Client("http://127.0.0.1:8000/graphql", { fetch: recorded });
const names = async (text: string) => {
  const { revision } = await client.query(Packages, { text });
  return revision?.packages?.nodes.map(({ name }) => name);
};
const answers = [await names("py-"), await names("py-"), await names("py-"), await names("h")];
const numAsked = exchanges.length;
// Too long for an address.
await names("x".repeat(3000)).catch((error) => exchanges.push(error.code));
const missing = new Client("http://127.0.0.1:8000/nope");
const waits = ["0", "3600"];
const busy: typeof fetch = async () => {
  const body = '{"data": {"revision": null}, "errors": [{"message": "busy"}]}';
  return new Response(body, { status: 503, headers: { "Retry-After": waits.shift() ?? "" } });
};
const refused = new Client("http://127.0.0.1/", { fetch: busy }).query(Packages);
const { status, data, retryAfter } = (await refused.catch((error) => error)) as QueryError;
const signal = AbortSignal.abort("given up");
const reason = await client.query(Packages, {}, { signal }).catch((error) => error);
const unreachable = await missing.query(Packages).catch((error) => error.status);
const results = { busy: [status, data, retryAfter], numAsked, reason, unreachable };
console.log(JSON.stringify({ answers, exchanges, ...results }));

export async function wrong(): Promise<void> {
  // @ts-expect-error There is no such variable.
  await client.query(Packages, { colour: "red" });
  const { revision } = await client.query(Packages);
  // @ts-expect-error A revision may be null.
  revision.ref;
}
"""


@pytest.fixture(scope="module")
def consumer(typescript_client: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package as npm installs it, and compiled programs."""
    folder, package = tmp_path_factory.mktemp("consumer"), typescript_client
    manifest = orjson.loads((package / "package.json").read_bytes())
    installed = folder / "node_modules" / manifest["name"]
    installed.mkdir(parents=True)
    for name in ("package.json", *manifest["files"]):
        copy = shutil.copytree if (package / name).is_dir() else shutil.copy
        copy(package / name, installed / name)
    for name in ("@types", "csstype", "happy-dom", "react", "react-dom", "scheduler", "typescript"):
        (folder / "node_modules" / name).symlink_to(package / "node_modules" / name)
    (folder / "package.json").write_text('{"type": "module"}')
    programs = {"example.ts": EXAMPLE, "asking.ts": EXCHANGES, "component.tsx": COMPONENT}
    for name, text in programs.items():
        (folder / name).write_text(text)
    options = ("--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext")
    libraries = ("--lib", "es2022,dom,dom.iterable", "--jsx", "react-jsx")
    npm.run(folder, "node_modules/typescript/bin/tsc", *options, *libraries, *programs)
    return folder


def program(consumer: Path, name: str, url: str) -> Path:
    """Return a compiled program with the URL of a server and a tag of its catalog."""
    file = consumer / name
    text = file.read_text().replace("http://127.0.0.1:8000", url)
    file.write_text(text.replace("develop~1", "develop-2025-01-26"))
    return file


def test_example_of_the_readme_runs(consumer: Path, new_server_url: str) -> None:
    """It prints causes with their numbers, packages page by page, and an error with its code."""
    lines = npm.run(consumer, program(consumer, "example.js", new_server_url)).decode().splitlines()
    assert re.fullmatch(r"\d+ .+", lines[0])
    assert any(line.startswith("py-") for line in lines)
    assert lines[-1].startswith("no revision 'develp'")


def test_component_of_the_readme_renders(consumer: Path, new_server_url: str) -> None:
    """It renders the response to its latest variables, and the message of an error.

    The request of earlier variables is aborted, and their data are not rendered any more.
    """
    (consumer / "rendering.js").write_text(RENDERING)
    program(consumer, "component.js", new_server_url)
    rendered = orjson.loads(npm.run(consumer, "rendering.js"))
    assert all(name.startswith("py-") for name in rendered["shown"][0])
    assert any(name.startswith("h") for name in rendered["shown"][1])
    assert rendered["refusal"].startswith("QueryError: ")
    assert rendered["numSkipped"] == 0
    assert rendered["isAborted"]
    states = [tuple(state) for state in rendered["states"]]
    assert [*dict.fromkeys(states)] == [
        ("a", None, "", False),  # it is skipped
        ("a", None, "", True),
        ("b", None, "", True),
        ("b", 2, "", False),
        ("b", 2, "", True),  # queried once more
        ("b", 3, "QueryError: no", False),  # with what did not fail
    ]


def test_documents_and_unchanged_responses_are_sent_once(
    consumer: Path, new_server_url: str
) -> None:
    """Then the hash of a document suffices, and a response is revalidated."""
    output = orjson.loads(npm.run(consumer, program(consumer, "asking.js", new_server_url)))
    first, second, third, other = output["answers"]
    assert first == second == third != other
    assert all(name.startswith("py-") for name in first)
    assert output["exchanges"][: output["numAsked"]] == [
        ["GET", 200, True],  # the server does not know the document yet
        ["POST", 200, False],
        ["GET", 200, False],
        ["GET", 304, False],
        ["GET", 200, False],
    ]
    assert output["exchanges"][output["numAsked"]][0] == "POST"
    assert output["unreachable"] == 404
    assert output["reason"] == "given up"
    assert output["busy"] == [503, {"revision": None}, 3600]  # too long to wait for


@pytest.mark.parametrize("mode", MODES)
def test_documents_of_users_are_typed(
    mode: str, typescript_client: Path, new_server_url: str, tmp_path: Path
) -> None:
    """The configuration of the README generates documents, in a project of Vite, for the client."""
    project = npm.installed(Path(__file__).with_name("vite_project"), tmp_path)
    modules = (project / "node_modules").readlink()
    (project / "node_modules").unlink()
    (project / "node_modules/@cachelog").mkdir(parents=True)
    for path in modules.iterdir():
        (project / "node_modules" / path.name).symlink_to(path)
    (project / "node_modules/@cachelog/client").symlink_to(typescript_client)
    (project / "codegen.js").write_text(CODEGEN.replace(MODES[0], mode))
    shutil.copy(ROOT / "schema/schema.graphql", project)
    npm.run(project, "node_modules/@graphql-codegen/cli/cjs/bin.js", "--config", "codegen.js")
    options = ("--noEmit", "--strict", "--skipLibCheck", "--target", "es2022")
    resolution = ("--module", "preserve", "--moduleResolution", "bundler")
    npm.run(project, "node_modules/typescript/bin/tsc", *options, *resolution, "src/main.ts")
    npm.run(project, "node_modules/vite/bin/vite.js", "build", "--ssr", "src/main.ts")
    output = npm.run(project, "run.mjs", f"{new_server_url}/graphql", "develop-2025-01-26")
    assert output.decode().startswith("develop-2025-01-26")


def test_documents_equal_those_of_the_guide() -> None:
    """So the tests of either cover both."""
    guide = (ROOT / "docs" / "api.md").read_text("utf-8")
    documents = re.findall(r"^```graphql\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    assert sorted(documents) == sorted(path.read_text("utf-8") for path in DOCUMENTS.iterdir())
