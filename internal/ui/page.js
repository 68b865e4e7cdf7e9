// The page: asks for the job once a second while it is seen, and draws what it is told. Whatever the job names is put
// in as text, never as markup.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

// make makes an element of HTML with attributes and children; a string is text.
function make(tag, attributes, ...children) { return fill(document.createElement(tag), attributes, children); }
function draw(tag, attributes, ...children) { return fill(document.createElementNS(SVG, tag), attributes, children); }
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children.filter((c) => c !== null && c !== undefined));
  return element;
}

// put replaces what is in an element.
function put(id, ...children) { byId(id).replaceChildren(...children); }

const units = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
function number(v) {
  for (const [of, unit] of units) if (Math.abs(v) >= of * 0.9995) return (v / of).toPrecision(3) + " " + unit;
  return Math.abs(v) >= 100 || Number.isInteger(v) ? String(Math.round(v)) : Number(v.toPrecision(3)).toString();
}
function bytes(v) { return v >= 1000 ? number(v) + "B" : Math.round(v) + " B"; }
function time(s) {
  if (s < 60) return (s < 10 ? s.toFixed(1) : Math.round(s)) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + Math.round(s % 60) + " s";
  return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
}
function title(r) { return r.kind + " " + r.index; }

// --- what is wrong ---

function showFindings(v) {
  if (!v.findings || v.findings.length === 0) {
    put("findings", make("li", { class: "fine" }, make("strong", {}, "Nothing stands out."),
      make("p", {}, v.state === "trains" ? "All processes answer, and no one is waited for." : "No one is waited for.")));
    return;
  }
  const words = { bad: "Trouble: ", wait: "Waiting: ", note: "Note: " };
  put("findings", ...v.findings.slice(0, 12).map((f) =>
    make("li", { class: f.level }, make("strong", f.whole ? { title: f.whole } : {}, words[f.level] + f.what), make("p", {}, f.do))));
}

// arrange puts the curves first, and behind what stands out and the picture while something is stuck, or there are none.
function arrange(v) {
  const stuck = (v.findings || []).some((f) => f.level !== "note"), none = !v.training || !(v.training.Curves || []).length;
  const order = stuck || none ? ["s-findings", "s-job", "s-curves"] : ["s-curves", "s-findings", "s-job"];
  const main = byId("s-curves").parentElement;
  if (order.some((id, i) => main.children[i].id !== id)) main.prepend(...order.map(byId));
}

// --- the job as a picture ---

const crowded = 24; // workers, from which on they are a grid

