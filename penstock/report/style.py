"""How the page looks, by day and by night. Colours are told apart by those who see no red or no green."""

STYLE = """
:root{--paper:#fff;--ink:#1b1f24;--soft:#5f6873;--line:#e3e6ea;--faint:#eef0f3;--wash:#f7f8fa;
--blue:#0b62c4;--orange:#c2570c;--teal:#0a7f72;--violet:#7a4fc0;--gold:#a87700;--grey:#8a929c;--pale:#9cc3ee}
@media (prefers-color-scheme:dark){:root{--paper:#14171b;--ink:#e8eaed;--soft:#9aa3ad;--line:#2c3238;--faint:#22272d;
--wash:#1a1e23;--blue:#63a9f7;--orange:#f2914b;--teal:#45c4b3;--violet:#b494f0;--gold:#e0b84c;--grey:#7d8690;
--pale:#2f5c8f}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",sans-serif;font-variant-numeric:tabular-nums;-webkit-text-size-adjust:100%}
main{max-width:1080px;margin:0 auto;padding:40px 24px 64px}
h1{font-size:30px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:19px;margin:44px 0 12px;letter-spacing:-.005em}
h3{font-size:16px;margin:0}
h4{font-size:13px;margin:22px 0 8px;font-weight:600}
p{margin:4px 0}header p,.quiet,small,.by,.of{color:var(--soft)}a{color:var(--blue)}
pre{margin:10px 0 0;padding:8px 12px;background:var(--wash);border:1px solid var(--line);border-radius:6px;
white-space:pre-wrap;overflow-wrap:anywhere}
code{font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.verdict{display:grid;grid-template-columns:116px 1fr;gap:4px 20px;align-items:start;padding:14px 0;
border-top:1px solid var(--line)}
.verdict .share{font-size:32px;line-height:1.1;font-weight:600;letter-spacing:-.02em}
.kept{display:block;width:100%;height:10px;margin-top:10px;background:var(--faint);border-radius:2px}
.held{fill:var(--blue)}.broken{fill:var(--orange)}
.notes{padding-left:18px;margin:0}.notes li{margin:3px 0}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(128px,1fr));gap:14px 20px;margin:0 0 16px}
.tiles.late{padding-top:14px;border-top:1px solid var(--line);margin-bottom:26px}
dt{color:var(--soft);font-size:13px}dd{margin:0;font-size:22px;line-height:1.3;font-weight:600;letter-spacing:-.01em}
.how{display:block;font-size:11px;line-height:1.4;font-weight:400;letter-spacing:0;color:var(--soft);cursor:help}
.how::before{content:"";display:inline-block;width:7px;height:7px;margin-right:5px;border-radius:50%;
border:1.5px solid var(--soft)}
.how.exact::before{background:var(--soft)}
.how.interpolated::before{background:linear-gradient(90deg,var(--soft) 50%,transparent 50%)}
.how.unknown::before{border-style:dotted}
td .how,li .how{display:inline-block}li .how{min-width:92px}
.plots{position:relative}
.plot{margin:0 0 20px}
figcaption{display:flex;flex-wrap:wrap;gap:0 14px;align-items:baseline;margin:0 0 9px;font-size:13px}
figcaption small{margin-left:auto;font-size:12px}
.key{white-space:nowrap;font-weight:400;color:var(--soft)}
.key i{display:inline-block;width:14px;height:3px;margin:0 5px 3px 0;vertical-align:middle;border-radius:1px;
background:var(--k,var(--grey))}
.key output{color:var(--ink);font-weight:600}
.area,.axis>div{position:relative;margin-left:58px}
.area svg{display:block;width:100%;height:100%;overflow:visible;border-bottom:1px solid var(--line)}
.ty,.over{position:absolute;font-size:11px;line-height:12px;color:var(--soft);white-space:nowrap;transform:translateY(50%)}
.ty{right:100%;padding-right:8px}
.over{right:2px;padding:0 4px;transform:translateY(-1px);background:color-mix(in srgb,var(--paper) 75%,transparent)}
.over.limit{color:var(--orange)}.over.left{transform:translateY(14px)}
.axis{position:sticky;bottom:0;background:var(--paper);padding-bottom:6px;z-index:2}
.axis>div{height:22px}
.axis span,.axis output{position:absolute;top:3px;font-size:11px;color:var(--soft);transform:translateX(-50%);
white-space:nowrap}
.axis output{color:var(--paper);background:var(--ink);padding:0 5px;border-radius:3px;left:calc(var(--at)*100%)}
.plots:not(.pointed) .axis output{display:none}
.plots.pointed .area::after{content:"";position:absolute;top:0;bottom:0;left:calc(var(--at)*100%);width:1px;
background:var(--soft);pointer-events:none}
path{vector-effect:non-scaling-stroke;fill:none;stroke-linejoin:round;stroke-linecap:round}
.grid{stroke:var(--faint);stroke-width:1}
.changed{stroke:var(--violet);stroke-width:1;stroke-dasharray:1 4}
.line{stroke:var(--k);stroke-width:1.6}
.in{--k:var(--grey)}.out,.mean,.useful{--k:var(--blue)}.p95{--k:var(--violet)}.par,.load{--k:var(--teal)}
.key.broken,.limit{--k:var(--orange)}.took{--k:var(--violet)}
.area-fill{fill:var(--k);opacity:.16}
.limit{stroke:var(--orange);stroke-width:1.2;stroke-dasharray:5 4}
.broken-back{fill:var(--orange);opacity:.13}
.gap{fill:var(--grey);opacity:.14}
.dot{stroke:var(--k);stroke-width:7}.dot:hover{stroke-width:11}
.phase,.cell{shape-rendering:crispEdges;stroke:none;fill:var(--k)}
.p1{--k:var(--blue)}.p2{--k:var(--orange)}.p3{--k:var(--gold)}.p4{--k:var(--violet)}.p5{--k:var(--teal)}.p6{--k:var(--grey)}
.s0{fill:var(--faint)}.s1{fill-opacity:.16}.s2{fill-opacity:.28}.s3{fill-opacity:.4}.s4{fill-opacity:.52}
.s5{fill-opacity:.64}.s6{fill-opacity:.76}.s7{fill-opacity:.88}
.key.useful i,.key.load i{width:56px;height:9px;background:linear-gradient(90deg,var(--faint),var(--k))}
.key.gap-key i{height:10px;opacity:.3}.key.broken i{height:10px;opacity:.35}
.key.took i{width:8px;height:8px;border-radius:50%}
.cpu{--k:var(--blue)}.blocked{--k:var(--pale)}.wait{--k:var(--gold)}
.bars div{display:grid;grid-template-columns:50px 1fr 70px;gap:8px;align-items:center;font-size:12px;color:var(--soft)}
.bars div>span:first-child{text-align:right}.bars b{display:flex;height:11px}.bars i{background:var(--k)}
.bars div{height:17px}h4 .key{margin-left:14px}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:13px}
th{text-align:left;font-weight:600;color:var(--soft);padding:4px 14px 4px 0;white-space:nowrap}
td{padding:5px 14px 5px 0;border-top:1px solid var(--line);vertical-align:top}
.changes td:first-child,.changes td:last-child,.numbers td{white-space:nowrap}
.numbers th:not(:first-child),.numbers td:not(:first-child){text-align:right}
.refused td:nth-child(4){color:var(--orange)}
.by{font-size:12px;white-space:nowrap}.by::before{content:"— "}
details{margin-top:6px}summary{cursor:pointer;color:var(--blue);font-size:13px;padding:6px 0}
.topology{display:block;margin-bottom:16px}.node rect{fill:var(--wash);stroke:var(--grey)}
.node text{fill:var(--ink);font-size:13px}.node .small{fill:var(--soft);font-size:11px}
.edge{stroke:var(--grey);stroke-width:1.3}.tip{fill:var(--grey)}
footer{margin-top:56px;border-top:1px solid var(--line);color:var(--soft);font-size:13px}
footer h2{font-size:14px;margin:18px 0 6px;color:var(--ink)}footer ul{padding-left:18px;margin:0}
@media (max-width:640px){main{padding:22px 14px 44px}h1{font-size:24px}.area,.axis>div{margin-left:46px}
.verdict{grid-template-columns:1fr}.tiles{grid-template-columns:repeat(auto-fill,minmax(100px,1fr));gap:12px 14px}
dd{font-size:19px}figcaption small{margin-left:0;flex-basis:100%}.changes{min-width:560px}h4 .key{margin:0 10px 0 0}
h4 .key:first-child{margin-left:0}}
@media (min-width:641px){.pointed figcaption small{display:none}}
@media print{.axis{position:static}main{max-width:none;padding:0}.plot,.verdict{break-inside:avoid}}
"""
