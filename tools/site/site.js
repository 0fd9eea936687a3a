// The switch of themes, the menu on phones, the search, buttons that copy. Everything else works without.
"use strict";
const root = document.currentScript.dataset.root;
const $ = (id) => document.getElementById(id);

// ---- Theme: as the system says, or light, or dark -------------------------------------------------
const themes = ["", "light", "dark"];
const themeButton = $("theme");
function showTheme() {
  const theme = document.documentElement.dataset.theme || "";
  themeButton.textContent = { "": "◐", light: "☀", dark: "☾" }[theme];
  themeButton.setAttribute("aria-label", "Theme: " + (theme || "as the system"));
}
themeButton.addEventListener("click", () => {
  const next = themes[(themes.indexOf(document.documentElement.dataset.theme || "") + 1) % themes.length];
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  try { localStorage.setItem("medgrad-theme", next); } catch { /* then it holds for this page */ }
  showTheme();
});
showTheme();

// ---- Menu ----------------------------------------------------------------------------------------
const menu = $("menu");
menu.addEventListener("click", () => {
  menu.setAttribute("aria-expanded", String(document.body.classList.toggle("menu-open")));
});
const here = document.querySelector("nav [aria-current]");
if (here) $("navigation").scrollTop = here.offsetTop - $("navigation").clientHeight / 2;

// ---- Copying: of a console block the commands alone ------------------------------------------------
for (const block of document.querySelectorAll(".code:not(.api)")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const text = block.querySelector("code").textContent;
    const commands = text.split("\n").filter((line) => line.startsWith("$ ")).map((line) => line.slice(2) + "\n");
    await navigator.clipboard.writeText(block.dataset.language === "console" ? commands.join("") : text);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  block.append(button);
}

// ---- Search: the index comes when it is first asked for -------------------------------------------
const MOST = 12, MOST_PER_PAGE = 3;
const input = $("search"), list = $("found");
let loading = null;
function load() {
  loading ||= new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = root + "search-index.js";
    script.onload = resolve;
    document.head.append(script);
  });
  return loading;
}

// Every word has to occur; titles count more than headings, headings more than text, beginnings of words more than insides.
function score(entry, words) {
  let sum = 0;
  for (const word of words) {
    let best = 0;
    for (const [field, weight] of [[1, 8], [2, 12], [3, 1]]) {
      const text = entry[field].toLowerCase(), at = text.indexOf(word);
      if (at < 0) continue;
      const begins = at === 0 || !/[\w-]/.test(text[at - 1]), whole = begins && !/[\w-]/.test(text[at + word.length] || " ");
      best = Math.max(best, weight * (whole ? 3 : begins ? 2 : 1));
    }
    if (!best) return 0;
    sum += best;
  }
  return sum;
}

function excerpt(text, words) {
  const at = Math.max(0, Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((i) => i >= 0)));
  const from = Number.isFinite(at) && at > 60 ? at - 50 : 0;
  return (from ? "… " : "") + text.slice(from, from + 150);
}

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) { list.hidden = true; return; }
  await load();
  const perPage = {};
  const hits = searchIndex.map((entry) => [score(entry, words), entry]).filter(([value]) => value)
    .sort((a, b) => b[0] - a[0]).filter(([, [, title]]) => (perPage[title] = (perPage[title] || 0) + 1) <= MOST_PER_PAGE).slice(0, MOST);
  list.replaceChildren(...hits.map(([, [url, title, heading, text]]) => {
    const link = document.createElement("a"), name = document.createElement("b"), more = document.createElement("span");
    link.href = root + url;
    name.textContent = heading ? `${title} › ${heading}` : title;
    more.textContent = excerpt(text, words);
    link.append(name, more);
    return link;
  }));
  if (!hits.length) list.textContent = "Nothing found.";
  list.hidden = false;
}
input.addEventListener("focus", load);
input.addEventListener("input", search);
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  const links = [...list.querySelectorAll("a")], at = links.indexOf(document.activeElement);
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) { event.preventDefault(); input.focus(); }
  else if (event.key === "Escape") { list.hidden = true; input.blur(); }
  else if (!list.hidden && links.length && (event.target === input || at >= 0)) {
    if (event.key === "ArrowDown") { event.preventDefault(); links[Math.min(at + 1, links.length - 1)].focus(); }
    else if (event.key === "ArrowUp") { event.preventDefault(); (at > 0 ? links[at - 1] : input).focus(); }
    else if (event.key === "Enter" && event.target === input) links[0].click();
  }
});
document.addEventListener("click", (event) => { if (!event.target.closest(".search")) list.hidden = true; });
