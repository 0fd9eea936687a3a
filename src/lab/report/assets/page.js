// page.js: the page from top to bottom.

const experiments = groupSections(report.sections);

function tally(runs) {
  const claims = runs.flatMap(claimsOf);
  const holding = claims.filter((claim) => claim.holds === true).length;
  const open = claims.filter((claim) => claim.holds !== true && claim.holds !== false).length;
  return { all: claims.length, holding, open, failing: claims.length - holding - open };
}

// ---- Figures ------------------------------------------------------------------------------------

function panelNode(panel, figure, experiment) {
  Object.assign(panel, { figure, experiment, logX: Boolean(panel.x.log), logY: Boolean(panel.y.log) });
  panels.push(panel);
  const tools = element('div', { class: 'tools', role: 'group', 'aria-label': `Tools for ${panel.title || 'this panel'}` });
  const toggle = (name, property) => {
    const button = element('button', { type: 'button', 'aria-pressed': String(panel[property]), 'data-axis': property, title: 'Logarithmic or linear axis', onclick: () => {
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
  const button = (name, what, act) => tools.append(element('button', { type: 'button', title: `Save ${what} as ${name}`, 'aria-label': `Save ${what} of ${panel.title || 'this panel'} as ${name}`, 'data-save': name, onclick: () => { realise(panel); act(); } }, name));
  button('CSV', 'the numbers', () => save(fileName(panel, 'csv'), 'text/csv', panelCsv(panel)));
  button('PNG', 'the picture', () => savePng(panel));
  button('SVG', 'the drawing', () => save(fileName(panel, 'svg'), 'image/svg+xml', panelSvg(panel)));

  const plot = element('div', { class: `plot${panel.equal_aspect ? ' square' : ''}${panel.heat ? ' is-heat' : ''}` });
  panel.plot = plot;
  if (panel.heat) {
    plot.append(drawHeat(panel));
  } else {
    panel.canvas = element('canvas', { role: 'img', 'aria-label': panel.title || 'Chart' });
    plot.append(panel.canvas);
    watcher.observe(plot);
    plot.panel = panel;
  }
  panel.node = element('div', { class: 'panel' }, element('h4', {}, panel.title || ''), plot, tools,
    panel.note ? element('p', { class: 'note' }, panel.note) : null);
  return panel.node;
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

const paperLink = (text) => element('a', { href: report.paper_url, title: `${report.paper_title} (${report.paper_authors})`, rel: 'noreferrer' }, text);

function figureNode(figure, experiment) {
  figure.experiment = experiment;
  figure.node = element('figure', { id: `${experiment.id}-${figure.id}` },
    figure.title ? element('h3', {}, figure.title) : null,
    legendBar(figure, experiment),
    element('div', { class: 'panels' }, figure.panels.map((panel) => panelNode(panel, figure, experiment))),
    element('p', { class: 'nothing muted', hidden: true }, 'Everything in this figure is hidden; the legend above brings it back.'),
    element('figcaption', {}, figure.caption ?? '',
      element('span', { class: 'statistics' }, statisticsOfFigure(figure)),
      figure.paper ? element('span', { class: 'paper' }, ' In the paper: ', paperLink(figure.paper), '.') : null));
  arrange(figure);
  return figure.node;
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
    experiment.figures.map((figure) => figureNode(figure, experiment)),
    claims ? element('h3', {}, 'Claims ', badge(numbered)) : null, claims,
    notes.length ? element('div', { class: 'notes' }, element('h3', {}, 'Notes'), element('ul', {}, notes.map((note) => element('li', {}, note)))) : null,
    element('div', { class: 'folds' },
      rows ? folded(`Results: ${count(rows, 'row')}${experiment.compared ? ', side by side' : ''}`, build) : null,
      experiment.runs.some((run) => run.config) ? folded('Settings', () => settings(experiment)) : null,
      experiment.runs.some((run) => run.config || (run.summary?.rows?.length && run.summary.again !== false)) ? folded('Run this experiment again', () => rerun(experiment)) : null));
}

// When, where and by what the page was created, and the paper it is about.
function origin() {
  const figures = experiments.some(({ figures: all }) => all.some(({ paper }) => paper));
  const made = [report.created && `on ${report.created}`, report.build && `by ${report.build}`, report.machine && `on ${report.machine}`].filter(Boolean).join(' ');
  return element('p', { class: 'muted origin' }, made ? `Created ${made}. ` : '',
    ...(figures ? ['The figures follow ', paperLink(report.paper_title), ` (${report.paper_authors}).`] : []));
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
      total.all ? tile(`${total.holding} of ${total.all}`, `claims hold${total.open ? `, ${total.open} undecided` : ''}`, total.failing ? 'fails' : 'holds') : null,
      tile((versions.length ? versions : [report.version]).join(', '), 'medgrad version'),
      seeds.length ? tile(seeds.map(String).join(', '), seeds.length === 1 ? 'seed' : 'seeds') : null),
    report.command ? element('div', { class: 'again' }, element('span', { class: 'muted' }, 'Regenerate this page:'), commandLine(report.command)) : null,
    origin(),
    failing.length ? folded(`${count(failing.length, 'claim')} ${failing.length === 1 ? 'does' : 'do'} not hold`, () => element('ul', { class: 'claims' }, failing)) : null);
}

const contents = () => element('nav', { 'aria-label': 'Experiments' }, element('p', { class: 'muted' }, 'Experiments'),
  element('ul', {}, experiments.map((experiment) => element('li', {}, element('a', { href: `#${experiment.id}` }, element('span', {}, experiment.name), badge(tally(experiment.runs)))))));

document.getElementById('page').append(contents(), element('main', { id: 'content' }, overview(), experiments.map(sectionNode),
  element('footer', { class: 'muted' }, `Created by medgrad ${report.version}. This page is one file and needs no network.`)));

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
