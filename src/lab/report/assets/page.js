// page.js: the page from top to bottom.

const experiments = groupSections(report.sections);
const panels = [];  // of the whole page

function tally(runs) {
  const claims = runs.flatMap(claimsOf);
  const holding = claims.filter((claim) => claim.holds === true).length;
  const open = claims.filter((claim) => claim.holds !== true && claim.holds !== false).length;
  return { all: claims.length, holding, open, failing: claims.length - holding - open };
}

// ---- Legend and switches of an experiment -------------------------------------------------------

function swatch(series) {
  const line = element('line', { x1: 1, x2: 23, y1: 6, y2: 6, 'stroke-width': 2.5, 'stroke-dasharray': dashOf(series).join(' ') || null });
  const dot = element('circle', { cx: 12, cy: 6, r: 3.5 });
  const node = element('svg', { class: 'swatch', viewBox: '0 0 24 12', 'aria-hidden': 'true' }, series.style === 'points' ? dot : line);
  node.paint = () => { const colour = colourOf(series, currentTheme()); line.setAttribute('stroke', colour); dot.setAttribute('fill', colour); };
  node.paint();
  return node;
}
const swatches = [];

function redraw(experiment) {
  for (const panel of panels) if (panel.experiment === experiment) updateChart(panel);
}

// Chips that switch: a click one of them, a double click all others.
function chips(experiment, hidden, entries) {
  const buttons = entries.map(({ id, name, picture }) => {
    const button = element('button', { type: 'button', class: 'chip', 'aria-pressed': 'true', 'data-id': id, title: `${name}: a click hides or shows it, a double click shows it alone` }, picture, name);
    button.addEventListener('click', (event) => {
      if (event.detail > 1) return;
      if (!hidden.delete(id)) hidden.add(id);
      refresh();
    });
    button.addEventListener('dblclick', () => {
      const alone = entries.every((entry) => entry.id === id || hidden.has(entry.id));
      hidden.clear();
      if (!alone) entries.filter((entry) => entry.id !== id).forEach((entry) => hidden.add(entry.id));
      refresh();
    });
    return button;
  });
  function refresh() {
    entries.forEach(({ id }, i) => buttons[i].setAttribute('aria-pressed', String(!hidden.has(id))));
    redraw(experiment);
  }
  return buttons;
}

function spreadSwitch(experiment) {
  const choices = [['range', 'min–max', experiment.hasRange], ['error', '± s.e.', experiment.hasError], ['none', 'off', true]].filter(([, , there]) => there);
  experiment.spread = choices[0][0];
  if (choices.length < 2) return null;
  const buttons = choices.map(([id, name]) => element('button', { type: 'button', 'aria-pressed': String(id === experiment.spread), 'data-spread': id, onclick: () => {
    experiment.spread = id;
    choices.forEach(([other], i) => buttons[i].setAttribute('aria-pressed', String(other === id)));
    redraw(experiment);
  } }, name));
  return element('div', { class: 'segmented', role: 'group', 'aria-label': 'Bands around the curves' }, element('span', { class: 'muted' }, 'Bands'), buttons);
}

function legendBar(experiment) {
  const picture = (series) => { const node = swatch(series); swatches.push(node); return node; };
  const keys = experiment.keys.map(({ key, name, style }) => ({ id: key, name, picture: picture({ key, style, shade: 1, run: 0 }) }));
  const parts = [element('div', { class: 'chips', role: 'group', 'aria-label': 'Methods' }, chips(experiment, experiment.hiddenKeys, keys))];
  if (experiment.compared) {
    const runs = experiment.runs.map((run, i) => ({ id: i, name: run.label, picture: picture({ key: 'exact', style: 'line', shade: 1, run: i }) }));
    parts.push(element('div', { class: 'chips runs', role: 'group', 'aria-label': 'Runs' }, element('span', { class: 'muted' }, 'Runs'), chips(experiment, experiment.hiddenRuns, runs)));
  }
  parts.push(spreadSwitch(experiment));
  return experiment.keys.length ? element('div', { class: 'legend' }, parts) : null;
}

// ---- Figures ------------------------------------------------------------------------------------

