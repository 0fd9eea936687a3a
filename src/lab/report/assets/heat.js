// heat.js: a table of numbers as colours, drawn as SVG.

function heatColour(t) {
  const colours = report.heat;
  const at = Math.max(0, Math.min(1, t)) * (colours.length - 1);
  const i = Math.min(Math.floor(at), colours.length - 2);
  return mix(colours[i], colours[i + 1], at - i);
}

const luminance = (hex) => channels(hex).reduce((sum, c, i) => sum + [0.2126, 0.7152, 0.0722][i] * (c / 255) ** 2.2, 0);

function drawHeat(panel) {
  const { heat } = panel;
  const [columns, rows] = [heat.x.length, heat.y.length];
  const values = heat.median && panel.figure.statistic === 'median' ? heat.median : heat.z;
  const label = heat.median ? `${panel.figure.statistic} ${heat.label || 'value'}` : heat.label;
  const usable = Array.from(values).filter((z) => Number.isFinite(z) && (!heat.log || z > 0));
  const [min, max] = [Math.min(...usable), Math.max(...usable)];
  const scale = (z) => {
    if (!Number.isFinite(z) || (heat.log && z <= 0)) return NaN;
    if (!(max > min)) return 0.5;
    return heat.log ? Math.log(z / min) / Math.log(max / min) : (z - min) / (max - min);
  };
  const width = 720;
  const longest = Math.max(...heat.y.map((label) => label.length), 1);
  const left = Math.min(190, 26 + 7 * longest);
  const slanted = Math.max(...heat.x.map((label) => label.length)) * 7 > (width - left) / columns;
  const bottom = slanted ? 20 + Math.min(90, Math.max(...heat.x.map((label) => label.length)) * 5) + 20 : 46;
  const cell = { width: (width - left - 8) / columns, height: Math.max(24, Math.min(44, 360 / rows)) };
  const height = rows * cell.height;
  const bar = height + bottom + 14;
  const svg = element('svg', { class: 'heat', viewBox: `0 0 ${width} ${bar + 38}`, role: 'img', 'aria-label': describeHeat(panel, label, min, max) });
  const text = (x, y, content, attributes = {}) => element('text', { x, y, 'font-size': 12.5, 'text-anchor': 'middle', fill: 'currentColor', ...attributes }, content);
  const labelled = cell.width >= 30;

  for (let i = 0; i < rows; i += 1) {
    svg.append(text(left - 8, (i + 0.5) * cell.height + 4, heat.y[i], { 'text-anchor': 'end' }));
    for (let j = 0; j < columns; j += 1) {
      const z = values[i * columns + j];
      const t = scale(z);
      const colour = Number.isNaN(t) ? null : heatColour(t);
      const [x, y] = [left + j * cell.width, i * cell.height];
      const box = element('g', { class: 'cell' },
        element('title', {}, `${panel.y.label || 'row'} ${heat.y[i]}, ${panel.x.label || 'column'} ${heat.x[j]}: ${label ? `${label} ` : ''}${formatNumber(z)}`),
        element('rect', { x: x + 0.75, y: y + 0.75, width: cell.width - 1.5, height: cell.height - 1.5, rx: 2, fill: colour ?? 'none', stroke: colour ? 'none' : 'currentColor', 'stroke-opacity': 0.25 }));
      if (labelled) {
        const ink = !colour ? 'currentColor' : luminance(colour) > 0.3 ? '#10151a' : '#ffffff';
        box.append(text(x + cell.width / 2, y + cell.height / 2 + 4, Number.isNaN(z) ? '–' : formatNumber(z, cell.width < 52 ? 2 : 3), { fill: ink, 'font-size': cell.width < 44 ? 10.5 : 12 }));
      }
      svg.append(box);
    }
  }
  heat.x.forEach((label, j) => {
    const [x, y] = [left + (j + 0.5) * cell.width, height + 17];
    svg.append(text(x, y, label, slanted ? { 'text-anchor': 'end', transform: `rotate(-35 ${x} ${y})` } : {}));
  });
  if (panel.x.label) svg.append(text(left + (width - left) / 2, height + bottom - 6, panel.x.label, { 'font-weight': 600 }));
  if (panel.y.label) svg.append(text(12, height / 2, panel.y.label, { 'font-weight': 600, transform: `rotate(-90 12 ${height / 2})` }));
  if (usable.length) svg.append(...colourBar({ ...heat, label }, left, bar, width - left - 8, min, max, text));
  return svg;
}

function colourBar(heat, left, top, width, min, max, text) {
  const parts = [];
  const steps = 60;
  for (let i = 0; i < steps; i += 1) {
    parts.push(element('rect', { x: left + (i * width) / steps, y: top, width: width / steps + 0.5, height: 9, fill: heatColour((i + 0.5) / steps) }));
  }
  const middle = heat.log ? Math.sqrt(min * max) : (min + max) / 2;
  parts.push(text(left, top + 24, formatNumber(min, 3), { 'text-anchor': 'start' }));
  parts.push(text(left + width / 2, top + 24, `${heat.label || ''}${heat.log ? ' (log colours)' : ''}` || formatNumber(middle, 3)));
  parts.push(text(left + width, top + 24, formatNumber(max, 3), { 'text-anchor': 'end' }));
  return parts;
}

function describeHeat(panel, label, min, max) {
  return `${panel.title || 'Heat map'}: ${label || 'values'} by ${panel.y.label || 'row'} (${panel.heat.y.join(', ')}) and ${panel.x.label || 'column'} (${panel.heat.x.join(', ')}), from ${formatNumber(min)} to ${formatNumber(max)}.`;
}
