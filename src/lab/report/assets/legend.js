// legend.js: what the colours, dashes and shades of a figure mean, and the switches beside them.

const panels = [];    // of the whole page
const swatches = [];  // nodes with colours of their own: paint() after a change of theme

function swatch(series) {
  const line = element('line', { x1: 1, x2: 29, y1: 6, y2: 6, 'stroke-width': 2.5, 'stroke-dasharray': dashOf(series).join(' ') || null });
  const dot = element('circle', { cx: 15, cy: 6, r: 3.5 });
  const node = element('svg', { class: 'swatch', viewBox: '0 0 30 12', 'aria-hidden': 'true' }, series.style === 'points' ? dot : line);
  node.paint = () => { const colour = colourOf(series, currentTheme()); line.setAttribute('stroke', colour); dot.setAttribute('fill', colour); };
  node.paint();
  swatches.push(node);
  return node;
}

// A panel without any visible curve is hidden; the others share the room.
function arrange(figure) {
  const { experiment, node } = figure;
  let visible = 0;
  for (const panel of figure.panels) {
    const empty = panel.series.length > 0 && !panel.series.some((series) => shown(experiment, series));
    panel.node.hidden = empty;
    visible += empty ? 0 : 1;
  }
  const columns = Math.max(1, Math.min(figure.columns, visible));
  node.querySelector('.panels').style.setProperty('--columns', columns);
  node.querySelector('.panels').dataset.columns = Math.min(columns, 4);
  node.querySelector('.nothing').hidden = visible > 0;
}

function redraw(figure) {
  arrange(figure);
  figure.panels.forEach((panel) => (panel.heat ? panel.plot.replaceChildren(drawHeat(panel)) : updateChart(panel)));
  figure.node.querySelector('.statistics').textContent = statisticsOfFigure(figure);
}

// Chips that switch: a click one of them, a double click all others. The figures of an experiment share them.
function chips(experiment, hidden, entries) {
  const buttons = entries.map(({ id, name, picture }) => {
    const button = element('button', { type: 'button', class: 'chip', 'aria-pressed': 'true', 'data-id': id, title: `Click to hide or show ${name}; double-click to show it alone` }, picture, name);
    button.addEventListener('click', (event) => {
      if (event.detail > 1) return;
      if (!hidden.delete(id)) hidden.add(id);
      changed();
    });
    button.addEventListener('dblclick', () => {
      const alone = entries.every((entry) => entry.id === id || hidden.has(entry.id));
      entries.forEach((entry) => hidden.delete(entry.id));
      if (!alone) entries.filter((entry) => entry.id !== id).forEach((entry) => hidden.add(entry.id));
      changed();
    });
    return button;
  });
  experiment.legends.push(() => entries.forEach(({ id }, i) => buttons[i].setAttribute('aria-pressed', String(!hidden.has(id)))));
  function changed() {
    experiment.legends.forEach((refresh) => refresh());
    experiment.figures.forEach(redraw);
  }
  return buttons;
}

// A row of buttons of which one is pressed.
function choice(label, kind, choices, current, choose) {
  const buttons = choices.map(({ id, name }) => element('button', { type: 'button', 'aria-pressed': String(id === current), [`data-${kind}`]: id, onclick: () => {
    choices.forEach((other, i) => buttons[i].setAttribute('aria-pressed', String(other.id === id)));
    choose(id);
  } }, name));
  return element('div', { class: 'segmented', role: 'group', 'aria-label': label }, element('span', { class: 'muted' }, label), buttons);
}

const onlyHeat = (figure) => figure.panels.every((panel) => panel.heat);

// Median or mean, and the bands that belong to it.
function statisticSwitches(figure) {
  const place = element('div', { class: 'switches' });
  const build = () => {
    const spreads = figure.spreads[figure.statistic];
    place.replaceChildren(
      ...(figure.both ? [choice(onlyHeat(figure) ? 'Values' : 'Lines', 'statistic', [{ id: 'median', name: 'median' }, { id: 'mean', name: 'mean' }], figure.statistic, (id) => {
        if (id !== figure.statistic && figure.spread !== 'none') figure.spread = figure.spreads[id][0].id;
        figure.statistic = id;
        build();
        redraw(figure);
      })] : []),
      ...(spreads.length > 1 ? [choice('Bands', 'spread', spreads, figure.spread, (id) => { figure.spread = id; redraw(figure); })] : []));
  };
  build();
  return place.childElementCount ? place : null;
}

