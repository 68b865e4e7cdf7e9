// Looks at a page at three sizes, light and dark, until it shows a text, and keeps pictures: node look.mjs URL OUT NAME TEXT [SIZES]
import { chromium } from "playwright-core";
import { mkdirSync, readFileSync } from "node:fs";

const [url, out, name, text, only] = process.argv.slice(2);
const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
mkdirSync(out, { recursive: true });
let faults = 0;
const fault = (...words) => { faults++; console.log(name + ":", ...words); };

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const [size, width, height] of [["phone", 390, 844], ["laptop", 1280, 800], ["wide", 1920, 1080]]) {
  for (const colorScheme of ["light", "dark"]) {
    const kind = size + "-" + colorScheme;
    if (only && !only.split(",").includes(kind)) continue;
    const context = await browser.newContext({ viewport: { width, height }, colorScheme });
    const page = await context.newPage();
    page.on("console", (m) => { if (m.type() === "error") fault(kind, "console:", m.text()); });
    page.on("pageerror", (e) => fault(kind, "script:", e.message));
    page.on("request", (r) => { if (new URL(r.url()).origin !== new URL(url).origin) fault(kind, "a request to", r.url()); });
    await page.goto(url);
    if (page.url().includes("token")) fault(kind, "the token stays in the address");
    await page.waitForFunction((text) => +document.body.dataset.seen >= 3 && new RegExp(text).test(document.querySelector("main").textContent + document.querySelector("header").textContent),
      text, { timeout: 60000 }).catch(() => fault(kind, "shows no", text, "but", "findings"));
    await page.screenshot({ path: `${out}/${name}-${kind}.png`, fullPage: true });
    await page.evaluate(axe); // by the debugger's door, which the page's policy does not close
    const { violations } = await page.evaluate(() => axe.run(document));
    for (const v of violations) fault(kind, "axe:", v.id, v.help, v.nodes.map((n) => n.target).slice(0, 3).join(" "));
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (wider > 0) fault(kind, "is", wider, "pixels too wide");
    if (await page.locator("#findings li.bad").count() && !await page.locator(".node.bad").count()) fault(kind, "has trouble, and marks no process");
    const begins = await page.evaluate(() => document.querySelector("main").firstElementChild.id);
    const stuck = await page.locator("#findings li.bad, #findings li.wait").count() > 0 || !await page.locator("#curves polyline").count();
    if (begins !== (stuck ? "s-findings" : "s-curves")) fault(kind, "begins with", begins);
    const above = await page.evaluate(() => [...document.querySelectorAll("figure")].filter((f) => /^auc$/i.test(f.querySelector("figcaption").firstChild.textContent))
      .some((f) => [...f.querySelectorAll("text.soft")].some((t) => +t.textContent > 1 && +t.getAttribute("x") < 60)));
    if (above) fault(kind, "has an axis of an AUC above 1");
    if (await page.locator("b", { hasText: /^wide/ }).count()) fault(kind, "a name became markup");
    await context.close();
  }
}
await browser.close();
console.log(name + ":", faults ? faults + " faults" : "no faults");
process.exit(faults ? 1 : 0);