function panelNode(panel, figure, experiment) {
  Object.assign(panel, { figure, experiment, logX: Boolean(panel.x.log), logY: Boolean(panel.y.log) });
  panels.push(panel);
  const tools = element('div', { class: 'tools', role: 'group', 'aria-label': `Tools for ${panel.title || 'this panel'}` });
  const toggle = (name, property) => {
    const button = element('button', { type: 'button', 'aria-pressed': String(panel[property]), 'data-axis': property, title: 'logarithmic or linear axis', onclick: () => {
      panel[property] = !panel[property];
      button.setAttribute('aria-pressed', String(panel[property]));
      realise(panel);
      updateChart(panel);
    } }, name);
    return button;
  };
  const positive = (values) => panel.series.some((series) => values(series).some((value) => value > 0));
  if (!panel.heat && !panel.equal_aspect) {
    if (positive((series) => series.x)) tools.append(toggle('log x', 'logX'));
    if (positive((series) => series.y)) tools.append(toggle('log y', 'logY'));
  }
  const button = (name, what, act) => tools.append(element('button', { type: 'button', title: `Save ${what}`, 'aria-label': `Save ${what} of ${panel.title || 'this panel'}`, 'data-save': name, onclick: () => { realise(panel); act(); } }, name));
  button('CSV', 'the numbers', () => save(fileName(panel, 'csv'), 'text/csv', panelCsv(panel)));
  button('PNG', 'the picture', () => savePng(panel));
  button('SVG', 'the drawing', () => save(fileName(panel, 'svg'), 'image/svg+xml', panelSvg(panel)));

  const plot = element('div', { class: `plot${panel.equal_aspect ? ' square' : ''}${panel.heat ? ' is-heat' : ''}` });
  if (panel.heat) {
    plot.append(drawHeat(panel));
  } else {
    panel.canvas = element('canvas', { role: 'img', 'aria-label': panel.title || 'Chart' });
    plot.append(panel.canvas);
    watcher.observe(plot);
    plot.panel = panel;
  }
  return element('div', { class: 'panel' }, element('h4', {}, panel.title || ''), plot, tools,
    panel.note ? element('p', { class: 'note' }, panel.note) : null);
}

function realise(panel) {
  if (!panel.heat && !panel.chart) createChart(panel, panel.canvas);
}

// Charts come into being shortly before they come into view.
const watcher = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    watcher.unobserve(target);
    realise(target.panel);
  }
}, { rootMargin: '800px' });

// What the shades of a family of curves mean, where no panel says it.
function shadesNote(figure) {
  if (figure.panels.some((panel) => panel.note)) return '';
  for (const { series, equal_aspect: geometry } of figure.panels) {
    const family = series.filter(({ key, run }) => key === series[0].key && run === series[0].run).sort((a, b) => a.shade - b.shade);
    if (!geometry && family.length > 1 && family[0].shade < family.at(-1).shade) return ` From pale to full colour: ${family[0].method} … ${family.at(-1).method}.`;
  }
  return '';
}

let figureNumber = 0;
function figureNode(figure, experiment) {
  figureNumber += 1;
  const columns = Math.max(1, Math.min(figure.columns, figure.panels.length));
  return element('figure', { id: `${experiment.id}-${figure.id}` },
    element('div', { class: 'panels', 'data-columns': Math.min(columns, 4), style: `--columns: ${columns}` }, figure.panels.map((panel) => panelNode(panel, figure, experiment))),
    element('figcaption', {}, element('b', {}, `Figure ${figureNumber}${figure.title ? `: ${figure.title}` : ''}.`), figure.caption ? ` ${figure.caption}` : '', shadesNote(figure)));
}

// ---- Sections -----------------------------------------------------------------------------------

function badge({ all, holding, failing }) {
  if (!all) return null;
  const kind = failing ? 'fails' : holding === all ? 'holds' : 'open';
  return element('span', { class: `badge ${kind}`, title: `${holding} of ${count(all, 'claim')} hold` }, `${holding}/${all}`);
}

function sectionNode(experiment) {
  const rows = Math.max(...experiment.runs.map((run) => run.summary?.rows?.length ?? 0));
  const notes = [...new Set(experiment.runs.flatMap((run) => run.summary?.notes ?? []))];
  const claims = claimList(experiment);
  const numbered = claims ? tally(experiment.runs) : null;
  const build = () => dataTable(experiment.compared ? comparedTable(experiment) : singleTable(experiment), `Results of ${experiment.name}`);
  return element('section', { id: experiment.id, 'aria-labelledby': `${experiment.id}-title` },
    element('h2', { id: `${experiment.id}-title` }, experiment.title, ' ', element('code', { class: 'name' }, experiment.name)),
    experiment.description ? element('p', { class: 'description' }, experiment.description) : null,
    legendBar(experiment),
    experiment.figures.map((figure) => figureNode(figure, experiment)),
    claims ? element('h3', {}, 'Claims ', badge(numbered)) : null, claims,
    notes.length ? element('div', { class: 'notes' }, element('h3', {}, 'Notes'), element('ul', {}, notes.map((note) => element('li', {}, note)))) : null,
    element('div', { class: 'folds' },
      rows ? folded(`Results: ${count(rows, 'row')}${experiment.compared ? ', side by side' : ''}`, build) : null,
      experiment.runs.some((run) => run.config) ? folded('Settings', () => settings(experiment)) : null,
      experiment.runs.some((run) => run.config || run.summary?.rows?.length) ? folded('Run it again', () => rerun(experiment)) : null));
}

