// The style and the script of figures: see rl/plot.h.
#include "rl/plot.h"

namespace minirl::rl {

std::string plot_style() {
  return R"(:root{--c1:#2563c9;--c2:#c2570c;--c3:#15803d;--c4:#8b3fd1;--c5:#b4236b;--c6:#5b6472;--c7:#0b7380;--c8:#85660a;--c9:#c62f2f;--c10:#4d7c0f}
@media (prefers-color-scheme:dark){:root{--c1:#7db0ff;--c2:#ffa45c;--c3:#66d08a;--c4:#c79bff;--c5:#ff86b7;--c6:#a3adba;--c7:#5fd0dc;--c8:#e0bf55;--c9:#ff8585;--c10:#b3e06a}}
.plot{margin:0;position:relative;min-width:0;background:var(--panel);border:1px solid var(--rule);border-radius:8px;padding:12px 14px 6px}
.plot figcaption{font-size:14px;display:flex;flex-wrap:wrap;gap:2px 12px;align-items:baseline}
.plot .note{color:var(--dim);font-size:12.5px}
.plot .legend{font-size:12.5px;display:flex;flex-wrap:wrap;gap:0 12px;color:var(--dim);width:100%}
.plot .legend i{display:inline-block;width:14px;height:3px;border-radius:2px;margin-right:5px;vertical-align:middle;background:currentColor}
.plot svg{display:block;width:100%;height:auto;margin-top:4px;touch-action:pan-y}
.plot .grid{stroke:var(--rule);stroke-width:1}.plot .axis{stroke:var(--dim);stroke-width:1}
.plot .tick,.plot .label{fill:var(--dim);font-size:11.5px;font-variant-numeric:tabular-nums}
.plot .line{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}
.plot .faint{stroke-width:1;opacity:.35}.plot .thin{stroke-width:1.3}
.plot .dot{fill:currentColor;stroke:var(--panel);stroke-width:1.2}
.plot .cursor{stroke:var(--dim);stroke-dasharray:3 3;visibility:hidden}
.plot .tip{position:absolute;z-index:2;pointer-events:none;visibility:hidden;max-width:calc(100% - 16px);background:var(--page);border:1px solid var(--rule);border-radius:6px;padding:5px 8px;font-size:12px;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.c1{color:var(--c1)}.c2{color:var(--c2)}.c3{color:var(--c3)}.c4{color:var(--c4)}.c5{color:var(--c5)}.c6{color:var(--c6)}.c7{color:var(--c7)}.c8{color:var(--c8)}.c9{color:var(--c9)}.c10{color:var(--c10)}
.band{fill:currentColor;fill-opacity:.16;stroke:none}
)";
}

// One listener for all figures: those that come later are served too.
std::string plot_script() {
  return R"((function(){
var known=new WeakMap();
function data(fig){
  var d=known.get(fig);
  if(!d){
    d=JSON.parse(fig.querySelector('script').textContent);
    d.steps=Array.from(new Set([].concat.apply([],d.series.map(function(s){return s.x;})))).sort(function(a,b){return a-b;});
    known.set(fig,d);
  }
  return d;
}
function hide(fig){fig.querySelector('.tip').style.visibility='hidden';fig.querySelector('.cursor').style.visibility='hidden';}
function show(fig,at){
  var d=data(fig),tip=fig.querySelector('.tip'),cursor=fig.querySelector('.cursor'),svg=fig.querySelector('svg'),x=d.steps[at];
  fig.dataset.at=at;
  tip.textContent='';
  var each=Math.max.apply(null,d.series.map(function(s){return s.each;})),head=document.createElement('div');
  head.textContent='step '+x+(each>1?', mean of about '+each+' steps':'');
  tip.appendChild(head);
  d.series.forEach(function(s,i){
    var k=s.x.indexOf(x);
    if(k<0)return;
    var row=document.createElement('div'),name=document.createElement('span');
    name.className='c'+(i+1);name.textContent=s.name+' ';
    row.appendChild(name);
    row.appendChild(document.createTextNode(s.y[k]+(s.low&&s.low[k]!==null?' ['+s.low[k]+', '+s.high[k]+']':'')));
    tip.appendChild(row);
  });
  var px=d.left+(x-d.x0)/(d.x1-d.x0)*d.width;
  cursor.setAttribute('x1',px);cursor.setAttribute('x2',px);
  cursor.style.visibility=tip.style.visibility='visible';
  var box=svg.getBoundingClientRect(),outer=fig.getBoundingClientRect();
  var left=box.left-outer.left+px/svg.viewBox.baseVal.width*box.width+10;
  if(left+tip.offsetWidth>fig.clientWidth-8)left-=tip.offsetWidth+20;
  tip.style.left=Math.max(8,left)+'px';tip.style.top=(box.top-outer.top+14)+'px';
}
function nearest(fig,e){
  var d=data(fig),svg=fig.querySelector('svg'),box=svg.getBoundingClientRect();
  var x=d.x0+((e.clientX-box.left)/box.width*svg.viewBox.baseVal.width-d.left)/d.width*(d.x1-d.x0),best=0;
  d.steps.forEach(function(s,i){if(Math.abs(s-x)<Math.abs(d.steps[best]-x))best=i;});
  return best;
}
function figure(e){var svg=e.target.closest&&e.target.closest('.plot svg');return svg?svg.closest('.plot'):null;}
['pointermove','pointerdown'].forEach(function(type){document.addEventListener(type,function(e){var fig=figure(e);if(fig)show(fig,nearest(fig,e));});});
document.addEventListener('pointerout',function(e){var fig=figure(e);if(fig&&e.pointerType==='mouse'&&!fig.contains(e.relatedTarget))hide(fig);});
document.addEventListener('pointerdown',function(e){var fig=figure(e);document.querySelectorAll('.plot').forEach(function(f){if(f!==fig)hide(f);});});
document.addEventListener('focusout',function(e){var fig=figure(e);if(fig)hide(fig);});
document.addEventListener('keydown',function(e){
  var fig=figure(e);
  if(!fig||e.ctrlKey||e.metaKey||e.altKey)return;
  var n=data(fig).steps.length,at=fig.dataset.at===undefined?-1:+fig.dataset.at,to={ArrowRight:at+1,ArrowLeft:at-1,Home:0,End:n-1}[e.key];
  if(e.key==='Escape')hide(fig);
  if(to===undefined)return;
  e.preventDefault();
  show(fig,Math.min(n-1,Math.max(0,to)));
});
})();
)";
}

}  // namespace minirl::rl
