// The style and the script of the token map.
#include "rl/report/token_map.h"

namespace minirl::rl::report {

std::string token_map_style() {
  return R"(:root{--up:37 99 201;--down:194 87 12}
@media (prefers-color-scheme:dark){:root{--up:90 145 240;--down:214 110 40}}
.map{display:grid;grid-template-columns:minmax(0,1fr) 310px;gap:16px;align-items:start}
.completion{margin:12px 0 18px}.completion p{margin:0 0 4px;max-width:none;overflow-wrap:anywhere}
.tokens{font:14px/1.75 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate}
.t{border-radius:3px;padding:2px 0;cursor:default;unicode-bidi:isolate;box-shadow:inset -1px 0 0 var(--rule);scroll-margin:40vh 0}
.t:hover{outline:1px solid var(--dim)}.t:focus{outline:2px solid var(--focus);outline-offset:1px}
.t.masked{text-decoration:underline dotted 2px;text-underline-offset:3px}.t.given{color:var(--dim);box-shadow:none}
.tokens .t .ctl{color:inherit}
.key{margin-left:10px;font:13px ui-monospace,monospace;white-space:nowrap}.key .t{padding:2px 5px}
.facts{position:sticky;top:12px;background:var(--panel);border:1px solid var(--rule);border-radius:8px;padding:10px 14px;min-height:330px;font-size:13.5px;overflow-wrap:anywhere}
.facts dl{display:grid;grid-template-columns:auto 1fr;gap:1px 12px;margin:6px 0}.facts dt{color:var(--dim)}.facts dd{margin:0;text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.facts ul{margin:4px 0;padding-left:18px}.facts p{margin:0}
.p1{background:rgb(var(--up)/.06)}.p2{background:rgb(var(--up)/.12)}.p3{background:rgb(var(--up)/.18)}.p4{background:rgb(var(--up)/.24)}.p5{background:rgb(var(--up)/.3)}.p6{background:rgb(var(--up)/.36)}.p7{background:rgb(var(--up)/.42)}.p8{background:rgb(var(--up)/.48)}
.n1{background:rgb(var(--down)/.06)}.n2{background:rgb(var(--down)/.12)}.n3{background:rgb(var(--down)/.18)}.n4{background:rgb(var(--down)/.24)}.n5{background:rgb(var(--down)/.3)}.n6{background:rgb(var(--down)/.36)}.n7{background:rgb(var(--down)/.42)}.n8{background:rgb(var(--down)/.48)}
@media (max-width:760px){.map{grid-template-columns:minmax(0,1fr);gap:8px}
.facts{top:auto;bottom:0;min-height:0;max-height:46vh;overflow:auto;padding:8px 12px;font-size:12.5px;box-shadow:0 -4px 14px rgb(0 0 0/.18)}
.facts dl{grid-template-columns:auto 1fr auto 1fr;gap:0 8px}}
)";
}

// Columns of a token: 0 id, 1 words, 2 mu, 3 pi, 4 ratio, 5 TV, 6 KL, 7 D, 8 A, 9 w, 10 g, 11
// share, 12 entropy. A ratio is coloured by its logarithm, g with its sign turned: what is learnt
// is blue.
std::string token_map_script() {
  return R"((function(){
var names=[['mu, when sampled',2],['pi, in this update',3],['ratio pi / mu',4],['TV, |pi - mu|',5],['KL',6],['D, tested by the loss',7],['A, advantage',8],['w, weight',9],['g = d loss / d log pi',10],['share of the loss',11],['entropy, nats',12]];
var known=new WeakMap();
function rows(completion){
  var r=known.get(completion);
  if(!r){r=JSON.parse(completion.querySelector('script').textContent);known.set(completion,r);}
  return r;
}
function value(row,column){
  var v=row[column];
  if(row.length<3||v===null)return 0;
  return column===4?Math.log(Math.max(v,1e-9)):column===10?-v:v;
}
function tokens(completion){return completion.querySelectorAll('.tokens .t');}
function paint(){
  document.querySelectorAll('.map').forEach(function(map){
    var choice=map.parentNode.querySelector('select'),column=+choice.value,most=0,all=map.querySelectorAll('.completion');
    all.forEach(function(c){rows(c).forEach(function(r){most=Math.max(most,Math.abs(value(r,column)));});});
    all.forEach(function(c){
      var r=rows(c);
      tokens(c).forEach(function(t,i){
        var v=value(r[i],column),level=most>0?Math.round(8*Math.sqrt(Math.abs(v)/most)):0;
        t.className=t.className.replace(/ [pn][1-8]$/,'')+(level>0?(v>0?' p':' n')+level:'');
      });
    });
  });
}
function add(parent,tag,text,cls){var e=document.createElement(tag);e.textContent=text;if(cls)e.className=cls;parent.appendChild(e);return e;}
function show(token){
  var completion=token.closest('.completion'),list=Array.prototype.slice.call(tokens(completion)),at=list.indexOf(token),row=rows(completion)[at];
  var section=token.closest('section'),facts=section.querySelector('.facts'),words=JSON.parse(section.querySelector('.words').textContent);
  var given=list.filter(function(t){return t.classList.contains('given');}).length;
  facts.textContent='';
  var head=add(facts,'p','');
  add(head,'code',token.textContent);
  head.appendChild(document.createTextNode(row.length<3?' in the prompt, id '+row[0]:' token '+(at-given)+', id '+row[0]));
  if(row.length>2){
    var dl=add(facts,'dl','');
    names.forEach(function(n){add(dl,'dt',n[0]);add(dl,'dd',row[n[1]]===null?'-':String(row[n[1]]));});
  }
  if(row[1].length){var ul=add(facts,'ul','');row[1].forEach(function(w){add(ul,'li',words[w]);});}
  else add(facts,'p','Counted in full: no mask and no remark.');
}
function token(e){return e.target.closest?e.target.closest('.tokens .t'):null;}
['pointerover','pointerdown','focusin'].forEach(function(type){document.addEventListener(type,function(e){var t=token(e);if(t)show(t);});});
document.addEventListener('keydown',function(e){
  var t=token(e);
  if(!t||e.ctrlKey||e.metaKey||e.altKey)return;
  var list=Array.prototype.slice.call(tokens(t.closest('.completion'))),at=list.indexOf(t),to={ArrowRight:at+1,ArrowDown:at+10,ArrowLeft:at-1,ArrowUp:at-10,Home:0,End:list.length-1}[e.key];
  if(to===undefined)return;
  e.preventDefault();
  to=list[Math.min(list.length-1,Math.max(0,to))];
  t.tabIndex=-1;to.tabIndex=0;to.focus();
});
document.addEventListener('change',function(e){if(e.target.className==='token-colour')paint();});
document.addEventListener('minirl:update',paint);
paint();
})();
)";
}

}  // namespace minirl::rl::report
