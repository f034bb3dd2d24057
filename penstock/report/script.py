"""What moves on the page: one time under the pointer, the values of all plots at it. Without it nothing is missing."""

SCRIPT = """
(() => {
  const short = v => new Intl.NumberFormat('en', {notation: 'compact', maximumSignificantDigits: 3}).format(v)
    .replace('K', 'k').replace('B', 'G');
  const seconds = v => v < 1 ? `${+(v * 1000).toPrecision(3)} ms` : `${+v.toPrecision(3)} s`;
  const written = {s: seconds, n: short, rows: short, 'rows/s': v => `${short(v)}/s`};
  const clock = s => s < 60 ? `${s.toFixed(1)} s`
    : `${s < 3600 ? Math.floor(s / 60) : Math.floor(s / 3600) + ':' + String(Math.floor(s / 60) % 60).padStart(2, '0')}`
      + `:${String(Math.floor(s % 60)).padStart(2, '0')}`;
  const nearest = (xs, at) => {
    let low = 0, high = xs.length - 1;
    while (high - low > 1) { const mid = (low + high) >> 1; if (xs[mid] < at) low = mid; else high = mid; }
    return Math.abs(xs[low] - at) < Math.abs(xs[high] - at) ? low : high;
  };
  for (const plots of document.querySelectorAll('.plots')) {
    const axis = plots.querySelector('.axis'), time = axis.querySelector('output');
    const told = [...plots.querySelectorAll('.plot')].filter(p => p.querySelector('script')).map(plot => ({
      ...JSON.parse(plot.querySelector('script').textContent), outputs: [...plot.querySelectorAll('.key output')]}));
    const clear = () => {
      plots.classList.remove('pointed');
      told.forEach(t => t.outputs.forEach(o => { o.textContent = ''; }));
    };
    const show = event => {
      const box = axis.firstElementChild.getBoundingClientRect(), at = (event.clientX - box.left) / box.width;
      if (at < 0 || at > 1) return clear();
      plots.classList.add('pointed');
      plots.style.setProperty('--at', at);
      time.textContent = clock(at * axis.dataset.seconds);
      for (const {form, x, y, outputs} of told) {
        const i = nearest(x, at);
        outputs.forEach((o, k) => {
          if (y[k] && y[k].length) o.textContent = y[k][i] === null ? 'unknown' : written[form](y[k][i]);
        });
      }
    };
    plots.addEventListener('pointermove', show);
    plots.addEventListener('pointerdown', show);
    plots.addEventListener('pointerleave', clear);
  }
})();
"""
