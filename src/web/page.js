// Draws the figures of the page, each from the Vega-Lite specification beside it. Their legends are buttons,
// and what the pointer is over is told in numbers with as many digits as the tables have.
(() => {
  const digits = Number(document.body.dataset.digits);
  const configOf = (ink) => ({
    background: null,
    font: 'system-ui, sans-serif',
    axis: {
      domainColor: ink,
      gridColor: ink,
      gridOpacity: 0.15,
      labelColor: ink,
      labelFontSize: 14,
      labelLimit: 260,
      tickColor: ink,
      titleColor: ink,
      titleFontSize: 15,
      titleFontWeight: 'normal',
      titlePadding: 10,
    },
    header: { labelColor: ink, labelFontSize: 15 },
    legend: { labelColor: ink, labelFontSize: 14 },
    line: { strokeWidth: 3 },
    view: { stroke: null },
  });

  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;
  tip.setAttribute('aria-hidden', 'true');  // the tables hold the same numbers
  document.body.append(tip);

  function readable(value) {
    if (typeof value !== 'number') return value ?? 'none';
    return String(Number.isInteger(value) ? value : Number(value.toPrecision(digits)));
  }

  function element(tag, className, text) {
    const made = document.createElement(tag);
    made.className = className;
    made.textContent = text;
    return made;
  }

  // The marks of a specification: its layers, or itself; small multiples have it inside.
  function marksOf(spec) {
    const unit = spec.spec ?? spec;
    return unit.layer ?? [unit];
  }

  // The specification as it fits in here: as wide as the column, told by the page's own caption and legend.
  function fitted(spec, width) {
    delete spec.title;
    if (spec.facet) {
      spec.columns = Math.max(1, Math.min(spec.columns, Math.floor(width / 330)));
      spec.spec.width = Math.max(200, (width - 140) / spec.columns - 20);  // beside axis and legend
    } else {
      spec.width = 'container';
      spec.autosize = { type: 'fit-x', contains: 'padding' };
    }
    for (const mark of marksOf(spec)) {
      delete mark.params;
      if (mark.encoding.color.field !== 'series') continue;
      const full = mark.mark.opacity ?? 1;
      mark.encoding.color.legend = null;
      mark.encoding.opacity = {
        condition: { test: 'chosen === null || datum.series === chosen', value: full },
        value: full / 8,
      };
    }
    spec.params = [{ name: 'chosen', value: null }];
    return spec;
  }

  function addLegend(figure, spec, view) {
    const kinds = new Map(spec.data.values.map((row) => [row.series, row.kind]));
    if (kinds.size < 2) return;
    const colors = marksOf(spec).at(-1).encoding.color.scale.range;
    const legend = element('div', 'legend', '');
    legend.setAttribute('role', 'group');
    legend.setAttribute('aria-label', 'Series: choose one to see it alone');
    for (const [series, kind] of kinds) {
      const button = element('button', '', series);
      const swatch = element('span', `swatch ${kind}`, '');
      swatch.style.borderColor = colors[legend.childElementCount % colors.length];
      button.type = 'button';
      button.prepend(swatch);
      button.setAttribute('aria-pressed', 'false');
      button.addEventListener('click', () => {
        const alone = button.getAttribute('aria-pressed') === 'false';
        for (const other of legend.children) other.setAttribute('aria-pressed', String(alone && other === button));
        view.signal('chosen', alone ? series : null).run();
      });
      legend.append(button);
    }
    figure.querySelector('.chart').before(legend);
  }

  // A hover tells the row that a point, bar or cell stands for; lines and bands between points tell nothing.
  function hoverOf(spec) {
    const { x, y } = marksOf(spec).at(-1).encoding;
    return (handler, event, item, shown) => {
      const row = item?.datum;
      tip.hidden = !shown || !row || !['symbol', 'rect'].includes(item.mark.marktype);
      if (tip.hidden) return;
      const lines = [[x.title || 'x', readable(row.x)]];
      if (!('series' in row)) {
        lines.unshift([y.title || 'y', row.y]);
        lines.push(['value', row.hidden ? 'hidden by the mask' : readable(row.value)]);
      } else {
        lines.push([row.series, readable(row.y)]);
      }
      if (row.panel) lines.unshift(['panel', row.panel]);
      tip.replaceChildren(...lines.flatMap(([name, text]) => [element('span', '', name), element('b', '', text)]));
      const right = event.clientX + 16 + tip.offsetWidth < innerWidth;
      tip.style.left = `${right ? event.clientX + 16 : event.clientX - 16 - tip.offsetWidth}px`;
      tip.style.top = `${Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 4)}px`;
    };
  }

  async function draw(figure) {
    const chart = figure.querySelector('.chart');
    const spec = fitted(JSON.parse(figure.querySelector('script').textContent), chart.clientWidth);
    const many = spec.data.values.length > 4000;  // elements weigh more than pixels
    // In elements the page's own colour follows light, dark and paper; pixels are drawn anew.
    const config = configOf(many ? getComputedStyle(chart).color : 'currentColor');
    const renderer = many ? 'canvas' : 'svg';
    const options = { mode: 'vega-lite', renderer, actions: false, defaultStyle: false, ast: true, config };
    const frame = element('div', '', '');
    frame.setAttribute('aria-hidden', 'true');  // the element around it says title and caption
    chart.replaceChildren(frame);
    const { view } = await attnlabCharts.embed(frame, spec, { ...options, tooltip: hoverOf(spec) });
    addLegend(figure, spec, view);
  }

  // What scrolls sideways must be reachable by keyboard.
  function letScroll() {
    for (const box of document.querySelectorAll('.scroll')) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute('tabindex');
    }
  }

  async function drawAll(figures) {
    for (const figure of figures) {
      try {
        await draw(figure);
      } catch (error) {
        console.error(`${figure.id}: ${error.message}`);
      }
    }
    letScroll();
    document.body.dataset.drawn = '';
  }

  addEventListener('resize', letScroll);
  document.addEventListener('toggle', letScroll, true);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () =>
    drawAll(document.querySelectorAll('figure:has(canvas)')));
  drawAll(document.querySelectorAll('figure'));
})();