function overview() {
  const total = tally(report.sections);
  // Figures put together from several experiments are none themselves.
  const measured = experiments.filter((one) => one.name !== 'side-by-side');
  const runs = measured.reduce((sum, one) => sum + one.runs.length, 0);
  const values = (pick) => [...new Set(report.sections.map(pick).filter((value) => value !== undefined && value !== null))];
  const versions = values((section) => section.summary?.version);
  const seeds = values((section) => section.config?.seed);
  const tile = (value, name, kind = '') => element('div', { class: `tile ${kind}` }, element('b', {}, value), element('span', {}, name));
  const failing = report.sections.flatMap((section) => claimsOf(section).filter((claim) => claim.holds === false)
    .map((claim) => element('li', {}, mark(false), element('div', {}, element('a', { href: `#${slug(section.name)}` }, section.name), `: ${claim.claim}`,
      experiments.find((one) => one.name === section.name).compared ? ` (${section.label})` : ''))));
  return element('header', {},
    element('h1', {}, report.title),
    element('div', { class: 'tiles' },
      tile(String(measured.length), measured.length === 1 ? 'experiment' : 'experiments'),
      runs > measured.length ? tile(String(runs), 'runs') : null,
      total.all ? tile(`${total.holding} of ${total.all}`, `claims hold${total.open ? `, ${total.open} not decided` : ''}`, total.failing ? 'fails' : 'holds') : null,
      tile((versions.length ? versions : [report.version]).join(', '), 'medgrad version'),
      seeds.length ? tile(seeds.map(String).join(', '), seeds.length === 1 ? 'seed' : 'seeds') : null),
    report.command ? element('div', { class: 'again' }, element('span', { class: 'muted' }, 'Makes this page again:'), commandLine(report.command)) : null,
    failing.length ? folded(`${count(failing.length, 'claim')} ${failing.length === 1 ? 'does' : 'do'} not hold`, () => element('ul', { class: 'claims' }, failing)) : null);
}

const contents = () => element('nav', { 'aria-label': 'Experiments' }, element('p', { class: 'muted' }, 'Experiments'),
  element('ul', {}, experiments.map((experiment) => element('li', {}, element('a', { href: `#${experiment.id}` }, element('span', {}, experiment.name), badge(tally(experiment.runs)))))));

document.getElementById('page').append(contents(), element('main', { id: 'content' }, overview(), experiments.map(sectionNode),
  element('footer', { class: 'muted' }, `Made by medgrad ${report.version}. Everything on this page is in this one file.`)));

// The contents show where one is.
const links = new Map([...document.querySelectorAll('nav a')].map((link) => [link.getAttribute('href').slice(1), link]));
const spy = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) links.get(target.id)?.toggleAttribute('aria-current', isIntersecting);
}, { rootMargin: '-30% 0px -65% 0px' });
document.querySelectorAll('main > section').forEach((section) => spy.observe(section));

function repaint() {
  swatches.forEach((node) => node.paint());
  panels.forEach(updateChart);
}
darkPreference.addEventListener('change', repaint);

// On paper: light colours, all charts, sharp lines.
function onPaper(on) {
  if (printing === on) return;
  printing = on;
  if (on) panels.forEach(realise);
  for (const { chart, figure, equal_aspect: square } of panels) {
    if (!chart) continue;
    chart.options.devicePixelRatio = on ? 3 : window.devicePixelRatio;
    if (on) {
      const columns = Math.max(1, Math.min(figure.columns, figure.panels.length));
      const width = Math.min(square ? 420 : 560, 700 / columns - 12);
      chart.resize(width, width * (square ? 1 : [0.55, 0.72, 0.92][Math.min(columns, 3) - 1]));
    } else {
      chart.resize();
    }
  }
  repaint();
}
window.addEventListener('beforeprint', () => onPaper(true));
window.addEventListener('afterprint', () => onPaper(false));

// For tests, and for the curious.
window.medgradReport = { report, experiments, panels, realise, panelCsv, panelSvg, onPaper };