function showPicture(v) {
  const servers = v.roles.filter((r) => r.kind === "server"), workers = v.roles.filter((r) => r.kind === "worker");
  const awaited = new Map(); // worker: who waits for it
  for (const s of v.roles) for (const w of s.awaits || []) awaited.set(w, [...(awaited.get(w) || []), s]);
  const many = workers.length > crowded, width = Math.max(330, Math.min(1000, byId("picture").clientWidth)), wide = many ? 40 : Math.min(190, width / Math.max(1, Math.min(workers.length, Math.floor(width / 100))) - 12);
  const high = many ? 26 : 54, perLine = many ? Math.floor(width / 47) : Math.max(1, Math.min(workers.length, Math.floor(width / 100))), top = servers.length ? 150 : 14;
  const shapes = [], place = new Map();
  servers.forEach((s, i) => place.set(title(s), [(i + 0.5) * width / servers.length, 40]));
  workers.forEach((w, i) => {
    const line = Math.floor(i / perLine), count = Math.min(perLine, many ? perLine : workers.length);
    place.set(title(w), [(i % perLine + 0.5) * width / count, top + high / 2 + line * (high + 8)]);
  });
  const most = Math.max(1, ...workers.flatMap((w) => w.traffic || []));
  for (const w of workers) {
    const at = place.get(title(w));
    for (const s of awaited.get(w.index) || []) {
      const from = place.get(title(s));
      if (s !== w && from) shapes.push(draw("path", { class: "edge awaits", d: curve([from[0], 68], [at[0], at[1] - high / 2]) }));
    }
    if (!many) (w.traffic || []).forEach((t, i) => {
      const to = place.get("server " + i);
      if (to) shapes.push(draw("path", { class: t > 0 ? "edge" : "edge still", "stroke-width": (1 + 5 * Math.sqrt(t / most)).toFixed(1), d: curve([to[0], 68], [at[0], at[1] - high / 2]) }));
    });
  }
  for (const s of servers) shapes.push(node(s, place.get(title(s)), Math.min(200, width / servers.length - 14), 54, false,
    s.awaits && s.awaits.length ? "waits" : bytes(s.bytes) + ", " + number(s.rows) + " rows"));
  for (const w of workers) shapes.push(node(w, place.get(title(w)), wide, high, many, number(w.rate) + " examples/s", awaited.has(w.index)));
  const height = top + Math.ceil(workers.length / perLine) * (high + 8) + 10;
  const telling = v.roles.length + (v.roles.length === 1 ? " process: " : " processes: ") + [["runs", "run"], ["starts", "start"], ["silent", "without an answer"], ["ended", "ended"], ["away", "away"], ["failed", "failed"]]
    .map(([s, said]) => [v.roles.filter((r) => r.state === s).length, said]).filter((p) => p[0]).map((p) => p[0] + " " + p[1]).join(", ") +
    (awaited.size ? "; waited for: worker " + [...awaited.keys()].slice(0, 5).join(", ") : "") +
    v.roles.filter((r) => r.mark && !words[r.state] && !(r.kind === "worker" && awaited.has(r.index))).slice(0, 5).map((r) => "; " + title(r) + ": " + r.mark).join("");
  put("picture", draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": telling }, ...shapes));
  put("key", telling + (many || v.roles.length === 1 ? "." : ". Blue lines are bytes a second now, grey ones without any; a dashed line leads from who waits to whom it is for."));
}

function curve(a, b) { return `M${a[0]},${a[1]} C${a[0]},${(a[1] + b[1]) / 2} ${b[0]},${(a[1] + b[1]) / 2} ${b[0]},${b[1]}`; }

// words says a state to those who see no colours.
const words = { starts: "starts", runs: "", silent: "does not answer", ended: "has ended", away: "is away", failed: "has failed" };

function node(r, [x, y], w, h, small, fact, awaited) {
  const level = r.level || (awaited ? "wait" : ""), sign = { bad: "⚠ ", wait: "… " }[level] || "";
  const says = r.mark || words[r.state] || (awaited ? "is waited for" : fact);
  const g = draw("g", { class: "node " + r.state + " " + level }, draw("title", {}, title(r) + ": " + says),
    draw("rect", { x: x - w / 2, y: y - h / 2, width: w, height: h, rx: 7 }));
  if (small) { g.append(draw("text", { x, y: y + 4, "text-anchor": "middle" }, sign.trim() + r.index)); return g; }
  const room = Math.floor(w / 6.6), short = (s) => s.length > room ? s.slice(0, Math.max(1, room - 1)) + "…" : s;
  g.append(draw("text", { x, y: y - 4, "text-anchor": "middle", "font-weight": 600 }, short(sign + title(r))),
    draw("text", { x, y: y + 14, "text-anchor": "middle" }, short(says)));
  return g;
}

function showRoles(v) {
  const head = ["process", "state", "for", "examples/s", "steps", "epoch", "staleness", "waits", "in the job"];
  const members = new Map((v.members || []).map((m) => ["worker " + m.worker, m])), known = new Set(v.roles.map(title));
  const standing = (m) => m ? m.state + (m.life > 1 ? ", life " + m.life : "") + (m.for ? ", " + (m.state === "here" ? "for " + time(m.for) : "heard " + time(m.for) + " ago") : "") : "";
  const rows = v.roles.slice(0, 400).map((r) => make("tr", {}, make("th", { scope: "row" }, title(r)), make("td", {}, (words[r.state] || r.state) + (r.how ? ": " + r.how : "")),
    cell(time(r.for)), cell(r.kind === "worker" ? number(r.rate) : ""), cell(r.kind === "worker" ? number(r.steps) : ""),
    cell(r.kind === "worker" ? String(r.epoch + 1) : ""), cell(r.kind === "worker" ? number(r.stale) : ""), make("td", {}, r.why), make("td", {}, standing(members.get(title(r))))));
  for (const [name, m] of members) if (!known.has(name)) rows.push(make("tr", {}, make("th", { scope: "row" }, name), make("td", { colspan: 7 }, "on another machine"), make("td", {}, standing(m))));
  put("roles", make("thead", {}, make("tr", {}, ...head.map((h, i) => make("th", { scope: "col", class: i > 1 && i < 7 ? "n" : "" }, h)))), make("tbody", {}, ...rows));
}

function cell(text) { return make("td", { class: "n" }, text); }

// --- curves ---

const rates = []; // since the page was opened: [seconds, examples a second]

function showCurves(v, rates) {
  const all = [];
  const panels = new Map();
  for (const c of (v.training && v.training.Curves) || []) {
    if (!panels.has(c.Panel)) panels.set(c.Panel, []);
    panels.get(c.Panel).push(c);
  }
  for (const [name, lines] of panels) all.push(panel(name, lines, (v.training.Marks || []), "examples", number));
  if (rates.length > 1) all.push(panel("examples a second, since this page was opened", [{ Name: "all workers", Points: rates }], [], "ago", (s) => time(Math.max(0, -s))));
  byId("legend").hidden = panels.size === 0;
  put("curves", ...(all.length ? all : [make("p", { class: "none" }, "No curve so far: fleet/train shows its losses.")]));
}

function isLoss(name) { return name === "loss" || name.startsWith("loss (always "); }

function panel(name, lines, marks, unit, place) {
  const w = 420, h = 220, left = 52, right = 12, up = 16, down = 34;
  const points = lines.flatMap((l) => l.Points || []);
  if (points.length === 0) return make("p", { class: "none" }, name + ": nothing yet");
  const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
  let [x0, x1, y0, y1] = [unit === "examples" ? 0 : Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  if (x1 === x0) x1 = x0 + 1;
  if (unit !== "examples") { y0 = 0; y1 = Math.max(y1, 1); }
  const room = (y1 - y0) / 20 || Math.abs(y1) / 10 || 1;
  const part = !isLoss(name) && unit === "examples" && y0 >= 0 && y1 <= 1; // of 1, as AUC and accuracy are
  y0 = y0 >= 0 ? Math.max(0, y0 - room) : y0 - room;
  y1 = part ? Math.min(1, y1 + room) : y1 + room;
  const x = (v) => left + (v - x0) / (x1 - x0) * (w - left - right), y = (v) => h - down - (v - y0) / (y1 - y0) * (h - up - down);
  const shapes = [];
  for (let i = 0; i <= 3; i++) {
    const v = y0 + (y1 - y0) * i / 3, at = y(v).toFixed(1);
    shapes.push(draw("line", { class: "rule", x1: left, x2: w - right, y1: at, y2: at }), draw("text", { class: "soft", x: left - 6, y: +at + 4, "text-anchor": "end" }, number(v)));
  }
  for (const at of [x0, x1]) shapes.push(draw("text", { class: "soft", x: x(at), y: h - down + 16, "text-anchor": at === x0 ? "start" : "end" }, place(at)));
  shapes.push(draw("text", { class: "soft", x: (left + w - right) / 2, y: h - 4, "text-anchor": "middle" }, unit));
  const few = marks.filter((m) => m.Kind === "epoch").length <= 40; // more would be a wall
  for (const m of marks) {
    if (m.At < x0 || m.At > x1 || m.Kind === "epoch" && !few) continue;
    shapes.push(draw("line", { class: "mark " + m.Kind, x1: x(m.At), x2: x(m.At), y1: up, y2: h - down }, draw("title", {}, m.Text)));
  }
  lines.forEach((l, i) => {
    const c = "c" + (l.Name === "test" ? 1 : Math.min(i, 2)), line = l.Points || [];
    shapes.push(draw("polyline", { class: c, points: line.map((p) => x(p[0]).toFixed(1) + "," + y(p[1]).toFixed(1)).join(" ") }));
    const best = l.Best && line.find((p) => p[0] === l.Best[0]);
    if (best) shapes.push(draw("circle", { class: "best", cx: x(best[0]), cy: y(best[1]), r: 4.5 }, draw("title", {}, "best: " + number(best[1]))));
  });
  const says = name + ": " + lines.map((l) => l.Name + " " + ((l.Points || []).length ? number(l.Points[l.Points.length - 1][1]) : "none")).join(", ");
  const last = lines.map((l, i) => make("span", { class: "c" + (l.Name === "test" ? 1 : Math.min(i, 2)) }, l.Name + ((l.Points || []).length ? " " + number(l.Points[l.Points.length - 1][1]) : "")));
  return make("figure", {}, make("figcaption", {}, name, ...last), draw("svg", { viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": says }, ...shapes));
}

// --- time, tables, warnings ---

const parts = ["rows and between steps", "pull", "compute", "push"];

function showTime(v) {
  const workers = v.roles.filter((r) => r.kind === "worker" && r.parts.some((p) => p > 0));
  if (workers.length === 0) { put("time", make("p", { class: "none" }, "No worker has made a step since the last look.")); return; }
  const shown = workers.length > 16 ? [...workers].sort((a, b) => a.rate - b.rate).slice(0, 16) : workers;
  const line = 24, w = 480, left = 84, shapes = [];
  parts.forEach((p, i) => shapes.push(draw("rect", { class: "p" + i, x: [0, 168, 230, 322][i], y: 2, width: 11, height: 11, rx: 2 }),
    draw("text", { class: "soft", x: [0, 168, 230, 322][i] + 16, y: 12 }, p)));
  shown.forEach((r, i) => {
    let at = left;
    shapes.push(draw("text", { x: 0, y: 24 + i * line + 14 }, title(r)));
    r.parts.forEach((p, k) => {
      shapes.push(draw("rect", { class: "p" + k, x: at, y: 24 + i * line, width: Math.max(0, p * (w - left)), height: 16 }, draw("title", {}, parts[k] + " " + Math.round(100 * p) + " %")));
      at += p * (w - left);
    });
  });
  const mean = parts.map((p, i) => Math.round(100 * workers.reduce((s, r) => s + r.parts[i], 0) / workers.length) + " % " + p).join(", ");
  put("time", draw("svg", { class: "bar", viewBox: `0 0 ${w} ${28 + shown.length * line}`, role: "img", "aria-label": mean }, ...shapes),
    make("p", { class: "key" }, mean + (shown.length < workers.length ? "; the slowest are drawn." : ".")));
}

function showTables(v) {
  if (!v.tables || v.tables.length === 0) { put("tables", make("tbody", {}, make("tr", {}, make("td", { class: "none" }, "No embeddings.")))); return; }
  const rows = v.tables.map((t) => make("tr", {}, make("th", { scope: "row" }, t.name), cell(number(t.rows)), cell(number(t.born) + "/s"), cell(bytes(t.bytes)),
    make("td", {}, t.max ? make("meter", { value: t.bytes / t.max, max: 1, low: 0.8, high: 0.95, optimum: 0, "aria-label": t.name + ": part of its limit that is used" }) : "no limit"),
    cell(t.away ? number(t.away) : ""), make("td", { class: "ids" }, (t.hot || []).map((h) => h.ID + " (" + number(h.Updates) + "×)").join(", "))));
  put("tables", make("thead", {}, make("tr", {}, ...[["table", ""], ["rows", "of all servers here"], ["born", "rows that training has made, a second, since the last look"], ["memory", ""], ["of its limit", "memory as a part of MaxBytes"],
    ["turned away", "gradients of ids without a row that were dropped so far, since the table is full"], ["hottest ids", "ids that were pushed most, and how often"]].map(([h, title], i) => make("th", { scope: "col", title, class: [1, 2, 3, 5].includes(i) ? "n" : "" }, h)))),
    make("tbody", {}, ...rows));
}

function showWarnings(v) {
  const all = (v.warnings || []).slice(-20).reverse();
  if (all.length === 0) { put("warnings", make("li", { class: "none" }, "None.")); return; }
  put("warnings", ...all.map((w) => make("li", { class: w.bad ? "bad" : "" }, make("b", {}, w.role), w.count > 1 ? make("i", {}, w.count + "×, the last " + time(Math.max(0, (v.at - Date.parse(w.at)) / 1000)) + " ago") : null, w.text)));
}

function showHead(v) {
  document.title = (v.state === "trains" ? "" : v.state + ": ") + v.name;
  put("name", v.name + (v.attempt ? ", " + v.attempt : ""));
  byId("state").dataset.is = v.state;
  if (byId("state").textContent !== v.state) put("state", v.state);
  const facts = [["time", time(v.runs)], ["examples/s, all", number(v.rate)]];
  const worker = v.roles.find((r) => r.kind === "worker");
  if (worker) facts.push(["epoch", (worker.epoch + 1) + (v.training && v.training.Epochs ? " of " + v.training.Epochs : "")]);
  const loss = v.training && (v.training.Curves || []).find((c) => isLoss(c.Panel) && (c.Points || []).length);
  if (loss) facts.push(["loss", number(loss.Points[loss.Points.length - 1][1])]);
  if (v.server) {
    if (v.server.here + v.server.left + v.server.dead + v.server.absent) facts.push(["workers", v.server.here + " here" + (v.server.left ? ", " + v.server.left + " left" : "") + (v.server.dead ? ", " + v.server.dead + " lost" : "") + (v.server.absent ? ", " + v.server.absent + " to come" : "")]);
    if (v.server.checkpoints) facts.push(["last checkpoint", time(v.server.age) + " ago"]);
  }
  put("facts", ...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

// --- once a second ---

let began = 0, failed = 0;

async function look() {
  let pause = 1000;
  try {
    const answer = await fetch("/job.json", { signal: AbortSignal.timeout(8000) });
    if (!answer.ok) throw new Error(await answer.text());
    const v = await answer.json();
    if (v.error) throw new Error(v.error);
    failed = 0;
    began = began || v.at;
    rates.push([(v.at - began) / 1000, v.rate]);
    if (rates.length > 600) rates.shift();
    const last = rates[rates.length - 1][0];
    arrange(v); showHead(v); showFindings(v); showPicture(v); showRoles(v); showTime(v); showTables(v); showWarnings(v);
    showCurves(v, rates.slice(1).map(([s, r]) => [s - last, r])); // the first look knows no rate
    document.body.dataset.seen = String(+(document.body.dataset.seen || 0) + 1);
    if (v.roles.length > 100) pause = 2000;
  } catch (e) {
    if (++failed > 1) {
      byId("state").dataset.is = "no answer";
      put("state", "no answer");
      put("findings", make("li", { class: "bad" }, make("strong", {}, "This page has no answer: the job has ended, or its token is another. What is below was so then."), make("p", {}, String(e.message || e))));
    }
  }
  setTimeout(() => document.hidden ? document.addEventListener("visibilitychange", look, { once: true }) : look(), pause);
}

look();
