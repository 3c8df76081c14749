/* Building blocks of the race: nodes, icons, numbers, words. Text enters the page as text, never
   as markup. */

const SVG_NS = "http://www.w3.org/2000/svg";

function el(tag, attributes = {}, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return dress(document.createElementNS(SVG_NS, tag), attributes, children);
}

function dress(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/* Writes only what differs, so that a screen reader and the layout notice real changes alone. */
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) node.removeAttribute(name);
    else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, String(value));
  }
}

/* Makes `parent` hold exactly `nodes` in order; a node already in place keeps its focus. */
function arrange(parent, nodes) {
  nodes.forEach((node, index) => {
    if (parent.children[index] !== node) parent.insertBefore(node, parent.children[index] ?? null);
  });
  while (parent.children.length > nodes.length) parent.lastElementChild.remove();
}

/* Stroke icons on a 16 x 16 grid; those in FILLED are shapes. */
const ICONS = {
  play: "M4.6 2.9v10.2L13 8z",
  pause: "M4 3h2.9v10H4zM9.1 3H12v10H9.1z",
  restart: "M3.1 8.2a4.9 4.9 0 1 0 1.5-3.7L3 6M3 2.6V6h3.4",
  previous: "M11 3.8 6.8 8l4.2 4.2M4.6 3.8v8.4",
  next: "M5 3.8 9.2 8 5 12.2M11.4 3.8v8.4",
  llm: "M2.4 3.2h11.2v7.4H8.2l-3.3 2.6v-2.6H2.4z",
  embed: "M5 2.8H2.8v10.4H5M11 2.8h2.2v10.4H11M6.2 8h.01M9.8 8h.01",
  search: "M7 2.6a4.4 4.4 0 1 1 0 8.8 4.4 4.4 0 0 1 0-8.8M10.3 10.3l3.3 3.3",
  rerank: "M2.6 4h10.8M2.6 8h7.2M2.6 12h3.6",
  fetch: "M8 2.4v7.4M4.7 6.6 8 9.9l3.3-3.3M2.8 13.2h10.4",
  compute:
    "M4.6 4.6h6.8v6.8H4.6zM6.4 2.2v2.4M9.6 2.2v2.4M6.4 11.4v2.4M9.6 11.4v2.4" +
    "M2.2 6.4h2.4M2.2 9.6h2.4M11.4 6.4h2.4M11.4 9.6h2.4",
  show:
    "M1.6 8S4 3.9 8 3.9 14.4 8 14.4 8 12 12.1 8 12.1 1.6 8 1.6 8z" +
    "M8 6.3a1.7 1.7 0 1 1 0 3.4 1.7 1.7 0 0 1 0-3.4",
  check: "M3.2 8.4l3.2 3.2 6.4-7.2",
  place:
    "M8 14.2s4.3-4.3 4.3-7.5a4.3 4.3 0 0 0-8.6 0c0 3.2 4.3 7.5 4.3 7.5z" +
    "M8 5.3a1.4 1.4 0 1 1 0 2.8 1.4 1.4 0 0 1 0-2.8",
  withdrawn: "M3 8h10M5.5 4.4h5M5.5 11.6h5",
};
const STEP_KINDS = ["llm", "embed", "search", "rerank", "fetch", "compute", "show"];
const FILLED = new Set(["play", "pause"]);

function icon(name) {
  const paint = FILLED.has(name) ? "icon filled" : "icon";
  return svg(
    "svg",
    { class: paint, viewBox: "0 0 16 16", "aria-hidden": "true", "data-icon": name },
    svg("path", { d: ICONS[name] }),
  );
}

/* The milestones, in the order in which a good answer reaches them. Their glyphs fill up as the
   answer does, so that they can be told apart without colour. */
const MARKS = ["ack_s", "first_visible_s", "first_useful_s", "done_s", "reader_done_s", "total_s"];
const GLYPHS = {
  ack_s: () => [svg("circle", { cx: 7, cy: 7, r: 2, class: "solid" })],
  first_visible_s: () => [svg("circle", { cx: 7, cy: 7, r: 4.4, class: "hollow" })],
  first_useful_s: () => [
    svg("circle", { cx: 7, cy: 7, r: 4.4, class: "hollow" }),
    svg("path", { d: "M7 2.6a4.4 4.4 0 0 1 0 8.8z", class: "solid" }),
  ],
  done_s: () => [
    svg("circle", { cx: 7, cy: 7, r: 5.2, class: "solid" }),
    svg("path", { d: "M4.6 7.2l1.8 1.8 3.2-3.7", class: "sign" }),
  ],
  reader_done_s: () => [svg("path", { d: "M7 1.8 12.2 7 7 12.2 1.8 7z", class: "hollow" })],
  total_s: () => [svg("rect", { x: 2.6, y: 2.6, width: 8.8, height: 8.8, rx: 1, class: "solid" })],
};

function glyph(mark) {
  return svg(
    "svg",
    { class: "glyph", viewBox: "0 0 14 14", "aria-hidden": "true", "data-mark": mark },
    ...GLYPHS[mark](),
  );
}

/* The words of the page, with {name} places filled in. */
function wording(labels) {
  return (key, places = {}) =>
    (labels[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => String(places[name] ?? ""));
}

const MILLISECONDS_BELOW_S = 0.1; // shorter spans would read as 0.00 or 0.01 s

function seconds(value, say) {
  return say("in_s", { value: value.toFixed(2) });
}

function span(value, say) {
  if (value >= MILLISECONDS_BELOW_S) return seconds(value, say);
  const tenths = Math.round(value * 10_000);
  return say("in_ms", { value: tenths >= 100 ? Math.round(tenths / 10) : tenths / 10 });
}
