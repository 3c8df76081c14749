/* A drawing made by the server: shown as inert SVG in the colours of the theme, and saved as PNG by
   the browser, which has the fonts of its reader. */

const SVG_TYPE = "image/svg+xml";
const KINDS = ["before", "yours", "llm", "embed", "search", "rerank", "fetch", "compute", "show"];
const PNG_SCALE = 2;
const LEAST_SCALE = 0.75; // a drawing shrinks so far to fit; then it scrolls, or nobody could read it

/* Nothing in a drawing may run or fetch, whoever wrote the words in it. */
function inert(source) {
  const root = new DOMParser().parseFromString(source, SVG_TYPE).documentElement;
  if (root.nodeName !== "svg") return null;
  root.querySelectorAll("script, foreignObject, image, use, a").forEach((node) => node.remove());
  for (const node of [root, ...root.querySelectorAll("*")]) {
    for (const { name } of [...node.attributes]) {
      if (name.startsWith("on") || name.endsWith("href")) node.removeAttribute(name);
    }
  }
  return document.importNode(root, true);
}

function paint(frame, lane) {
  const theme = getComputedStyle(frame);
  const colors = theme.getPropertyValue("--st-chart-categorical-colors").split(",");
  KINDS.forEach((kind, index) => {
    if (colors[index]) frame.style.setProperty(`--kind-${kind}`, colors[index].trim());
  });
  if (lane) frame.style.setProperty("--lane", `var(--kind-${lane})`);
}

/* The picture as a PNG of twice its size. Rejects where the browser cannot draw it. */
async function rasterised(source) {
  const address = URL.createObjectURL(new Blob([source], { type: SVG_TYPE }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.naturalWidth * PNG_SCALE;
    canvas.height = image.naturalHeight * PNG_SCALE;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no PNG"))), "image/png");
    });
  } finally {
    URL.revokeObjectURL(address);
  }
}

function handOver(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const MAKERS = {
  svg: async (source) => new Blob([source], { type: SVG_TYPE }),
  png: rasterised,
};

function saveButton(format, { svg, save: names }) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = names[format];
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      handOver(await MAKERS[format](svg), `${names.name}.${format}`);
    } catch {
      button.textContent = names.failed;
    } finally {
      button.disabled = false;
    }
  });
  return button;
}

function saveButtons(data) {
  const row = document.createElement("div");
  row.className = "save";
  row.append(...Object.keys(MAKERS).map((format) => saveButton(format, data)));
  return row;
}

export default function ({ data, parentElement }) {
  const frame = parentElement.querySelector(".drawing");
  const scroll = document.createElement("div");
  scroll.className = "scroll";
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "group");
  scroll.setAttribute("aria-label", data.label);
  const drawing = inert(data.svg);
  if (drawing) scroll.append(drawing);
  if (drawing && !data.fit) {
    drawing.style.minWidth = `${LEAST_SCALE * drawing.getAttribute("width")}px`;
  }
  frame.dataset.fit = data.fit ? "yes" : "no";
  frame.replaceChildren(...(data.save ? [saveButtons(data)] : []), scroll);
  paint(frame, data.lane);
  scroll.scrollLeft = data.fit ? 0 : (scroll.scrollWidth - scroll.clientWidth) / 2;
}
