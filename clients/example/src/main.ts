// Three views of a cachelog server: packages by a part of their name, one package, and what changed.

import { Client, Package, Packages, QueryError, Why } from "@cachelog/client";

const server = import.meta.env.VITE_CACHELOG ?? "http://127.0.0.1:8000/graphql";
const client = new Client(new URLSearchParams(location.search).get("server") ?? server);
const main = document.querySelector("main")!;

type Child = Node | string | number;

/** Texts are never parsed as markup. */
function element(name: string, attributes: Record<string, string>, ...children: Child[]): HTMLElement {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.map((child) => (typeof child === "number" ? child.toLocaleString("en") : child)));
  return made;
}

function table(head: string[], rows: Child[][]): HTMLElement {
  const cell = (value: Child) => element("td", typeof value === "number" ? { class: "number" } : {}, value);
  return element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...head.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map(cell)))),
  );
}

async function packages(text: string): Promise<Child[]> {
  const { revision } = await client.query(Packages, { text });
  const found = revision?.packages;
  const rows = (found?.nodes ?? []).map(({ name, versions, numSpecs }) => [
    element("a", { href: `#/packages/${encodeURIComponent(name)}` }, name),
    versions[0] ?? "",
    numSpecs,
  ]);
  return [element("p", {}, found?.totalCount ?? 0, " packages"), table(["Package", "Newest", "Specs"], rows)];
}

async function search(): Promise<Child[]> {
  const box = element("input", { type: "search", "aria-label": "Part of a package's name" }) as HTMLInputElement;
  const results = element("div", {});
  let last = 0;
  const show = async () => {
    const turn = (last += 1);
    const shown = await packages(box.value).catch(problem);
    if (turn === last) results.replaceChildren(...shown.map(node)); // not what an earlier letter found
  };
  box.addEventListener("input", show);
  await show();
  return [element("h1", {}, "Packages"), box, results];
}

async function onePackage(name: string): Promise<Child[]> {
  const { revision } = await client.query(Package, { name });
  const found = revision?.package;
  if (!found) return [element("h1", {}, name), element("p", {}, "There is no such package.")];
  const rows = (found.coverage ?? []).map(({ values: [version, target], numSpecs }) => [version ?? "", target ?? "", numSpecs]);
  return [element("h1", {}, name), table(["Version", "Target", "Specs"], rows)];
}

async function changes(): Promise<Child[]> {
  const { compare } = await client.query(Why, {});
  const rows = (compare?.causes?.nodes ?? []).map(({ title, numSpecs }) => [title, numSpecs]);
  return [element("h1", {}, "What caused the replacements"), table(["Cause", "Specs"], rows)];
}

function node(child: Child): Node {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

function problem(error: unknown): Child[] {
  const reason = error instanceof QueryError ? error.message : "The server cannot be reached.";
  return [element("p", { role: "alert" }, reason)];
}

async function route(): Promise<void> {
  const [, view, name] = location.hash.split("/");
  const shown =
    view === "packages" && name ? onePackage(decodeURIComponent(name)) : view === "changes" ? changes() : search();
  main.replaceChildren(...(await shown.catch(problem)).map(node));
}

addEventListener("hashchange", route);
void route();
