"""The style of the page: light, dark and print; colours that colour-blind readers can distinguish."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #ffffff; --soft: #f3f4f6; --line: #c9ccd1; --quiet: #55585e;
  --link: #0b57a4; --has: #00795a; --can: #2f7fb8; --cannot: #c04a00; --open: #8a7a00; --invalid: #767676;
  --c0: #0072b2; --c1: #c04a00; --c2: #00795a; --c3: #9c3f74; --c4: #8a6d00; --c5: #3d6f9e; --c6: #5b5b5b; --c7: #6a3d9a;
  --hatch: #ffffff59; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #16181b; --soft: #22252a; --line: #474b52;
  --quiet: #b3b7bd; --link: #8ab8ff; --has: #35c79a; --can: #6db9ee; --cannot: #ff9155; --open: #e3d34a; --invalid: #a0a0a0;
  --c0: #6db9ee; --c1: #ff9155; --c2: #35c79a; --c3: #e39cc6; --c4: #e3c34a; --c5: #9cc3ea; --c6: #c4c4c4; --c7: #c5a3f0;
  --hatch: #16181b59; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 62rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 0.5rem; }
h2 { font-size: 1.35rem; margin: 2.6rem 0 0.6rem; padding-top: 0.6rem; border-top: 2px solid var(--line); }
h3 { font-size: 1.08rem; margin: 1.8rem 0 0.4rem; }
p, li { max-width: 46rem; }
a { color: var(--link); }
.lead { font-size: 1.15rem; }
.quiet, figcaption, caption { color: var(--quiet); }
nav ul { padding: 0; margin: 1rem 0; list-style: none; display: flex; flex-wrap: wrap; gap: 0.3rem 1.1rem; }
dl { display: grid; grid-template-columns: fit-content(16rem) 1fr; gap: 0.25rem 1rem; margin: 0.5rem 0; }
dt { color: var(--quiet); } dd { margin: 0; }
figure { margin: 1rem 0; } figure > svg { display: block; width: 100%; height: auto; }
.bar { display: flex; height: 1.7rem; margin: 0.1rem 0 0.5rem; } .bar span { display: flex; overflow: hidden; }
.bar strong { margin: auto; padding: 0 0.3rem; border-radius: 3px; background: var(--paper);
  font-size: 0.85rem; white-space: nowrap; }
.bar span, .key span { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.has { background: var(--has); } .invalid { background: var(--invalid); }
.can { background: repeating-linear-gradient(135deg, transparent 0 5px, var(--hatch) 5px 7px), var(--can); }
.open { background: repeating-linear-gradient(90deg, transparent 0 5px, var(--hatch) 5px 7px), var(--open); }
.cannot { background: repeating-linear-gradient(135deg, transparent 0 5px, var(--hatch) 5px 7px),
  repeating-linear-gradient(45deg, transparent 0 5px, var(--hatch) 5px 7px), var(--cannot); }
figcaption { font-size: 0.92rem; margin-top: 0.3rem; max-width: 46rem; }
.scroll { overflow-x: auto; margin: 0.6rem 0; } .scroll:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; font-size: 0.92rem; font-variant-numeric: tabular-nums; min-width: 100%; }
caption { text-align: left; padding: 0 0 0.4rem; }
caption span { position: sticky; left: 0; display: inline-block; max-width: min(46rem, calc(100vw - 2rem)); }
th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top;
  overflow-wrap: normal; }
thead th { background: var(--soft); vertical-align: bottom; font-weight: 600; }
th:first-child, td.text, th.text { text-align: left; } tbody th { font-weight: 600; } td.wide, th.wide { min-width: 14rem; }
tbody th { min-width: 7rem; } td { white-space: nowrap; } td.text { min-width: 6.5rem; white-space: normal; }
details { margin: 0.6rem 0; } summary { cursor: pointer; color: var(--link); }
.key { list-style: none; padding: 0; margin: 0.4rem 0; display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; font-size: 0.92rem; }
.key span, .key svg { width: 2.2rem; height: 0.9rem; vertical-align: -0.1rem; margin-right: 0.4rem; display: inline-block; }
.note { background: var(--soft); border-left: 4px solid var(--line); padding: 0.6rem 1rem; margin: 1rem 0; }
.note ul { margin: 0.2rem 0; padding-left: 1.2rem; }
code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 0.92em; }
svg text { fill: var(--ink); font: 11.5px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
svg .axis { stroke: var(--ink); stroke-width: 1; } svg .grid { stroke: var(--line); stroke-width: 1; }
svg .curve { fill: none; stroke-width: 1.8; }
@media (min-width: 60rem) { figure > svg text { font-size: 7.5px; } figure > svg .curve { stroke-width: 1.1; }
  figure > svg .axis, figure > svg .grid { stroke-width: 0.6; } }
@media (max-width: 34rem) { body { padding: 1rem 0.8rem 3rem; } h1 { font-size: 1.45rem; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin: 0 0 0.5rem; } ul { padding-left: 1.2rem; }
  th, td { padding: 0.3rem 0.5rem; } svg text { font-size: 15px; } }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --soft: #f0f0f0; --line: #999; --quiet: #333;
  --link: #000; --hatch: #ffffff59;
  --has: #00795a; --can: #2f7fb8; --cannot: #c04a00; --open: #8a7a00; --invalid: #767676; --c0: #0072b2; --c1: #c04a00;
  --c2: #00795a; --c3: #9c3f74; --c4: #8a6d00; --c5: #3d6f9e; --c6: #5b5b5b; --c7: #6a3d9a; }
  body { max-width: none; padding: 0; font-size: 10pt; } nav { display: none; } .scroll { overflow: visible; }
  td { white-space: normal; }
  figure > svg { max-width: 30rem; } figcaption, .key { font-size: 9pt; }
  table { font-size: 8pt; } th, td { padding: 2px 5px; } td.wide, th.wide { min-width: 0; }
  details::details-content { content-visibility: visible; height: auto; }
  h2, h3 { break-after: avoid; } figure, tr { break-inside: avoid; } thead { display: table-header-group; } }
"""
