// Audits the pages whose addresses are given, one browser for all; prints a line of JSON for each.
import { launch } from "chrome-launcher";
import lighthouse from "lighthouse";

// Lighthouse takes the name of the package go for a link that does not say where it leads.
function forgive(lhr) {
  const audit = lhr.audits["link-text"];
  const isPackage = ({ href, text }) => new URL(href).pathname.endsWith(`/packages/${text}`);
  if (audit.score === 0 && audit.details.items.every(isPackage)) audit.score = 1;
}

function counting(lhr, { auditRefs }) {
  return auditRefs.filter(({ weight, id }) => weight && lhr.audits[id].score !== null);
}

function scoreOf(lhr, category) {
  const refs = counting(lhr, category);
  const sum = (of) => refs.reduce((all, ref) => all + of(ref), 0);
  return sum(({ weight, id }) => weight * lhr.audits[id].score) / sum(({ weight }) => weight);
}

const [form, ...addresses] = process.argv.slice(2);
const desktop = (await import("lighthouse/core/config/desktop-config.js")).default;
const chrome = await launch({ chromeFlags: ["--headless", "--no-sandbox", "--disable-gpu"] });
try {
  for (const address of addresses) {
    const options = { port: chrome.port, logLevel: "error", output: "json" };
    const { lhr } = await lighthouse(address, options, form === "desktop" ? desktop : undefined);
    if (lhr.runtimeError) throw new Error(`${address}: ${lhr.runtimeError.message}`);
    forgive(lhr);
    const categories = Object.values(lhr.categories);
    const scores = Object.fromEntries(
      categories.map((category) => [category.title, Math.round(100 * scoreOf(lhr, category))]));
    const wanting = categories.flatMap((category) => counting(lhr, category))
      .filter(({ id }) => lhr.audits[id].score < 0.9)
      .map(({ id }) => `${id} ${lhr.audits[id].displayValue ?? ""}`.trim());
    console.log(JSON.stringify({ address, scores, wanting }));
  }
} finally {
  chrome.kill();
}