// What is shown of the runs, in words.
function statisticsOfFigure(figure) {
  if (!figure.both) return '';
  const { statistic, spread, usual } = figure;
  const lines = `${onlyHeat(figure) ? 'Values' : 'Lines'} are`;
  const bands = {
    quantiles: 'bands go from the 10 % to the 90 % quantile',
    range: statistic === 'median' ? 'bands go from the smallest to the largest run that has not diverged' : 'bands go from the smallest to the largest of them',
    error: 'bands are their standard errors',
  }[figure.spreads[statistic].length > 1 ? spread : 'none'];
  const heavy = usual === 'median';
  if (statistic === 'median') return ` ${lines} medians over the runs${heavy ? ', since the noise has no variance' : ''}; ${bands ? `${bands}, and ` : ''}a diverged run counts as infinitely large.`;
  return ` ${lines} means over the runs that have not diverged${bands ? `; ${bands}` : ''}.${heavy ? ' The noise has no variance, so they depend on a few extreme runs.' : ''}`;
}

// "1/α = 0.5" of "VClip, 1/α = 0.5" and of "VClip (1/α = 0.5)", as in layout.cc.
function levelName(name, common) {
  if (!name.startsWith(common) || name === common) return name;
  const rest = name.slice(common.length).replace(/^[ ,:]+/, '');
  return rest.startsWith('(') ? rest.slice(1).replace(/\)$/, '') : rest;
}

// The shades of families of curves: a row of colours per key, what they mean below.
function ramp(figure) {
  const curves = figure.panels.filter((panel) => !panel.equal_aspect).flatMap((panel) => panel.series).filter(({ shade, run }) => shade !== null && run === 0);
  const nameOf = (key) => figure.keys.find((entry) => entry.key === key).name;
  const levels = [...new Map(curves.map(({ key, method, shade }) => [levelName(method, nameOf(key)), shade]))].sort((a, b) => a[1] - b[1]);
  if (levels.length < 2) return null;
  const parts = levels.map(([name]) => /^(.*\S)\s*=\s*(.*)$/.exec(name));
  const common = parts.every((part) => part && part[1] === parts[0][1]);
  const labels = levels.map(([name], i) => (common ? parts[i][2] : name));
  const sparse = labels.length > 12;
  const keys = [...new Set(curves.map(({ key }) => key))];
  const cells = keys.flatMap((key) => [
    element('span', { class: 'ramp-name' }, keys.length > 1 ? nameOf(key) : ''),
    ...levels.map(([name, shade]) => {
      const node = element('span', { class: 'ramp-cell', title: name });
      node.paint = () => { node.style.background = colourOf({ key, shade, run: 0 }, currentTheme()); };
      node.paint();
      swatches.push(node);
      return node;
    })]);
  const last = labels.length - 1;
  const told = labels.map((label, i) => element('span', { class: 'ramp-label' }, !sparse || i === 0 || i === last || i === Math.round(last / 2) ? label : ''));
  return element('div', { class: 'ramp', style: `--levels: ${levels.length}`, role: 'img', 'aria-label': `Shades from pale to deep: ${levels.map(([name]) => name).join(', ')}` },
    cells, element('span', { class: 'ramp-name' }, common ? parts[0][1] : ''), told);
}

function legendBar(figure, experiment) {
  const keys = figure.keys.map(({ key, name, style, family }) => ({ id: key, name, picture: swatch({ key, style, compared: experiment.compared, shade: family ? 0.5 : null, run: 0 }) }));
  const parts = [keys.length ? element('div', { class: 'chips', role: 'group', 'aria-label': 'Methods' }, chips(experiment, experiment.hiddenKeys, keys)) : null];
  if (experiment.compared && keys.length) {
    const runs = experiment.runs.map((run, i) => ({ id: i, name: run.label, picture: swatch({ key: 'exact', style: 'line', compared: true, shade: null, run: i }) }));
    parts.push(element('div', { class: 'chips runs', role: 'group', 'aria-label': 'Runs' }, element('span', { class: 'muted' }, 'Runs'), chips(experiment, experiment.hiddenRuns, runs)));
  }
  parts.push(ramp(figure), statisticSwitches(figure));
  return parts.some((part) => part) ? element('div', { class: 'legend' }, parts) : null;
}
