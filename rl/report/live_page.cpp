#include "rl/report/live_page.h"

#include <charconv>

#include <unistd.h>

#include <nlohmann/json.hpp>

namespace minirl::rl::report {
namespace {

// What a reader has opened, chosen, scrolled to or focused stays as it is. A part whose figure is
// being pointed at, or that holds selected text, waits: its version is then asked for again.
constexpr const char* kScript = R"(
(function(){
var state=document.createElement('p');
state.className='dim';state.setAttribute('role','status');
document.querySelector('h1').after(state);
document.documentElement.style.overflowAnchor='none';
function list(root,what){return Array.prototype.slice.call(root.querySelectorAll(what));}
function busy(section){
  var selection=document.getSelection();
  return list(section,'.tip').some(function(t){return t.style.visibility==='visible';})||
    (selection&&!selection.isCollapsed&&section.contains(selection.anchorNode));
}
function replace(section,html){
  var content=section.querySelector('.content'),reach='a,button,select,summary,svg,[tabindex]';
  var open=list(content,'details').map(function(d){return d.open;});
  var chosen=list(content,'select').map(function(s){return s.value;});
  var rolled=list(content,'.scroll').map(function(s){return s.scrollLeft;});
  var focus=content.contains(document.activeElement)?list(content,reach).indexOf(document.activeElement):-1;
  content.innerHTML=html;
  list(content,'details').forEach(function(d,i){if(i<open.length)d.open=open[i];});
  list(content,'select').forEach(function(s,i){
    if(i<chosen.length&&list(s,'option').some(function(o){return o.value===chosen[i];})&&s.value!==chosen[i]){
      s.value=chosen[i];s.dispatchEvent(new Event('change',{bubbles:true}));
    }
  });
  list(content,'.scroll').forEach(function(s,i){if(i<rolled.length)s.scrollLeft=rolled[i];});
  var again=focus<0?null:list(content,reach)[focus];
  if(again)again.focus({preventScroll:true});
}
function apply(answer){
  var parts=answer.sections.map(function(s){return [document.getElementById(s.id),s.html];});
  if(parts.some(function(p){return busy(p[0]);}))return;
  var top=list(document,'section').find(function(s){return s.getBoundingClientRect().bottom>0;});
  var before=top?top.getBoundingClientRect().top:0;
  parts.forEach(function(p){replace(p[0],p[1]);});
  if(top)window.scrollBy(0,top.getBoundingClientRect().top-before);
  version=answer.version;
  document.dispatchEvent(new Event('minirl:update'));
}
function say(text){if(state.textContent!==text)state.textContent=text;}
function ask(){
  if(document.hidden){setTimeout(ask,2000);return;}
  fetch('changes?since='+encodeURIComponent(version),{cache:'no-store'}).then(function(r){
    if(!r.ok)throw new Error(r.status);
    return r.json();
  }).then(function(answer){
    if(answer.reload){location.reload();return;}
    if(answer.sections.length)apply(answer);
    say('live: this page follows the run');
    setTimeout(ask,2000);
  }).catch(function(){
    say('minirl serve does not answer any more: this is the last state that was seen');
    setTimeout(ask,5000);
  });
}
ask();
})();
)";

}  // namespace

LivePage::LivePage(const std::vector<std::filesystem::path>& folders,
                   std::chrono::milliseconds pause)
    : runs_(folders),
      instance_(fmt::format("{}-{}", ::getpid(),
                            std::chrono::steady_clock::now().time_since_epoch().count())),
      pause_(pause) {}

std::string LivePage::version(Index number) const {
  return fmt::format("{}.{}", instance_, number);
}

void LivePage::refresh() {
  const auto now = std::chrono::steady_clock::now();
  if (version_ > 0 && now - read_at_ < pause_) {
    return;
  }
  read_at_ = now;
  const bool news = runs_.refresh();
  if (version_ > 0 && !news) {
    return;
  }
  std::vector<ReportSection> fresh = report_sections(runs_.all());
  ++version_;
  const bool same_parts = std::equal(
      fresh.begin(), fresh.end(), sections_.begin(), sections_.end(),
      [](const ReportSection& a, const ReportSection& b) {
        return a.id == b.id && a.title == b.title;
      });
  if (!same_parts) {
    layout_ = version_;
    changed_.assign(fresh.size(), version_);
  } else {
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      if (fresh[i].html != sections_[i].html) {
        changed_[i] = version_;
      }
    }
  }
  sections_ = std::move(fresh);
}

std::string LivePage::page() {
  const std::lock_guard lock(mutex_);
  refresh();
  return report_page(report_title(runs_), sections_, fmt::format("var version='{}';", version(version_)) + kScript,
                     true);
}

std::string LivePage::changes(const std::string& since) {
  const std::lock_guard lock(mutex_);
  refresh();
  Index from = 0;
  const std::string prefix = instance_ + ".";
  const bool ours =
      since.starts_with(prefix) &&
      std::from_chars(since.data() + prefix.size(), since.data() + since.size(), from).ptr ==
          since.data() + since.size();
  if (!ours || from < layout_ || from > version_) {
    return R"({"reload":true})";
  }
  nlohmann::ordered_json out = {{"version", version(version_)},
                                {"sections", nlohmann::ordered_json::array()}};
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    if (changed_[i] > from) {
      out["sections"].push_back({{"id", sections_[i].id}, {"html", sections_[i].html}});
    }
  }
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace minirl::rl::report
