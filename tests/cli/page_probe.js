// What a reader would do with the page, and what must hold on it. Runs inside of the page, tells the frame around it.
(function () {
  var faults = [];
  function fault(text) { faults.push(String(text).slice(0, 300)); }
  window.addEventListener('error', function (e) { fault('error: ' + e.message); });
  document.addEventListener('securitypolicyviolation', function (e) { fault('policy: ' + e.violatedDirective + ' ' + e.blockedURI); });
  ['error', 'warn'].forEach(function (kind) { console[kind] = function (x) { fault('console: ' + x); }; });

  function rgb(text) { var p = text.match(/[\d.]+/g).map(Number); return p.length < 4 ? [p[0], p[1], p[2], 1] : p; }
  function over(top, below) { return [0, 1, 2].map(function (i) { return top[i] * top[3] + below[i] * (1 - top[3]); }).concat(1); }
  function luminance(c) {
    var l = c.slice(0, 3).map(function (v) { v /= 255; return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); });
    return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2];
  }
  function background(e) {
    var layers = [];
    for (; e; e = e.parentElement) { layers.push(rgb(getComputedStyle(e).backgroundColor)); }
    return layers.reverse().reduce(function (below, top) { return over(top, below); }, [255, 255, 255, 1]);
  }
  function contrasts() {
    var walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), seen = 0;
    for (var node = walk.nextNode(); node; node = walk.nextNode()) {
      var e = node.parentElement, style = getComputedStyle(e);
      if (!node.data.trim() || /^(SCRIPT|STYLE|OPTION)$/.test(e.tagName) || !e.getClientRects().length || style.visibility === 'hidden') { continue; }
      var ground = background(e), ink = over(rgb(e.namespaceURI.endsWith('svg') ? style.fill : style.color), ground);
      var a = luminance(ink), b = luminance(ground), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      seen += 1;
      if (ratio < 4.5) { fault('contrast ' + ratio.toFixed(2) + ' of "' + node.data.trim().slice(0, 30) + '" in .' + e.className); }
    }
    if (seen < 50) { fault('only ' + seen + ' texts were looked at'); }
  }
  function key(element, name) { element.dispatchEvent(new KeyboardEvent('keydown', {key: name, bubbles: true, cancelable: true})); }

  function probe() {
    if (document.documentElement.lang !== 'en') { fault('no language'); }
    if (!document.title) { fault('no title'); }
    document.querySelectorAll('details').forEach(function (d) { d.open = true; });
    var wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    if (wide > 0) {
      var worst = Array.from(document.querySelectorAll('main *')).find(function (e) { return e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll'); });
      fault('overflow by ' + wide + ' px: ' + (worst ? worst.outerHTML.slice(0, 120) : '?'));
    }
    contrasts();
    if (window.harmed) { fault('a text of the run was executed'); }
    if (performance.getEntriesByType('resource').some(function (r) { return !/^data:/.test(r.name); })) { fault('something was loaded'); }

    var figure = document.querySelector('.plot'), svg = figure.querySelector('svg');
    svg.focus();
    if (document.activeElement !== svg) { fault('a figure cannot be focused'); }
    key(svg, 'End');
    if (getComputedStyle(figure.querySelector('.tip')).visibility !== 'visible' || !/^step \d+/.test(figure.querySelector('.tip').textContent)) { fault('a figure shows no values'); }
    key(svg, 'Escape');

    var facts = document.querySelector('.facts'), list = document.querySelectorAll('.completion .tokens')[0].querySelectorAll('.t');
    list[0].focus();
    if (!/prompt/.test(facts.textContent)) { fault('a prompt token has no reason: ' + facts.textContent); }
    key(list[0], 'End');
    if (document.activeElement !== list[list.length - 1]) { fault('arrow keys do not move between tokens'); }
    ['mu', 'pi', 'ratio', 'TV', 'KL', 'advantage', 'weight', 'D, tested'].forEach(function (word) { if (facts.textContent.indexOf(word) < 0) { fault('no ' + word + ' of a token'); } });
    if (!/solid/.test(getComputedStyle(document.activeElement).outlineStyle)) { fault('focus cannot be seen'); }
    var masked = document.querySelector('.tokens .masked');
    if (masked) {
      masked.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
      if (!facts.querySelector('li')) { fault('a masked token has no reason'); }
    }
    var select = document.querySelector('select');
    select.value = '8';
    select.dispatchEvent(new Event('change', {bubbles: true}));
    if (!document.querySelector('.tokens .p8, .tokens .n8')) { fault('tokens have no colour'); }
    select.value = '10';
    select.dispatchEvent(new Event('change', {bubbles: true}));
    document.querySelectorAll('details').forEach(function (d, i) { d.open = i === 0; });
    document.activeElement.blur();
    window.scrollTo(0, 0);
    if (location.hash) { document.querySelector(location.hash).scrollIntoView(); }
  }
  window.addEventListener('load', function () {
    try { probe(); } catch (e) { fault('exception: ' + e.message + ' ' + e.stack); }
    parent.postMessage('PROBED ' + faults.length + ' faults\n' + faults.slice(0, 20).join('\n'), '*');
  });
})();
